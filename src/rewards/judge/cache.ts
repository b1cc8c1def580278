import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { MyriadError, messageOf } from '../../core/index.js'
import type { JudgeAnswer, JudgeRequest } from './types.js'

const answerSchema = z.object({
  text: z.string(),
  inputTokens: z.number().nonnegative(),
  outputTokens: z.number().nonnegative(),
})

/** Answers by what was asked. */
export interface JudgeCache {
  get(key: string): Promise<JudgeAnswer | null>
  set(key: string, answer: JudgeAnswer): Promise<void>
}

/** The key of an answer: model, messages and every setting that it depends on. */
export function cacheKey(model: string, request: JudgeRequest): string {
  const { messages, maxTokens, temperature, seed, schema = null } = request
  const said = messages.map(({ role, content }) => [role, content])
  return createHash('sha256')
    .update(JSON.stringify([1, model, said, maxTokens, temperature, seed, schema]))
    .digest('hex')
}

/**
 * A cache in a folder, one small file an answer, written beside its place and moved there. A damaged file counts as missing.
 * Nothing but answers and token counts is kept: no prompt, no key of an endpoint.
 *
 * @throws MyriadError 'io' when the folder cannot be written
 */
export function diskCache(folder: string): JudgeCache {
  const fileOf = (key: string): string => join(folder, key.slice(0, 2), `${key}.json`)
  return {
    async get(key) {
      try {
        const parsed = answerSchema.safeParse(JSON.parse(await readFile(fileOf(key), 'utf8')))
        return parsed.success ? parsed.data : null
      } catch {
        return null
      }
    },
    async set(key, { text, inputTokens, outputTokens }) {
      const file = fileOf(key)
      const part = `${file}.${randomUUID()}.part`
      try {
        await mkdir(dirname(file), { recursive: true })
        await writeFile(part, JSON.stringify({ text, inputTokens, outputTokens }))
        await rename(part, file)
      } catch (error) {
        await rm(part, { force: true })
        throw new MyriadError('io', `the judge's cache ${folder} cannot be written: ${messageOf(error)}`, {
          cause: error,
        })
      }
    },
  }
}
