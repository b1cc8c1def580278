import { readFile } from 'node:fs/promises'
import { MyriadError, messageOf } from '../core/index.js'
import { defaultChatTemplate } from './default-chat.js'

/**
 * Jinja source of a chat template by its name: a file, or `default` for the format of the project's own models.
 *
 * @throws MyriadError 'usage' when the file cannot be read
 * @example createChatFormat(tokenizer, await readChatTemplate('default'))
 */
export async function readChatTemplate(name: string): Promise<string> {
  if (name === 'default') return defaultChatTemplate
  try {
    return await readFile(name, 'utf8')
  } catch (error) {
    const advice = `give a file of Jinja, or "default" for Myriad's own format`
    throw new MyriadError('usage', `the chat template ${name} cannot be read (${messageOf(error)}): ${advice}`, {
      cause: error,
    })
  }
}
