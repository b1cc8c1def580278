import type { z } from 'zod'
import { MyriadError } from '../core/index.js'
import type { Objective } from './objective.js'

/** A value as an error message shows it. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

/**
 * What is wrong with one field: which, what was expected and what was given.
 *
 * @param input what was checked; `where` are the fields that lead to it
 * @param unknown what an unknown field is told
 */
export function describeIssue(
  issue: z.core.$ZodIssue,
  input: unknown,
  { where = [], unknown }: { where?: readonly PropertyKey[]; unknown: string },
): string {
  const path = [...where, ...issue.path]
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
  const field = path.replace(/^\./, '') || 'the configuration'
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => `"${key}"`).join(', ')
    return `${field}: unknown field ${keys}; ${unknown}`
  }
  const value = valueAt(input, issue.path)
  if (issue.code === 'invalid_union') {
    const inner = issue.errors.map((errors) => errors[0]?.message).filter(Boolean)
    const given = value === undefined ? 'it is missing' : `got ${show(value)}`
    return `${field}: ${inner.join(', or ') || issue.message}; ${given}`
  }
  const message = issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '')
  return value === undefined ? `${field}: ${message}; it is missing` : `${field}: ${message}; got ${show(value)}`
}

/** What an option that an objective does not have is told. */
export const seeOptions = (name: string): string => `"myriad algorithms show ${name}" lists the options there are`

/**
 * Makes an objective, or a part, from the options a configuration gives it.
 *
 * @param where the fields of the configuration that lead to the options
 * @throws MyriadError 'usage' naming every option that is wrong
 * @example makeObjective(grpoMethod, { clipHigh: 0.28 }, ['algorithm'])
 */
export function makeObjective<K extends Objective['kind']>(
  declared: Objective<K>,
  options: Readonly<Record<string, unknown>>,
  where: readonly PropertyKey[],
): ReturnType<Objective<K>['make']> {
  const result = declared.options.safeParse(options)
  if (result.success) return declared.make(result.data)
  const problems = result.error.issues.map((issue) =>
    describeIssue(issue, options, { where, unknown: seeOptions(declared.name) }),
  )
  throw new MyriadError('usage', problems.join('\n  '))
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    input,
  )
}

/**
 * Refuses two bounds of which the lower is above the upper: a range that holds nothing.
 *
 * @throws MyriadError 'usage'
 * @example requireRange('low', 0, 'high', 5)
 */
export function requireRange(lowName: string, low: number, highName: string, high: number): void {
  if (!(low <= high))
    throw new MyriadError(
      'usage',
      `${lowName} is ${low} and ${highName} ${high}: the lower bound is above the upper one`,
    )
}
