import { MyriadError } from '../core/index.js'
import type { Alternatives, Loss, LossResult, LossTokens, ScoreResult, TrainSequence } from './types.js'

/** What a policy says now of a sequence of a batch; alternatives are those of the sequence's own ids. */
export type Scored = Pick<ScoreResult, 'logprobs'> & Partial<ScoreResult>

/**
 * Lays the trainable tokens of a batch end to end, as objectives take them.
 *
 * An optional array is there when every sequence with a trainable token has it; entropies, values and alternatives where the
 * objective reads them.
 *
 * @param scored one per sequence
 * @throws MyriadError 'usage' when the objective reads what was not supplied
 * @example const result = loss.evaluate(lossTokens(batch, scored, loss))
 */
export function lossTokens(batch: readonly TrainSequence[], scored: readonly Scored[], loss: Loss): LossTokens {
  const places = batch.flatMap((sequence, segment) =>
    [...sequence.mask].flatMap((trainable, t) => (trainable ? [{ segment, t }] : [])),
  )
  const trained = [...new Set(places.map(({ segment }) => segment))]
  const pick = (of: (segment: number) => ArrayLike<number>, width = 1): Float64Array => {
    const picked = new Float64Array(places.length * width)
    places.forEach(({ segment, t }, i) => {
      const from = of(segment)
      for (let k = 0; k < width; k++) picked[i * width + k] = from[t * width + k]
    })
    return picked
  }
  const optional = (of: (segment: number) => ArrayLike<number> | undefined, width = 1): Float64Array | undefined =>
    batch.length > 0 && trained.every((segment) => of(segment)) ? pick((segment) => of(segment)!, width) : undefined
  const needed = (what: string, of: (segment: number) => ArrayLike<number> | undefined): Float64Array =>
    optional(of) ?? pick(() => missing(loss, what))

  const tokens: LossTokens = {
    logprobs: pick((i) => scored[i].logprobs),
    oldLogprobs: pick((i) => batch[i].oldLogprobs ?? batch[i].logprobs),
    behaviourLogprobs: pick((i) => batch[i].logprobs),
    advantages: pick((i) => batch[i].advantages),
    weights: pick((i) => batch[i].weights),
    segments: Int32Array.from(places, ({ segment }) => segment),
  }
  const add = (
    name: 'referenceLogprobs' | 'teacherLogprobs' | 'returns' | 'oldValues',
    of: keyof TrainSequence,
  ): void => {
    const picked = optional((i) => batch[i][of] as Float32Array | undefined)
    if (picked) tokens[name] = picked
  }
  add('referenceLogprobs', 'referenceLogprobs')
  add('teacherLogprobs', 'teacherLogprobs')
  add('returns', 'returns')
  add('oldValues', 'values')
  const infos = batch.flatMap(({ info }) => (info ? [info] : []))
  if (batch.length > 0 && infos.length === batch.length) tokens.sequences = infos
  if (loss.reads?.entropy) tokens.entropy = needed('entropies', (i) => scored[i].entropy)
  if (loss.reads?.values) tokens.values = needed('values', (i) => scored[i].values)
  if (loss.reads?.alternatives) {
    const count = alternativesOf(batch, loss)
    const [old, teacher, reference] = [
      optional((i) => batch[i].alternatives?.logprobs, count),
      optional((i) => batch[i].teacherAlternatives, count),
      optional((i) => batch[i].referenceAlternatives, count),
    ]
    tokens.alternatives = {
      count,
      ids: Int32Array.from(pick((i) => batch[i].alternatives!.ids, count)),
      logprobs: pick((i) => scored[i].alternatives?.logprobs ?? missing(loss, 'alternatives'), count),
      ...(old && { old }),
      ...(teacher && { teacher }),
      ...(reference && { reference }),
    }
  }
  return tokens
}

/**
 * How many alternatives a token has, which must be the same for all sequences; 0 in a batch without trainable tokens.
 *
 * @throws MyriadError 'usage' when a sequence has none, or another number of them than the first
 */
export function alternativesOf(batch: readonly TrainSequence[], loss: Loss): number {
  let first: Alternatives | undefined
  for (const { mask, alternatives } of batch) {
    if (!mask.includes(1)) continue
    if (!alternatives) return missing(loss, 'alternatives')
    first ??= alternatives
    if (alternatives.count !== first.count)
      throw new MyriadError(
        'usage',
        `sequences of one batch must have equally many alternatives a token, these have ${first.count} and ${alternatives.count}`,
      )
  }
  return first?.count ?? 0
}

/**
 * @param items ids are [tokens * count], where they are given
 * @throws MyriadError 'usage' when alternatives that are asked for cannot be
 */
export function requireAlternatives(
  items: readonly { tokens: readonly number[]; ids?: Int32Array }[],
  { count, given }: { count: number; given: boolean },
  vocabularySize: number,
): void {
  if (!Number.isInteger(count) || count < 1)
    throw new MyriadError(
      'usage',
      `${count} alternatives a token are asked for, but the number must be a positive integer`,
    )
  if (!given) return
  items.forEach(({ tokens, ids }, i) => {
    if (ids?.length !== tokens.length * count)
      throw new MyriadError(
        'usage',
        `sequence ${i} of ${tokens.length} tokens has ${ids?.length ?? 0} ids of alternatives, but needs ${count} a token`,
      )
    const outside = ids.find((id) => id < -1 || id >= vocabularySize)
    if (outside !== undefined)
      throw new MyriadError(
        'usage',
        `sequence ${i} has the alternative ${outside}, which is outside the vocabulary of ${vocabularySize}`,
      )
  })
}

/**
 * Derivatives as an objective answered them, as sequences have them: 0 where the mask is. [sequence][tokens * width]
 *
 * @throws MyriadError 'usage' when there are more or fewer than trainable tokens
 */
export function spread(batch: readonly TrainSequence[], slopes: Float64Array, loss: Loss, width = 1): Float32Array[] {
  let from = 0
  const spreads = batch.map(({ mask }) => {
    const own = new Float32Array(mask.length * width)
    mask.forEach((trainable, t) => {
      if (!trainable) return
      own.set(slopes.subarray(from, from + width), t * width)
      from += width
    })
    return own
  })
  if (from !== slopes.length)
    throw new MyriadError(
      'usage',
      `loss "${loss.name}" answered ${slopes.length} derivatives, but the batch asks for ${from}`,
    )
  return spreads
}

/** Whether an objective teaches anything but the logprobs of the tokens themselves. */
export function teachesMore(result: LossResult): boolean {
  return Boolean(result.entropyGradient ?? result.valueGradient ?? result.alternativesGradient)
}

function missing(loss: Loss, what: string): never {
  throw new MyriadError(
    'usage',
    `loss "${loss.name}" reads ${what}, which the sequences do not have; ask for them first`,
  )
}
