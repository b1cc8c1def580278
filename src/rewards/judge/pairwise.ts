import { z } from 'zod'
import type { JudgeClient } from './client.js'
import { defaultSettings, judgeQuestion, type Judged, type JudgeSettings } from './prompts.js'
import { shownReferences } from './pointwise.js'
import { readVerdict } from './verdict.js'

/** Which of two texts won as it was shown: the first, the second, or neither. */
type Shown = 'first' | 'second' | 'tie'

/** A comparison in both orders. */
export interface Comparison {
  /** 1: a is better, 0: b is better, 0.5: neither, or the two orders disagree; 0.75 and 0.25 where one order says tie. */
  value: number
  /** What was said with a shown first, and with b shown first. */
  orders: readonly [aFirst: Shown, bFirst: Shown]
}

export interface PairwiseOptions {
  criteria: string
  settings?: JudgeSettings
}

/**
 * Compares two replies to one conversation in both orders; where the verdict goes with the order, neither wins.
 *
 * @throws MyriadError 'runtime' when the judge fails
 * @example (await comparePair(client, judged, 'Nairobi', 'Mombasa', { criteria: 'Is it true?' })).value // 1
 */
export async function comparePair(
  client: JudgeClient,
  judged: Omit<Judged, 'reply'>,
  a: string,
  b: string,
  options: PairwiseOptions,
): Promise<Comparison> {
  const orders = await Promise.all([ask(client, judged, a, b, options), ask(client, judged, b, a, options)])
  const worth = { first: 1, tie: 0.5, second: 0 }
  return { value: (worth[orders[0]] + 1 - worth[orders[1]]) / 2, orders }
}

async function ask(
  client: JudgeClient,
  judged: Omit<Judged, 'reply'>,
  first: string,
  second: string,
  { criteria, settings = defaultSettings }: PairwiseOptions,
): Promise<Shown> {
  const whole = { ...judged, reply: '' }
  const { request, schema } = judgeQuestion({
    task: `Which is better, REPLY A or REPLY B${shownReferences(whole)}? Criteria: ${criteria}\nTheir order is by chance. Answer "A", "B", or "tie" when neither is better.`,
    texts: [
      { label: 'CONVERSATION', text: judged.conversation },
      ...judged.references.slice(0, 4).map((text, i) => ({ label: `REFERENCE ${i + 1}`, text })),
      { label: 'REPLY A', text: first },
      { label: 'REPLY B', text: second },
    ],
    language: judged.language,
    fields: { better: z.enum(['A', 'B', 'tie']) },
    example: { better: 'tie' },
    settings,
  })
  const { better } = await client.ask(request, (text) => readVerdict(text, schema))
  return better === 'A' ? 'first' : better === 'B' ? 'second' : 'tie'
}

/** What comparisons in both orders say of the judge. */
export interface PositionBias {
  comparisons: number
  /** Share of decided verdicts for what was shown first, minus one half: 0 is fair, 0.5 always the first. Null without one. */
  bias: number | null
  /** Share of comparisons whose orders contradict each other. */
  disagreement: number
}

/**
 * How much a judge goes by the order.
 *
 * @example positionBias([{ value: 0.5, orders: ['first', 'first'] }]) // { comparisons: 1, bias: 0.5, disagreement: 1 }
 */
export function positionBias(comparisons: readonly Comparison[]): PositionBias {
  const verdicts = comparisons.flatMap(({ orders }) => orders)
  const decided = verdicts.filter((verdict) => verdict !== 'tie')
  const contradictions = comparisons.filter(({ orders: [a, b] }) => a !== 'tie' && a === b).length
  return {
    comparisons: comparisons.length,
    bias: decided.length === 0 ? null : decided.filter((verdict) => verdict === 'first').length / decided.length - 0.5,
    disagreement: comparisons.length === 0 ? 0 : contradictions / comparisons.length,
  }
}

/**
 * Who meets whom in a group: everybody, or, with fewer `opponents`, neighbours on a circle in random order, so that each meets as
 * many as any other. Pairs of indices, each pair once.
 *
 * @example schedule(3, Infinity, [0, 1, 2]) // [[0, 1], [0, 2], [1, 2]]
 */
export function schedule(count: number, opponents: number, circle: readonly number[]): [number, number][] {
  const reach = Math.max(1, Math.ceil(Math.min(opponents, count - 1) / 2))
  const pairs = new Map<string, [number, number]>()
  for (let i = 0; i < count; i++) {
    for (let distance = 1; distance <= reach; distance++) {
      const [a, b] = [circle[i], circle[(i + distance) % count]].sort((x, y) => x - y)
      if (a !== b) pairs.set(`${a} ${b}`, [a, b])
    }
  }
  return [...pairs.values()].sort(([a, b], [c, d]) => a - c || b - d)
}

/**
 * Mean win rate of each of a group over the comparisons that were made: [group], in [0, 1]. Null of one without any.
 *
 * @param results value of the comparison of a and b, as in `Comparison`; null when the judge failed
 */
export function winRates(
  count: number,
  results: readonly { pair: readonly [number, number]; value: number | null }[],
): (number | null)[] {
  const won = new Float64Array(count)
  const met = new Uint32Array(count)
  for (const {
    pair: [a, b],
    value,
  } of results) {
    if (value === null) continue
    won[a] += value
    won[b] += 1 - value
    met[a]++
    met[b]++
  }
  return Array.from(won, (sum, i) => (met[i] === 0 ? null : sum / met[i]))
}
