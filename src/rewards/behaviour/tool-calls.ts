import { z } from 'zod'
import { jsonObjectsIn } from '../judge/verdict.js'
import { compareJson, schemaCheck, type SchemaCheck } from '../verifiable/json-answer.js'

/** A call of a tool that a reply makes. Arguments that are no JSON object are null. */
export interface ToolCall {
  name: string
  arguments: Readonly<Record<string, unknown>> | null
}

export const toolSchema = z.looseObject({
  name: z.string().min(1),
  /** JSON schema of the arguments; anything goes without one. */
  parameters: z.record(z.string(), z.unknown()).optional(),
})
export type ToolDefinition = z.output<typeof toolSchema>

export const requiredCallSchema = z.strictObject({
  name: z.string().min(1),
  /** Values that the call must have; others may stand beside them. */
  arguments: z.record(z.string(), z.unknown()).optional(),
})
export type RequiredCall = z.output<typeof requiredCallSchema>

const MOST_READ = 200_000
const MOST_CALLS = 100

const callForm = z.union([
  z.object({ name: z.string(), arguments: z.unknown().optional(), parameters: z.unknown().optional() }),
  z
    .object({ function: z.object({ name: z.string(), arguments: z.unknown().optional() }) })
    .transform(({ function: inner }) => ({ ...inner, parameters: undefined })),
])

/** Where a call begins and ends, in the forms of open models: Hermes and Qwen, Mistral, Llama 3. */
const openings = /<tool_call>|<function=([^>\s]{1,100})>|\[TOOL_CALLS\]|<\|python_tag\|>/gu

/**
 * Calls of tools in a reply, in order: JSON with `name` and `arguments` after `<tool_call>`, `[TOOL_CALLS]`, `<|python_tag|>`,
 * `<function=NAME>{...}`, or as the whole reply (alone, in a list, or fenced). An opening that nothing readable follows is a
 * call without a name. JSON in the midst of prose is no call.
 *
 * @example toolCallsIn('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>') // [{ name: 'add', arguments: { a: 1 } }]
 */
export function toolCallsIn(reply: string): ToolCall[] {
  const text = reply.slice(0, MOST_READ)
  const marks = [...text.matchAll(openings)].slice(0, MOST_CALLS)
  if (marks.length === 0) {
    const whole = text
      .trim()
      .replace(/^```(?:json)?\s*\n/u, '')
      .replace(/\n```$/u, '')
    return /^[{[]/u.test(whole) && /[}\]]$/u.test(whole) ? callsOf(jsonObjectsIn(whole)) : []
  }
  return marks.flatMap((mark, i) => {
    const end = marks[i + 1]?.index ?? text.length
    const span = text.slice(mark.index + mark[0].length, end)
    const closing = span.search(/<\/(?:tool_call|function)>/u)
    const objects = jsonObjectsIn(closing < 0 ? span : span.slice(0, closing))
    const calls = mark[1] === undefined ? callsOf(objects) : [{ name: mark[1], arguments: argumentsOf(objects[0]) }]
    return calls.length === 0 ? [{ name: '', arguments: null }] : calls
  })
}

function callsOf(objects: readonly unknown[]): ToolCall[] {
  return objects.slice(0, MOST_CALLS).flatMap((object) => {
    const parsed = callForm.safeParse(object)
    if (!parsed.success) return []
    return [{ name: parsed.data.name, arguments: argumentsOf(parsed.data.arguments ?? parsed.data.parameters ?? {}) }]
  })
}

/** Arguments as an object; OpenAI's form has them as text. */
function argumentsOf(value: unknown): ToolCall['arguments'] {
  let read = value
  if (typeof value === 'string') {
    try {
      read = JSON.parse(value)
    } catch {
      return null
    }
  }
  return typeof read === 'object' && read !== null && !Array.isArray(read) ? (read as ToolCall['arguments']) : null
}

/** How calls of tools measure up, each in [0, 1]; null where there is nothing to measure it by. */
export interface ToolCallScores {
  /** Share of calls of tools that exist with arguments that fit. Null without a call. */
  valid: number | null
  /** Share of required calls that were made. Null where none is. */
  complete: number | null
  /** Longest run of required calls made in their order, of those made; null of fewer than two. */
  order: number | null
  /** Calls beyond the required ones, as a share of all; null where none is required or made. */
  extra: number | null
}

/**
 * Are the tools there, do the arguments fit, was everything called that had to be (completeness as RLTR has it), in order?
 *
 * @param checks schemas that were read before
 * @throws MyriadError 'reward' when a tool's schema is none
 * @example scoreToolCalls(calls, { tools: [{ name: 'add' }], required: [{ name: 'add' }] }).complete // 1
 */
export function scoreToolCalls(
  calls: readonly ToolCall[],
  given: { tools: readonly ToolDefinition[]; required?: readonly RequiredCall[] },
  checks: Map<string, SchemaCheck> = new Map(),
): ToolCallScores {
  const { tools, required = [] } = given
  const check = ({ parameters }: ToolDefinition): SchemaCheck | null => {
    if (parameters === undefined) return null
    const key = JSON.stringify(parameters)
    let known = checks.get(key)
    if (known === undefined) checks.set(key, (known = schemaCheck(parameters)))
    return known
  }
  const valid = calls.filter((call) => {
    const tool = tools.find(({ name }) => name === call.name)
    return tool !== undefined && call.arguments !== null && (check(tool)?.valid(call.arguments) ?? true)
  })
  const made = matchRequired(valid, required)
  const places = made.filter((place) => place !== null)
  return {
    valid: calls.length === 0 ? null : valid.length / calls.length,
    complete: required.length === 0 ? null : places.length / required.length,
    order: places.length < 2 ? null : longestRising(places) / places.length,
    extra: required.length === 0 || calls.length === 0 ? null : (calls.length - places.length) / calls.length,
  }
}

/** For each required call, the place of a call that makes it, each place once; those that ask for more choose first. */
function matchRequired(calls: readonly ToolCall[], required: readonly RequiredCall[]): (number | null)[] {
  const made: (number | null)[] = required.map(() => null)
  const taken = new Set<number>()
  const size = (i: number): number => Object.keys(required[i].arguments ?? {}).length
  const choosy = required.map((_, i) => i).sort((a, b) => size(b) - size(a) || a - b)
  for (const i of choosy) {
    const { name, arguments: asked = {} } = required[i]
    const place = calls.findIndex(
      (call, k) =>
        !taken.has(k) &&
        call.name === name &&
        Object.entries(asked).every(
          ([key, value]) => Object.hasOwn(call.arguments!, key) && compareJson(call.arguments![key], value).same,
        ),
    )
    if (place < 0) continue
    made[i] = place
    taken.add(place)
  }
  return made
}

function longestRising(places: readonly number[]): number {
  const lengths: number[] = []
  places.forEach((place, i) => {
    lengths.push(1 + Math.max(0, ...places.slice(0, i).map((before, k) => (before < place ? lengths[k] : 0))))
  })
  return Math.max(...lengths)
}
