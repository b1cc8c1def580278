import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MyriadError, messageOf, type Json } from '../core/index.js'
import { defaultChatTemplate, defaultTokenizerConfig } from './default-chat.js'
import type { TokenizerJson } from './tokenizer-json.js'

/**
 * Writes a trained tokenizer into a folder: tokenizer.json, tokenizer_config.json and chat_template.jinja, so that
 * `loadTokenizer` here and `AutoTokenizer.from_pretrained` elsewhere read it.
 *
 * @throws MyriadError 'io' when writing fails.
 */
export async function saveTokenizer(
  folder: string,
  tokenizer: TokenizerJson,
  options: { config?: Readonly<Record<string, Json>>; chatTemplate?: string } = {},
): Promise<void> {
  const files = {
    'tokenizer.json': JSON.stringify(tokenizer) + '\n',
    'tokenizer_config.json': JSON.stringify(options.config ?? defaultTokenizerConfig, null, 2) + '\n',
    'chat_template.jinja': options.chatTemplate ?? defaultChatTemplate,
  }
  try {
    await mkdir(folder, { recursive: true })
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  } catch (error) {
    throw new MyriadError('io', `${folder}: the tokenizer cannot be written: ${messageOf(error)}`, { cause: error })
  }
}
