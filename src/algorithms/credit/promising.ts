import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss, TrainSequence } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import { groupMethod, groupMethodOptions } from '../multi/group-method.js'
import { objective } from '../objective.js'
import type { Algorithm } from '../types.js'

/**
 * The clipped loss on logprobs renormalized over a stored set S of tokens, the sampled one and the alternatives that are
 * not -1 (which must not name the sampled one again):
 *
 *     lpS(y) = lp(y) - log(exp lp(y) + sum_v exp lp(v)),  olpS likewise from old ones,  r = exp(lpS - olpS)
 *     l = -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A)
 *     d lpS / d lp(y) = 1 - p_S(y),   d lpS / d lp(v) = -p_S(v)
 *
 * A token alone in its set has lpS = 0 and teaches nothing. Sources: NLPO, arXiv 2210.01241; RLPT, 2602.03195.
 *
 * @example promisingLoss({ clipHigh: 0.28 })
 */
export function promisingLoss({ clipLow = 0.2, clipHigh = 0.2 }: { clipLow?: number; clipHigh?: number } = {}): Loss {
  return {
    name: 'promising',
    reads: { alternatives: true },
    evaluate: ({ logprobs, oldLogprobs, advantages, weights, alternatives }) => {
      const count = logprobs.length
      const gradient = new Float64Array(count)
      if (count === 0) return { value: 0, gradient, metrics: { clipFraction: 0, promisingMass: 0 } }
      if (!alternatives?.old) {
        throw new MyriadError(
          'usage',
          'this loss reads alternatives and their logprobs before the update; ask for alternatives',
        )
      }
      const { count: places, ids, logprobs: now, old } = alternatives
      const alternativesGradient = new Float64Array(now.length)
      let [value, clipped, mass] = [0, 0, 0]
      for (let t = 0; t < count; t++) {
        const others = Array.from({ length: places }, (_, k) => t * places + k).filter((v) => ids[v] >= 0)
        const total = logSum(logprobs[t], others, now)
        const ratio = clampedExp(logprobs[t] - total - (oldLogprobs[t] - logSum(oldLogprobs[t], others, old)))
        const advantage = advantages[t]
        const bounded = Math.min(Math.max(ratio.value, 1 - clipLow), 1 + clipHigh)
        const isClipped = (advantage > 0 && ratio.value > 1 + clipHigh) || (advantage < 0 && ratio.value < 1 - clipLow)
        value -= weights[t] * Math.min(ratio.value * advantage, bounded * advantage)
        mass += Math.exp(total) / count
        if (isClipped) {
          clipped++
          continue
        }
        const slope = -weights[t] * ratio.slope * advantage
        gradient[t] = slope * (1 - Math.exp(logprobs[t] - total))
        for (const v of others) alternativesGradient[v] = -slope * Math.exp(now[v] - total)
      }
      return { value, gradient, alternativesGradient, metrics: { clipFraction: clipped / count, promisingMass: mass } }
    },
  }
}

function logSum(own: number, others: readonly number[], logprobs: Float64Array): number {
  const most = others.reduce((largest, v) => Math.max(largest, logprobs[v]), own)
  return most + Math.log(others.reduce((sum, v) => sum + Math.exp(logprobs[v] - most), Math.exp(own - most)))
}

/**
 * The smallest set of most probable tokens whose probability reaches `topP`, at least one.
 *
 * @param logprobs [tokens]
 * @returns whether each is in the set
 * @example nucleus([Math.log(0.5), Math.log(0.3), Math.log(0.2)], 0.6) // [true, true, false]
 */
export function nucleus(logprobs: readonly number[], topP: number): boolean[] {
  const kept = logprobs.map(() => false)
  let mass = 0
  for (const v of logprobs.map((_, v) => v).sort((a, b) => logprobs[b] - logprobs[a])) {
    if (mass >= topP) break
    kept[v] = true
    mass += Math.exp(logprobs[v])
  }
  return kept
}

/**
 * Sequences whose alternatives are the promising set of each token without the token itself (-1 elsewhere), and whose
 * factors are 0 where the sampled token is not in its set: it could not have been chosen.
 *
 * @param keep which of the K alternatives of a place are in the set, by their logprobs under `by`
 * @throws MyriadError 'usage' where alternatives are missing
 */
