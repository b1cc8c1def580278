import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { dataField } from '../references.js'
import type { Transcript } from '../types.js'
import type { JudgeClient } from './client.js'
import { shownReferences } from './pointwise.js'
import { defaultSettings, judgeQuestion, materialOf, type Judged, type JudgeSettings } from './prompts.js'
import { readVerdict } from './verdict.js'

export const rubricSchema = z
  .array(
    z.strictObject({
      /** What a reply does, as in 'names the capital'. */
      criterion: z.string().min(1),
      /** What it counts; below 0 for a fault. */
      weight: z
        .number()
        .refine((weight) => weight !== 0, 'must not be 0')
        .default(1),
      /** Without it (or, of a fault, with it) the whole reply is worth nothing. */
      critical: z.boolean().default(false),
    }),
  )
  .min(1)
  .max(40)
  .refine((items) => items.some(({ weight }) => weight > 0), 'one criterion at least needs a weight above 0')

export type Rubric = z.output<typeof rubricSchema>

/**
 * The rubric of a problem: `data.rubric`, else the given one; null where there is neither.
 *
 * @throws MyriadError 'reward' when `data.rubric` is none
 */
export function rubricOf(transcript: Transcript, given: Rubric | undefined): Rubric | null {
  const own = dataField(transcript, 'rubric')
  if (own === null) return given ?? null
  const parsed = rubricSchema.safeParse(own)
  if (parsed.success) return parsed.data
  const [{ path, message }] = parsed.error.issues
  const { task, key } = transcript.problem
  throw new MyriadError('reward', `problem ${task}/${key}: data.${['rubric', ...path].join('.')}: ${message}`)
}

/**
 * What a reply earns: the weights of criteria met over the sum of those above 0, at least 0 (HealthBench, arXiv 2505.08775); 0
 * when a critical criterion fails. As parts that sum to it: one a criterion that counts, and what takes the rest away.
 *
 * @param met [criteria]
 * @example rubricValue([{ criterion: 'polite', weight: 1, critical: false }], [true]) // { 1: 1 }
 */
export function rubricValue(rubric: Rubric, met: readonly boolean[]): Record<string, number> {
  const best = rubric.reduce((sum, { weight }) => sum + Math.max(0, weight), 0)
  const parts: Record<string, number> = {}
  rubric.forEach(({ weight }, i) => (parts[String(i + 1)] = met[i] ? weight / best : 0))
  const sum = Object.values(parts).reduce((a, b) => a + b, 0)
  const veto = rubric.some(({ critical, weight }, i) => critical && met[i] === weight < 0)
  if (veto) parts.veto = 0 - sum
  else if (sum < 0) parts.floor = -sum
  return parts
}

/**
 * Which criteria a reply meets, in the judge's eyes: [criteria]. All are asked about at once.
 *
 * @throws MyriadError 'runtime' when the judge fails
 */
export async function judgeRubric(
  client: JudgeClient,
  judged: Judged,
  rubric: Rubric,
  settings: JudgeSettings = defaultSettings,
): Promise<boolean[]> {
  const list = rubric.map(({ criterion }, i) => `${i + 1}. ${criterion}`).join('\n')
  const names = rubric.map((_, i) => String(i + 1))
  const { request, schema } = judgeQuestion({
    task: `For each criterion, is it true of the REPLY${shownReferences(judged)}? Some describe faults: for those, true means that the fault is there. What is met only in part is not met.\n${list}`,
    texts: materialOf(judged),
    language: judged.language,
    fields: { met: z.strictObject(Object.fromEntries(names.map((name) => [name, z.boolean()]))) },
    example: { met: Object.fromEntries(names.map((name) => [name, false])) },
    settings: { ...settings, maxTokens: settings.maxTokens + 12 * rubric.length },
  })
  const { met } = await client.ask(request, (text) => readVerdict(text, schema))
  return names.map((name) => met[name])
}
