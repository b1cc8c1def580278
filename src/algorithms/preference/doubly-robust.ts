import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { clampedExp } from '../clipped.js'
import { FIRST_STEP, sequenceOf } from '../compose.js'
import { objective } from '../objective.js'
import type { Algorithm, Lesson } from '../types.js'
import { pairGroups, pairingOptions } from './comparisons.js'
import { pairsOf, sequenceLoss, type Completion } from './completions.js'
import { sigmoid, type Slope } from './logistic.js'
import { preferenceMethod } from './method.js'

/**
 * An importance weight whose derivative is itself held within [1 / limit, limit]: exp(x) inside, and its tangent in x beyond.
 *
 * @example heldWeight(10, 10) // { value: 10 (1 + 10 - log 10), slope: 10 }
 */
export function heldWeight(x: number, limit: number): Slope {
  const bound = Math.log(limit)
  const held = Math.min(Math.max(x, -bound), bound)
  const slope = Math.exp(held)
  return { value: slope * (1 + x - held), slope }
}

export interface DoublyRobustOptions {
  /** Weight of the k3 divergence of the sampled replies from the reference (0.1). */
  beta?: number
  /** C: importance weights are held in [1 / C, C] (10). */
  limit?: number
  /** Of the preference model, in units of reward (1). */
  temperature?: number
}

/**
 * DRPO: what a preference model g says of fresh replies y* (role sample), corrected on observed comparisons (chosen,
 * rejected) by what it got wrong there. g(a, b) = sig((R_a - R_b) / temperature) of the rewards in `info`. With
 * w(y) = exp(s - s_ref) held in [1/C, C]:
 *
 *     dL/ds(y_w) = -w(y_w) (1 - g(y_w, y_l)) / (2 B),   dL/ds(y_l) = w(y_l) g(y_l, y_w) / (2 B)       B comparisons
 *     dL/ds(y*) = -(mean over compared y of the group of g(y*, y) - 1/2) / M                            M fresh replies
 *     and beta (1 - exp(rlp - lp)) / M for each token of y*
 *
 * both orders of a comparison counting half. Fresh replies of a group without a comparison have only the divergence. The value
 * is one whose derivatives these are. Source: arXiv 2506.01183 and its authors' repository.
 *
 * @throws MyriadError (when evaluated) 'usage' without reference logprobs
 * @example doublyRobustLoss({ beta: 0.1, limit: 10 })
 */
export function doublyRobustLoss(options: DoublyRobustOptions = {}): Loss {
  const { beta = 0.1, limit = 10, temperature = 1 } = options
  const prefers = (a: Completion, b: Completion): number => sigmoid((a.info.reward - b.info.reward) / temperature)
  return sequenceLoss({
    name: 'drpo',
    reference: true,
    evaluate(completions, { logprobs, referenceLogprobs }) {
      const pairs = pairsOf(completions)
      const fresh = completions.filter(({ info }) => info.role === 'sample')
      const slopes = new Map<Completion, number>()
      const tokenSlopes = new Float64Array(logprobs.length)
      let [value, residual, kl] = [0, 0, 0]
      const correct = (completion: Completion, wrong: number): void => {
        const weight = heldWeight(completion.logprob - completion.reference, limit)
        value -= (weight.value * wrong) / (2 * pairs.length)
        slopes.set(completion, (slopes.get(completion) ?? 0) - (weight.slope * wrong) / (2 * pairs.length))
        residual += Math.abs(wrong) / (2 * pairs.length)
      }
      for (const { chosen, rejected } of pairs) {
        correct(chosen, 1 - prefers(chosen, rejected))
        correct(rejected, -prefers(rejected, chosen))
      }
      for (const reply of fresh) {
        const others = pairs
          .filter(({ chosen }) => chosen.info.group === reply.info.group)
          .flatMap(({ chosen, rejected }) => [chosen, rejected])
        const wins = others.reduce((sum, other) => sum + prefers(reply, other) / others.length, 0)
        const slope = others.length === 0 ? 0 : -(wins - 0.5) / fresh.length
        value += slope * reply.logprob
        slopes.set(reply, slope)
        for (let t = reply.start; t < reply.start + reply.length; t++) {
          const d = logprobs[t] - referenceLogprobs![t]
          const inverse = clampedExp(-d)
          value += (beta * (inverse.value + d - 1)) / fresh.length
          tokenSlopes[t] = (beta * (1 - inverse.slope)) / fresh.length
          kl += d / fresh.length
        }
      }
      const metrics: Record<string, number> = fresh.length === 0 ? { residual } : { residual, kl }
      return { value, slopes, tokenSlopes, metrics }
    },
  })
}

const shape = {
  beta: z.number().min(0).default(0.1),
  /** Importance weights are held in [1 / limit, limit]. */
  limit: z.number().min(1).default(10),
  /** Of the preference model sig((R_a - R_b) / temperature). */
  temperature: z.number().positive().default(1),
}

const about = {
  family: 'preference',
  summary: 'A preference model on fresh replies, corrected where observed comparisons prove it wrong (DRPO).',
  formula: 'L = -w (c - g(y1, y2)) s(y1) - (g(y*, y2) - 1/2) s(y*) + beta k3(y*),  w = clip(pi / ref)',
  reference:
    'arXiv 2506.01183 and its repository. On-line: comparisons are pairs of the group and the rest of it are y*; g is ' +
    'Bradley-Terry on rewards and w is against the initial policy',
  standing: 'source',
  use: 'Comparisons from elsewhere with a preference model that may be wrong: right when either the model or w is.',
  rows: ['A098'],
} as const

export const doublyRobustPart = objective({
  ...about,
  kind: 'loss',
  name: 'drpo-loss',
  needs: { reference: 'initial' },
  options: z.strictObject(shape),
  make: doublyRobustLoss,
})

export const doublyRobust = objective({
  ...about,
  kind: 'method',
  name: 'drpo',
  options: z.strictObject({ ...shape, ...pairingOptions }),
  make(options): Algorithm {
    const method = preferenceMethod({
      name: 'drpo',
      loss: doublyRobustLoss(options),
      needs: { reference: 'initial' },
      truncated: options.truncated,
      compare: (groups, context) => pairGroups(groups, options, context),
    })
    return {
      ...method,
      learn(groups, context = FIRST_STEP): Lesson {
        const lesson = method.learn(groups, context)
        const sequences: Lesson['sequences'] = []
        const origins: Lesson['origins'] = []
        groups.forEach((group, g) => {
          const paired = lesson.origins.flatMap((origin, i) => (origin.group === g ? [i] : []))
          if (paired.length === 0) return
          for (const i of paired) {
            sequences.push(lesson.sequences[i])
            origins.push(lesson.origins[i])
          }
          const compared = new Set(paired.map((i) => lesson.origins[i].trajectory))
          group.trajectories.forEach((reply, trajectory) => {
            if (compared.has(trajectory) || !reply.mask.includes(1)) return
            sequences.push(sequenceOf(reply, g, lesson.advantages[g][trajectory]))
            origins.push({ group: g, trajectory })
          })
        })
        return { ...lesson, sequences, origins }
      },
    }
  },
})
