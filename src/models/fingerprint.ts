import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError, messageOf } from '../core/index.js'
import { ggufOfModel } from './checkpoint.js'

/**
 * Tells whether two models compute the same: SHA-256 over every byte of a model folder's config.json and safetensors, in the
 * order of their names, or of the GGUF file. A gigabyte takes about a second, less than reading the weights does.
 *
 * @throws MyriadError 'io' when a file cannot be read
 * @example await modelFingerprint('models/base') // 'sha256:2c26b46b...'
 */
export async function modelFingerprint(path: string): Promise<string> {
  const gguf = ggufOfModel(path)
  const hash = createHash('sha256')
  for (const file of gguf === undefined ? filesOf(path) : [gguf])
    try {
      for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer)
    } catch (error) {
      throw new MyriadError('io', `cannot read ${file}: ${messageOf(error)}`, { cause: error })
    }
  return `sha256:${hash.digest('hex')}`
}

/** What `readCheckpoint` reads of a folder; others (the tokenizer, a value head) are not the model's own weights. */
function filesOf(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /^model.*\.safetensors$/.test(name))
  return ['config.json', ...names.sort()].map((name) => join(folder, name)).filter((file) => existsSync(file))
}
