import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'
import type * as ajvModule from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'
import { MyriadError, messageOf } from '../../core/index.js'

const require = createRequire(import.meta.url)

/** Most code units of a JSON reply, most values in it, and how deep it may nest. */
const MOST_JSON = 200_000
const MOST_VALUES = 10_000
const MOST_DEPTH = 100

/**
 * The JSON value in a reply: all of it, a fenced block, or from the first brace or bracket to the last. Undefined where there is
 * none, or it has more than 10,000 values or 100 levels.
 *
 * @example findJson('Here: {"a": 1}.') // { a: 1 }
 */
export function findJson(reply: string): unknown {
  const text = reply.slice(0, MOST_JSON).trim()
  const fenced = fencedIn(text)
  const start = text.search(/[{[]/)
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  for (const candidate of [text, fenced, start >= 0 && end > start ? text.slice(start, end + 1) : undefined]) {
    if (candidate === undefined) continue
    try {
      const value: unknown = JSON.parse(candidate)
      return small(value) ? value : undefined
    } catch {
      // Not this one: text around it, or broken off.
    }
  }
  return undefined
}

/** Inside of the first fenced block. */
function fencedIn(text: string): string | undefined {
  const opening = text.indexOf('```')
  const line = opening < 0 ? -1 : text.indexOf('\n', opening)
  const closing = line < 0 ? -1 : text.indexOf('```', line)
  return closing < 0 ? undefined : text.slice(line, closing)
}

function small(value: unknown): boolean {
  let left = MOST_VALUES
  const fits = (one: unknown, depth: number): boolean => {
    if (--left < 0 || depth > MOST_DEPTH) return false
    return typeof one !== 'object' || one === null || Object.values(one).every((inner) => fits(inner, depth + 1))
  }
  return fits(value, 0)
}

/**
 * Compares two JSON values, keys in any order.
 *
 * @returns equal; and the share of fields and items that are right, of those in either, each field of an object weighing the same
 * @example compareJson({ a: 1, b: 2 }, { a: 1, b: 3 }) // { same: false, share: 0.5 }
 */
export function compareJson(given: unknown, expected: unknown): { same: boolean; share: number } {
  if (Array.isArray(expected) && Array.isArray(given)) {
    const length = Math.max(given.length, expected.length)
    const shares = Array.from({ length }, (_, k) =>
      k < given.length && k < expected.length ? compareJson(given[k], expected[k]).share : 0,
    )
    return mean(shares)
  }
  if (isObject(expected) && isObject(given)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(given)])
    return mean(
      [...keys].map((key) =>
        Object.hasOwn(expected, key) && Object.hasOwn(given, key) ? compareJson(given[key], expected[key]).share : 0,
      ),
    )
  }
  const same =
    typeof given === 'string' && typeof expected === 'string'
      ? given.normalize('NFC') === expected.normalize('NFC')
      : given === expected
  return { same, share: same ? 1 : 0 }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function mean(shares: readonly number[]): { same: boolean; share: number } {
  const share = shares.length === 0 ? 1 : shares.reduce((a, b) => a + b, 0) / shares.length
  return { same: shares.every((one) => one === 1), share }
}

/** Checks JSON by a schema, wholly and property by property. */
export interface SchemaCheck {
  valid(value: unknown): boolean
  /** 1 for a valid value; else the share of the schema's properties (required or given) that are valid, below 1. */
  share(value: unknown): number
}

/**
 * A check of JSON values by a JSON schema (draft 2020-12, by ajv). Patterns of the schema run in linear time (re2js), so that no
 * reply can make them slow.
 *
 * @throws MyriadError 'reward' when the schema is none
 * @example schemaCheck({ type: 'object', required: ['a'], properties: { a: { type: 'number' } } }).share({ a: '1' }) // 0
 */
export function schemaCheck(schema: unknown): SchemaCheck {
  if (!isObject(schema) && typeof schema !== 'boolean') throw new MyriadError('reward', 'a JSON schema is an object')
  const regExp = Object.assign((pattern: string): ReturnType<typeof linear> => linear(pattern), {
    code: 'linear',
  })
  // Loaded when a schema is used: most runs use none, and ajv takes a tenth of a second.
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof ajvModule
  const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false, code: { regExp: regExp as never } })
  const compile = (make: () => ValidateFunction): ValidateFunction => {
    try {
      return make()
    } catch (error) {
      throw new MyriadError('reward', `the JSON schema cannot be used: ${messageOf(error)}`, { cause: error })
    }
  }
  // Another draft's name is no reason to refuse; a name of our own lets the schemas of properties be looked up.
  const own = isObject(schema) ? { ...schema, $schema: undefined, $id: 'reply' } : schema
  if (isObject(own)) delete own.$schema
  const whole = compile(() => ajv.compile(own as object | boolean))
  const { properties = {}, required = [] } = isObject(schema)
    ? (schema as { properties?: Record<string, unknown>; required?: string[] })
    : {}
  const fields = Object.keys(properties).map((name) => {
    const pointer = encodeURIComponent(name.replace(/~/g, '~0').replace(/\//g, '~1'))
    return [name, compile(() => ajv.compile({ $ref: `reply#/properties/${pointer}` }))] as const
  })
  return {
    valid: (value) => whole(value) === true,
    share: (value) => {
      if (whole(value)) return 1
      if (!isObject(value) || fields.length === 0) return 0
      const counted = fields.filter(([name]) => required.includes(name) || Object.hasOwn(value, name))
      const right = counted.filter(([name, check]) => Object.hasOwn(value, name) && check(value[name])).length
      // Something beside single properties is wrong where all of them are right.
      return counted.length === 0 ? 0 : Math.min(right / counted.length, counted.length / (counted.length + 1))
    },
  }
}

/** What ajv tests texts with; it tells patterns apart by their text. */
function linear(pattern: string): { test(text: string): boolean; toString(): string } {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
  return { test: (text) => compiled.matcher(text).find(), toString: () => `linear ${pattern}` }
}
