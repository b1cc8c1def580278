/** How often a reward model prefers the better reply, by subset and by language (RewardBench, M-RewardBench). */
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'
import { mean, wilson, type Interval } from './statistics.js'

/** A prompt with a better and a worse reply. */
export interface PreferenceExample {
  prompt: string
  chosen: string
  rejected: string
  /** Such as a category; 'all' unless given. */
  subset: string
  /** BCP 47; 'und' unless given. */
  language: string
}

const lineSchema = z.looseObject({
  prompt: z.string(),
  chosen: z.string(),
  rejected: z.string(),
  subset: z.string().min(1).default('all'),
  language: z.string().min(1).default('und'),
})

/**
 * Reads lines of JSON: `prompt`, `chosen`, `rejected`, and where known `subset` and `language`. Other fields and empty lines are
 * passed over.
 *
 * @throws MyriadError 'usage' naming the line and the field
 * @example parsePreferenceLines('{"prompt":"2+2?","chosen":"4","rejected":"5","subset":"maths","language":"en"}')
 */
export function parsePreferenceLines(text: string, where = 'preferences'): PreferenceExample[] {
  const examples: PreferenceExample[] = []
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    let json: unknown
    try {
      json = JSON.parse(line)
    } catch (error) {
      throw new MyriadError('usage', `${where}, line ${i + 1}: not JSON: ${messageOf(error)}`, { cause: error })
    }
    const parsed = lineSchema.safeParse(json)
    if (!parsed.success) {
      const [{ path, message }] = parsed.error.issues
      throw new MyriadError('usage', `${where}, line ${i + 1}: ${path.join('.') || 'the line'}: ${message}`)
    }
    const { prompt, chosen, rejected, subset, language } = parsed.data
    examples.push({ prompt, chosen, rejected, subset, language })
  }
  return examples
}

/** Accuracy on some of the examples. */
export interface PreferenceAccuracy {
  examples: number
  /** Share whose chosen reply scores strictly higher, in [0, 1]. */
  accuracy: number
  /** 95 percent, Wilson. */
  interval: Interval
  /** Share of equal scores, which are misses. */
  ties: number
  /** Mean of the differences of scores. */
  margin: number
}

export interface RewardBenchResult {
  overall: PreferenceAccuracy
  /** Mean of the accuracies of subsets, whatever their sizes. */
  subsetMean: number
  bySubset: Record<string, PreferenceAccuracy>
  byLanguage: Record<string, PreferenceAccuracy>
  /** Of each language by subset, where there are examples. */
  cells: Record<string, Record<string, PreferenceAccuracy>>
}

/**
 * Scores both replies of every example and counts how often the chosen one is ahead. A tie is a miss, as in RewardBench.
 * Source: arXiv 2403.13787; by language: M-RewardBench, arXiv 2410.15522.
 *
 * @param score of many replies at once; `(items) => model.score(items)` with the scores taken out
 * @throws MyriadError 'usage' of no example, 'reward' when a score is not finite
 * @example
 * const result = await rewardBench(parsePreferenceLines(text), async (items) =>
 *   (await model.score(items)).map(({ score }) => score))
 */
export async function rewardBench(
  examples: readonly PreferenceExample[],
  score: (items: readonly { prompt: string; reply: string }[]) => Promise<readonly number[]>,
): Promise<RewardBenchResult> {
  if (examples.length === 0) throw new MyriadError('usage', 'reward bench: there is no example')
  const scores = await score(
    examples.flatMap(({ prompt, chosen, rejected }) => [
      { prompt, reply: chosen },
      { prompt, reply: rejected },
    ]),
  )
  if (scores.length !== 2 * examples.length)
    throw new MyriadError('reward', `reward bench: ${2 * examples.length} replies have ${scores.length} scores`)
  const bad = scores.findIndex((value) => !Number.isFinite(value))
  if (bad >= 0)
    throw new MyriadError(
      'reward',
      `reward bench: the ${bad % 2 === 0 ? 'chosen' : 'rejected'} reply of example ${bad >> 1} scores ${scores[bad]}`,
    )
  const judged = examples.map((example, i) => ({ ...example, difference: scores[2 * i] - scores[2 * i + 1] }))
  const bySubset = grouped(judged, ({ subset }) => subset)
  const byLanguage = grouped(judged, ({ language }) => language)
  return {
    overall: accuracyOf(judged),
    subsetMean: mean(Object.values(bySubset).map((group) => accuracyOf(group).accuracy)),
    bySubset: mapped(bySubset, accuracyOf),
    byLanguage: mapped(byLanguage, accuracyOf),
    cells: mapped(byLanguage, (group) =>
      mapped(
        grouped(group, ({ subset }) => subset),
        accuracyOf,
      ),
    ),
  }
}

interface Judged extends PreferenceExample {
  difference: number
}

function accuracyOf(judged: readonly Judged[]): PreferenceAccuracy {
  const right = judged.filter(({ difference }) => difference > 0).length / judged.length
  return {
    examples: judged.length,
    accuracy: right,
    interval: wilson(right, judged.length),
    ties: judged.filter(({ difference }) => difference === 0).length / judged.length,
    margin: mean(judged.map(({ difference }) => difference)),
  }
}

/** By key, keys in order. */
function grouped<T>(values: readonly T[], keyOf: (value: T) => string): Record<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const key = keyOf(value)
    const group = groups.get(key)
    if (group) group.push(value)
    else groups.set(key, [value])
  }
  return Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function mapped<A, B>(record: Readonly<Record<string, A>>, of: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, of(value)]))
}