export function restrictToSets(
  sequences: readonly TrainSequence[],
  by: 'policy' | 'reference',
  keep: (logprobs: readonly number[]) => readonly boolean[],
): TrainSequence[] {
  return sequences.map((sequence) => {
    const { alternatives, mask, tokens } = sequence
    const logprobs = by === 'policy' ? alternatives?.logprobs : sequence.referenceAlternatives
    if (!alternatives || !logprobs) throw new MyriadError('usage', 'promising sets need scored alternatives')
    const { count } = alternatives
    const ids = new Int32Array(alternatives.ids.length).fill(-1)
    const factors = new Float32Array(mask.length)
    for (let t = 0; t < mask.length; t++) {
      if (!mask[t]) continue
      const present = Array.from({ length: count }, (_, k) => t * count + k).filter((v) => alternatives.ids[v] >= 0)
      const kept = keep(present.map((v) => logprobs[v]))
      present.forEach((v, k) => {
        if (!kept[k]) return
        if (alternatives.ids[v] === tokens[t]) factors[t] = sequence.factors?.[t] ?? 1
        else ids[v] = alternatives.ids[v]
      })
    }
    return { ...sequence, alternatives: { ...alternatives, ids }, factors }
  })
}

function setMethod(
  name: string,
  options: Parameters<typeof groupMethod>[1],
  needs: Algorithm['needs'],
  by: 'policy' | 'reference',
  keep: (logprobs: readonly number[]) => readonly boolean[],
): Algorithm {
  return {
    ...groupMethod(name, options, { loss: promisingLoss(options), needs: { old: true, ...needs } }),
    refine: (sequences) => restrictToSets(sequences, by, keep),
  }
}

const { klCoefficient: _divergence, ...plainOptions } = groupMethodOptions

export const promising = objective({
  kind: 'loss',
  name: 'promising-tokens',
  family: 'credit',
  summary: 'A clipped loss on probabilities renormalized over a stored set of tokens.',
  formula: 'lpS(y) = lp(y) - log sum_(v in S) exp lp(v);  r = exp(lpS - olpS);  clipped',
  reference: 'RLPT, arXiv 2602.03195; NLPO, arXiv 2210.01241',
  standing: 'second-hand',
  use: 'With alternatives that are the set without the sampled token, as restrictToSets makes them.',
  rows: ['A061', 'A060', 'B091'],
  options: z.strictObject({ clipLow: groupMethodOptions.clipLow, clipHigh: groupMethodOptions.clipHigh }),
  needs: { old: true, alternatives: 32 },
  make: promisingLoss,
})

export const rlpt = objective({
  ...promising,
  kind: 'method',
  name: 'rlpt-promising-tokens',
  summary: 'GRPO over the K tokens that were most probable when each token was sampled (RLPT).',
  reference: 'RLPT, arXiv 2602.03195, from two notes; K of training is not known to us',
  use: 'Sample with top-k of the same K, so that no sampled token is outside of its set (such tokens are not learnt).',
  rows: ['A061'],
  options: z.strictObject({
    ...plainOptions,
    /** K. */
    size: z.number().int().positive().default(32),
  }),
  make: ({ size, ...options }) =>
    setMethod('rlpt-promising-tokens', { ...options, klCoefficient: 0 }, { alternatives: size }, 'policy', (logprobs) =>
      logprobs.map(() => true),
    ),
})

export const nlpo = objective({
  ...promising,
  kind: 'method',
  name: 'nlpo',
  summary: 'Policy gradient over the top-p tokens of a mask policy that follows the learner slowly (NLPO).',
  formula: `S_t = top-p of the mask policy;  ${promising.formula}`,
  reference:
    'NLPO, arXiv 2210.01241, and RL4LMs. Decided here: the mask policy is a moving average in place of a copy every mu steps; group advantages in place of a value head; S is looked for among K alternatives',
  standing: 'ours',
  use: 'Small or early policies that try senseless tokens. Tokens outside of the mask are not learnt: sample with top-p too.',
  rows: ['A060', 'B091'],
  options: z.strictObject({
    ...plainOptions,
    topP: z.number().positive().max(1).default(0.9),
    /** Among so many alternatives. */
    size: z.number().int().positive().default(32),
    /** How fast the mask policy follows: about 1 / mu. */
    rate: z.number().positive().max(1).default(0.05),
  }),
  make: ({ topP, size, rate, ...options }) =>
    setMethod(
      'nlpo',
      { ...options, klCoefficient: 0 },
      { alternatives: size, reference: { rate } },
      'reference',
      (logprobs) => nucleus(logprobs, topP),
    ),
})
