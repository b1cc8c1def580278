import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss, LossResult, LossTokens, SequenceInfo, TrainSequence } from '../../policy/types.js'
import { hasVariance } from '../advantages.js'
import { FIRST_STEP, sequenceOf, weigh } from '../compose.js'
import type { Algorithm, Group, LearnContext, Lesson, Needs, Shown, Trajectory } from '../types.js'
import type { Aggregation } from '../weights.js'

/**
 * A solved conversation as a sequence to learn from: the mask on the solver's tokens, the advantage given there, sampling
 * logprobs 0 (as if the solver had been sure).
 *
 * @param advantage 1 for plain likelihood
 * @param group index of its problem's group
 * @throws MyriadError 'usage' when mask and tokens differ in length
 * @example demonstrationSequence({ tokens: [5, 6, 7], mask: Uint8Array.of(0, 1, 1) }, problem, 0)
 */
export function demonstrationSequence(
  { tokens, mask }: Shown,
  problem: Group['problem'],
  group: number,
  advantage = 1,
): TrainSequence {
  if (mask.length !== tokens.length)
    throw new MyriadError('usage', `a demonstration has ${tokens.length} tokens but a mask of ${mask.length}`)
  return {
    tokens,
    mask,
    logprobs: new Float32Array(tokens.length),
    advantages: Float32Array.from(mask, (learnt) => (learnt ? advantage : 0)),
    weights: new Float32Array(tokens.length),
    info: { group, role: 'demonstration', reward: 0, task: problem.task, language: problem.language },
  }
}

/**
 * The demonstrations of a step as sequences with advantage 1, for `extend` of `compose`. A group whose task shows nothing,
 * or nothing to learn, has none.
 *
 * @throws MyriadError 'usage' when the context holds no demonstrations (ask for them in `needs`) or not one entry a group
 * @example compose({ ..., extend: (groups, context) => demonstrationSequences(context, groups), needs: { demonstrations: true } })
 */
export function demonstrationSequences(
  context: LearnContext,
  groups: readonly Group[],
): { sequence: TrainSequence; group: number }[] {
  return demonstrationsOf(context, groups).flatMap((shown, group) =>
    shown ? [{ sequence: demonstrationSequence(shown, groups[group].problem, group), group }] : [],
  )
}

function demonstrationsOf({ demonstrations }: LearnContext, groups: readonly Group[]): (Shown | null)[] {
  if (demonstrations?.length !== groups.length)
    throw new MyriadError(
      'usage',
      `this method learns from demonstrations: one (or null) for each of ${groups.length} groups, ` +
        `not ${demonstrations?.length ?? 'none at all'}`,
    )
  return demonstrations.map((shown) => (shown?.mask.includes(1) ? shown : null))
}

/** Option of methods that tell right from wrong: rewards from this on are right; null: what the task calls a success. */
export const thresholdOption = z.number().nullable().default(null)

/**
 * Whether a trajectory is right, by its reward or by what the task says.
 *
 * @example trajectories.filter((trajectory) => isRight(trajectory, null))
 */
export function isRight({ reward, outcome }: Trajectory, threshold: number | null): boolean {
  return threshold === null ? outcome.success : reward >= threshold
}

/** What one group teaches. */
export interface Taught {
  /** The advantage of each trajectory on its sampled tokens, or of each of its tokens; null leaves one (or all) out. */
  samples?: readonly (number | Float32Array | null)[] | null
  /** The advantage of the demonstration; null leaves it out. */
  demonstration?: number | null
  /** Factors of the weights of sampled and of demonstrated tokens (1). */
  sampleFactor?: number
  demonstrationFactor?: number
  /** The trajectory whose replies a privileged teacher of each is told; null: nothing. */
  siblings?: readonly (number | null)[]
  /** Sequences of the group beside its trajectories, with advantages. */
  further?: readonly TrainSequence[]
}

export interface MixOptions {
  name: string
  /** `demonstrations` among them, where `teach` is to see any. */
  needs: Needs
  loss: Loss
  weigh: Algorithm['weigh']
  refine?: Algorithm['refine']
  /** `shown` is null where demonstrations are not asked for, or the task shows none. `index` is that of the group. */
  teach: (group: Group, shown: Shown | null, context: LearnContext, index: number) => Taught
}

/**
 * An algorithm out of what each group teaches: some of its trajectories, its demonstration, or both. Unlike `compose` it
 * keeps groups whose rewards are all equal; the method decides.
 *
 * @example mix({ name: 'mine', needs: { demonstrations: true }, loss, weigh: weighByRole(), teach: () => ({ demonstration: 1 }) })
 */
export function mix(options: MixOptions): Algorithm {
  const { name, needs, loss, refine } = options
  return {
    name,
    needs,
    loss,
    weigh: options.weigh,
    ...(refine ? { refine } : {}),
    learn: (groups, context = FIRST_STEP) => learn(options, groups, context),
  }
}

