import type { z } from 'zod'
import { JudgeFailure } from './types.js'

const MOST_READ = 200_000
const MOST_CANDIDATES = 200
const MOST_OBJECT = 20_000

/**
 * Objects of JSON in a text, in order: the whole of it, or inside prose, thoughts or fences. Trailing commas are forgiven,
 * nothing else is.
 */
export function jsonObjectsIn(given: string): unknown[] {
  const text = given.slice(-MOST_READ)
  const starts: number[] = []
  for (let i = text.length - 1; i >= 0 && starts.length < MOST_CANDIDATES; i--) if (text[i] === '{') starts.push(i)
  const found: unknown[] = []
  let free = 0
  for (const start of starts.reverse()) {
    if (start < free) continue
    const end = objectEnd(text, start)
    if (end === null) continue
    const value = parseObject(text.slice(start, end))
    if (value === undefined) continue
    found.push(value)
    free = end
  }
  return found
}

function objectEnd(text: string, start: number): number | null {
  let depth = 0
  let quoted = false
  const limit = Math.min(text.length, start + MOST_OBJECT)
  for (let i = start; i < limit; i++) {
    const character = text[i]
    if (quoted) {
      if (character === '\\') i++
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === '{') depth++
    else if (character === '}' && --depth === 0) return i + 1
  }
  return null
}

function parseObject(text: string): unknown {
  for (const candidate of [text, text.replace(/,(\s{0,20}[}\]])/gu, '$1')]) {
    try {
      return JSON.parse(candidate)
    } catch {
      // Prose in braces: not what is looked for.
    }
  }
  return undefined
}

/**
 * The verdict in a judge's answer: the last object that fits the schema. The schema holds the request's own id, so an object
 * that the judge copied out of what it judges never fits.
 *
 * @throws JudgeFailure, worth asking again, that says what did not fit
 */
export function readVerdict<Schema extends z.ZodType>(text: string, schema: Schema): z.output<Schema> {
  let wrong = 'it holds no JSON object'
  for (const object of jsonObjectsIn(text).reverse()) {
    const parsed = schema.safeParse(object)
    if (parsed.success) return parsed.data
    const [{ path, message }] = parsed.error.issues
    wrong = `${path.join('.') || 'the object'}: ${message}`
  }
  throw new JudgeFailure(`the answer is no verdict: ${wrong}`, { retryable: true })
}
