/** Checks that every loss has to pass, for tests. */
import assert from 'node:assert/strict'
import { createRandom } from '../core/index.js'
import type { Loss, LossTokens, SequenceInfo } from '../policy/types.js'

export interface RandomTokensOptions {
  /** Trainable tokens of each sequence ([4, 1, 5]); pairs are (0, 1), (2, 3), ... */
  lengths?: readonly number[]
  /** Alternatives a token; none unless given. */
  alternatives?: number
  /** Roles by index of sequence ('sample'). */
  roles?: readonly SequenceInfo['role'][]
}

/** A batch with everything an objective may read, from a seed. Logprobs lie about -1.5, ratios about 1. */
export function randomLossTokens(seed: number, options: RandomTokensOptions = {}): LossTokens {
  const random = createRandom(seed)
  const lengths = options.lengths ?? [4, 1, 5]
  const count = lengths.reduce((sum, length) => sum + length, 0)
  const draw = (make: () => number, size = count): Float64Array => Float64Array.from({ length: size }, make)
  const negative = (): number => -0.2 - 1.3 * Math.abs(random.normal())
  const logprobs = draw(negative)
  const around = (values: Float64Array): Float64Array => values.map((value) => value + 0.3 * random.normal())
  const values = draw(() => random.normal())
  const k = options.alternatives
  const alternativeLogprobs = k === undefined ? undefined : draw(() => negative() - 1, count * k)
  return {
    logprobs,
    oldLogprobs: around(logprobs),
    behaviourLogprobs: around(logprobs),
    referenceLogprobs: around(logprobs),
    teacherLogprobs: around(logprobs),
    advantages: draw(() => random.normal()),
    weights: draw(() => (0.2 + random.uniform()) / Math.max(1, count)),
    segments: Int32Array.from(lengths.flatMap((length, i) => Array.from({ length }, () => i))),
    sequences: lengths.map((_, i) => ({
      group: i >> 1,
      role: options.roles?.[i] ?? 'sample',
      pair: i >> 1,
      rank: i & 1,
      reward: random.normal(),
      task: i < 2 ? 'a' : 'b',
      language: i < 2 ? 'en' : 'sw',
    })),
    entropy: draw(() => 0.1 + 2 * random.uniform()),
    values,
    oldValues: around(values),
    returns: around(values),
    ...(k !== undefined && alternativeLogprobs
      ? {
          alternatives: {
            count: k,
            ids: Int32Array.from({ length: count * k }, (_, i) => i % k),
            logprobs: alternativeLogprobs,
            old: around(alternativeLogprobs),
            teacher: around(alternativeLogprobs),
            reference: around(alternativeLogprobs),
          },
        }
      : {}),
  }
}

/**
 * The largest difference between the gradients a loss answers and central differences of its value, relative to
 * max(1, |difference|), over logprobs, entropies, values and alternatives alike.
 */
export function gradientError(loss: Loss, tokens: LossTokens, step = 1e-6): number {
  const result = loss.evaluate(tokens)
  const errorOf = (
    values: Float64Array | undefined,
    gradient: Float64Array | undefined,
    replace: (v: Float64Array) => LossTokens,
  ): number => {
    if (!values) return 0
    return Math.max(
      0,
      ...[...values].map((value, i) => {
        const at = (x: number): number => {
          const moved = Float64Array.from(values)
          moved[i] = x
          return loss.evaluate(replace(moved)).value
        }
        const difference = (at(value + step) - at(value - step)) / (2 * step)
        return Math.abs(difference - (gradient?.[i] ?? 0)) / Math.max(1, Math.abs(difference))
      }),
    )
  }
  const { alternatives } = tokens
  return Math.max(
    errorOf(tokens.logprobs, result.gradient, (logprobs) => ({ ...tokens, logprobs })),
    errorOf(tokens.entropy, result.entropyGradient, (entropy) => ({ ...tokens, entropy })),
    errorOf(tokens.values, result.valueGradient, (values) => ({ ...tokens, values })),
    errorOf(alternatives?.logprobs, result.alternativesGradient, (logprobs) => ({
      ...tokens,
      alternatives: { ...alternatives!, logprobs },
    })),
  )
}

/**
 * Extremes that must give finite numbers or a named error: no token at all, one sequence, ratios from e^-700 to e^700,
 * advantages and rewards from 0 to 1e30.
 */
export function assertLossEdges(loss: Loss, options: RandomTokensOptions = {}): void {
  const finite = (tokens: LossTokens, what: string): void => {
    try {
      const { value, gradient, entropyGradient, valueGradient, alternativesGradient } = loss.evaluate(tokens)
      assert.ok(Number.isFinite(value), `${loss.name}, ${what}: value ${value}`)
      for (const part of [gradient, entropyGradient, valueGradient, alternativesGradient])
        for (const slope of part ?? []) assert.ok(Number.isFinite(slope), `${loss.name}, ${what}: gradient ${slope}`)
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      assert.equal((error as { code?: string }).code, 'numeric', `${loss.name}, ${what}: ${String(error)}`)
    }
  }
  const none = randomLossTokens(1, { ...options, lengths: [] })
  const result = loss.evaluate(none)
  assert.equal(Math.abs(result.value), 0, `${loss.name}: the loss of nothing is ${result.value}`)
  assert.equal(result.gradient.length, 0)
  finite(randomLossTokens(2, { ...options, lengths: [1] }), 'one token')
  finite(randomLossTokens(2, { ...options, lengths: [3] }), 'one sequence')
  for (const shift of [-700, -20, Math.log(1e-6), Math.log(1e6), 20, 700])
    for (const scale of [0, 1, 1e30]) {
      const tokens = randomLossTokens(3, options)
      tokens.logprobs = tokens.logprobs.map((value) => Math.min(-1e-12, value + shift))
      tokens.oldLogprobs = tokens.oldLogprobs.map((value) => Math.min(-1e-12, value - shift))
      tokens.referenceLogprobs = tokens.referenceLogprobs!.map((value) => Math.min(0, value - shift))
      tokens.advantages = tokens.advantages.map((value) => value * scale)
      finite(tokens, `log-ratios about ${2 * shift}, advantages times ${scale}`)
    }
}