function learn({ needs, teach }: MixOptions, groups: readonly Group[], context: LearnContext): Lesson {
  const demonstrations = needs.demonstrations ? demonstrationsOf(context, groups) : groups.map(() => null)
  const lesson: Lesson = {
    sequences: [],
    origins: [],
    zeroVarianceGroups: groups.filter((group) => !hasVariance(group)).length,
    advantages: [],
    metrics: { demonstrations: 0 },
  }
  groups.forEach((group, g) => {
    const taught = teach(group, demonstrations[g], context, g)
    const { samples = null, demonstration = null, sampleFactor = 1, demonstrationFactor = 1 } = taught
    const rows = group.trajectories.map(({ mask, tokens }, i) => {
      const advantage = samples?.[i] ?? null
      if (advantage === null) return new Float32Array(tokens.length)
      return typeof advantage === 'number' ? Float32Array.from(mask, (m) => (m ? advantage : 0)) : advantage
    })
    lesson.advantages.push(rows)
    const add = (sequence: TrainSequence, trajectory: number, factor: number): void => {
      if (factor === 0 || !sequence.mask.includes(1)) return
      const factors = new Float32Array(sequence.tokens.length).fill(factor)
      lesson.sequences.push(factor === 1 ? sequence : { ...sequence, factors })
      lesson.origins.push({ group: g, trajectory })
      if (taught.siblings) (lesson.siblings ??= []).push(taught.siblings[trajectory] ?? null)
    }
    group.trajectories.forEach((trajectory, i) => {
      if (samples && samples[i] !== null) add(sequenceOf(trajectory, g, rows[i]), i, sampleFactor)
    })
    const shown = demonstrations[g]
    if (shown && demonstration !== null) {
      add(demonstrationSequence(shown, group.problem, g, demonstration), -1, demonstrationFactor)
      lesson.metrics!.demonstrations++
    }
    for (const sequence of taught.further ?? []) add(sequence, -1, 1)
  })
  return lesson
}

const isShown = (info: SequenceInfo | undefined): boolean => info?.role === 'demonstration'

/**
 * Aggregation weights of sampled and of demonstrated sequences, each kind over its own tokens, so that neither dilutes the
 * other: a mixture (1 - mu) L_RL + mu L_SFT has mu in `factors` of the sequences.
 *
 * @example mix({ ..., weigh: weighByRole('sequence-mean-token-mean') })
 */
export function weighByRole(
  samples: Aggregation = 'token-mean',
  demonstrations: Aggregation = 'token-mean',
  fixedLength?: number,
): Algorithm['weigh'] {
  return (sequences) => {
    const side = (shown: boolean): TrainSequence[] => sequences.filter(({ info }) => isShown(info) === shown)
    const weighed = {
      samples: weigh(side(false), samples, fixedLength),
      demonstrations: weigh(side(true), demonstrations, fixedLength),
    }
    return sequences.map(({ info }) => weighed[isShown(info) ? 'demonstrations' : 'samples'].shift()!)
  }
}

/**
 * One loss for sampled tokens and another for demonstrated ones; each sees only its own. Metrics of the second are named
 * `demonstration.` and so on.
 *
 * @throws MyriadError 'usage' from `evaluate` when the batch does not say what its sequences are
 * @example byRole(clippedLoss(), crossEntropy())
 */
export function byRole(samples: Loss, demonstrations: Loss): Loss {
  const name = `${samples.name}|${demonstrations.name}`
  return {
    name,
    reads: { ...samples.reads, ...demonstrations.reads },
    evaluate: (tokens) => {
      const { segments, sequences, logprobs } = tokens
      if (!sequences && logprobs.length > 0)
        throw new MyriadError('usage', `"${name}" needs to know of each sequence what it is: info`)
      const result: LossResult = { value: 0, gradient: new Float64Array(logprobs.length), metrics: {} }
      const places = [...segments.keys()]
      for (const shown of [false, true]) {
        const own = places.filter((t) => isShown(sequences![segments[t]]) === shown)
        if (own.length === 0) continue
        const part = (shown ? demonstrations : samples).evaluate(only(tokens, own))
        result.value += part.value
        const spread = (key: keyof LossResult & `${string}radient`, size: number): void => {
          const from = part[key]
          if (!from) return
          const into = (result[key] ??= new Float64Array(size))
          const width = from.length / own.length
          own.forEach((t, i) => {
            for (let k = 0; k < width; k++) into[t * width + k] += from[i * width + k]
          })
        }
        spread('gradient', logprobs.length)
        spread('entropyGradient', logprobs.length)
        spread('valueGradient', logprobs.length)
        spread('alternativesGradient', logprobs.length * (tokens.alternatives?.count ?? 0))
        for (const [metric, value] of Object.entries(part.metrics))
          result.metrics[shown ? `demonstration.${metric}` : metric] = value
      }
      return result
    },
  }
}

function only(tokens: LossTokens, places: readonly number[]): LossTokens {
  const pick = <A extends Float64Array | undefined>(values: A, width = 1): A =>
    values &&
    (Float64Array.from({ length: places.length * width }, (_, i) => {
      const place = places[Math.floor(i / width)]
      return values[place * width + (i % width)]
    }) as A)
  const { alternatives } = tokens
  const width = alternatives?.count ?? 0
  return {
    ...tokens,
    logprobs: pick(tokens.logprobs),
    oldLogprobs: pick(tokens.oldLogprobs),
    behaviourLogprobs: pick(tokens.behaviourLogprobs),
    referenceLogprobs: pick(tokens.referenceLogprobs),
    teacherLogprobs: pick(tokens.teacherLogprobs),
    advantages: pick(tokens.advantages),
    weights: pick(tokens.weights),
    segments: Int32Array.from(places, (t) => tokens.segments[t]),
    entropy: pick(tokens.entropy),
    values: pick(tokens.values),
    oldValues: pick(tokens.oldValues),
    returns: pick(tokens.returns),
    ...(alternatives && {
      alternatives: {
        count: width,
        ids: Int32Array.from(places.flatMap((t) => [...alternatives.ids.subarray(t * width, (t + 1) * width)])),
        logprobs: pick(alternatives.logprobs, width),
        old: pick(alternatives.old, width),
        teacher: pick(alternatives.teacher, width),
        reference: pick(alternatives.reference, width),
      },
    }),
  }
}
