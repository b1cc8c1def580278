import { z } from 'zod'
import type { Random } from '../../core/index.js'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'

export const GUIDANCE = ['ppo++', 'aggrevated'] as const
/** Who speaks first: the guide and then the policy (PPO++), or the policy and then the guide (AggreVaTeD). */
export type Guidance = (typeof GUIDANCE)[number]

/**
 * How many tokens are rolled in before the other takes over: with probability `share` uniform in 1 .. length - 1, else 0.
 * A reply of fewer than two tokens has none.
 *
 * @param length tokens of the reply
 * @example rollInLength(20, 0.6, createRandom(1))
 */
export function rollInLength(length: number, share: number, random: Random): number {
  const mixed = random.uniform() < share
  return mixed && length >= 2 ? random.integer(1, length - 1) : 0
}

/**
 * The tokens of a mixed reply that the policy is trained on: those it said itself. Under 'ppo++' the guide said the first
 * `rollIn` sampled tokens, under 'aggrevated' all but those; with a roll-in of 0 all are the policy's.
 *
 * @param mask 1 on tokens of the reply, by whomever: [tokens]
 * @throws MyriadError 'usage' on a roll-in that is negative or longer than the reply
 * @example guidedMask(Uint8Array.of(0, 1, 1, 1), 1, 'ppo++') // 0 0 1 1
 */
export function guidedMask(mask: Uint8Array, rollIn: number, guidance: Guidance): Uint8Array {
  const length = mask.reduce((sum, sampled) => sum + (sampled ? 1 : 0), 0)
  if (!(rollIn >= 0 && rollIn <= length))
    throw new MyriadError('usage', `a roll-in of ${rollIn} tokens does not fit a reply of ${length}`)
  if (rollIn === 0) return mask.slice()
  let place = 0
  return mask.map((sampled) => (sampled && place++ < rollIn === (guidance === 'aggrevated') ? 1 : 0))
}

/**
 * Which of the two an episode of LOLS uses: PPO++ with probability `share`, else AggreVaTeD; D2LOLS begins with AggreVaTeD
 * for `switchAt` steps and goes on with PPO++.
 *
 * @param step from 1
 */
export function chooseGuidance(
  schedule: { kind: 'lols'; share: number } | { kind: 'd2lols'; switchAt: number },
  step: number,
  random: Random,
): Guidance {
  if (schedule.kind === 'd2lols') return step <= schedule.switchAt ? 'aggrevated' : 'ppo++'
  return random.uniform() < schedule.share ? 'ppo++' : 'aggrevated'
}

export const guidedRollIn = objective({
  kind: 'function',
  name: 'guided-roll-in',
  family: 'exploration',
  summary:
    'Replies that a guide begins and the policy ends (PPO++), or the other way round (AggreVaTeD): lengths and masks.',
  formula:
    'roll-in ~ U{1..L-1} with probability beta, else 0;  m_t = 1 on tokens of the policy only;  reward of the whole',
  reference:
    'RLGF, arXiv 2306.11816, and tril; ours: LOLS as a choice for each episode; D2LOLS switches at a given step',
  standing: 'second-hand',
  use: 'A guide model is at hand and rewards are sparse. The rollout must let the guide sample part of a reply.',
  rows: ['A115', 'B163'],
  options: z.strictObject({
    guidance: z.enum(GUIDANCE).default('ppo++'),
    /** beta. */
    share: z.number().min(0).max(1).default(0.6),
  }),
  make: ({ guidance, share }) => ({
    length: (length: number, random: Random): number => rollInLength(length, share, random),
    mask: (mask: Uint8Array, rollIn: number): Uint8Array => guidedMask(mask, rollIn, guidance),
  }),
})
