/** Small models, batches and losses for tests of what a local policy makes of an objective. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createRandom } from '../../core/index.js'
import { readCheckpoint, readSafetensors, type Weights } from '../../models/index.js'
import { lossTokens } from '../loss-tokens.js'
import type { Loss, Policy, TrainSequence } from '../types.js'
import { localPolicyFromWeights, type LocalPolicy, type LocalPolicyOptions } from './index.js'

export const fixtures = fileURLToPath(new URL('../../../src/models/fixtures', import.meta.url))

/** A folder of the test file's own, and policies that are closed with it. */
export const folder = mkdtempSync(join(tmpdir(), 'myriad-objectives-'))
export const opened: Policy[] = []
after(async () => {
  for (const policy of opened) await policy.close()
  rmSync(folder, { recursive: true })
})

export const vocabulary = 40
export const count = 3

export async function open(options: LocalPolicyOptions & { model?: string; from?: string } = {}): Promise<LocalPolicy> {
  const { model = 'llama', from, ...rest } = options
  const { config, weights } = await readCheckpoint(from ?? join(fixtures, model))
  const policy = localPolicyFromWeights(config, weights, {
    workers: 1,
    slots: 8,
    rowLength: 32,
    tokenBudget: 64,
    ...rest,
  })
  opened.push(policy)
  return policy
}

/** Sequences with everything an objective may read; two share a prompt, one has holes in its mask, one alternative is none. */
export function batchOf(seed: number): TrainSequence[] {
  const random = createRandom(seed)
  return [9, 9, 14, 6, 11].map((length, i) => {
    const tokens = Array.from({ length }, (_, t) => (i < 2 && t < 4 ? 3 + t : random.integer(0, vocabulary - 1)))
    const draw = (size = length): Float32Array => Float32Array.from({ length: size }, () => random.normal())
    const ids = Int32Array.from({ length: length * count }, () => random.integer(0, vocabulary - 1))
    ids[length * count - 1] = -1
    ids[length * count - 2] = tokens[length - 1]
    return {
      tokens,
      mask: Uint8Array.from(tokens, (_, t) => (t > 3 && !(i === 2 && t % 4 === 0) ? 1 : 0)),
      logprobs: draw().map((x) => -3 + 0.3 * x),
      oldLogprobs: draw().map((x) => -3 + 0.3 * x),
      referenceLogprobs: draw().map((x) => -3 + x),
      teacherLogprobs: draw().map((x) => -3 + x),
      advantages: draw(),
      weights: draw().map((x) => 0.1 + 0.02 * x),
      values: draw(),
      returns: draw(),
      alternatives: { count, ids, logprobs: draw(length * count).map((x) => -3 + x) },
      teacherAlternatives: draw(length * count).map((x) => -3 + x),
      referenceAlternatives: draw(length * count).map((x) => -3 + x),
      info: { group: i, role: 'sample', reward: i, task: 'a', language: 'en' },
    }
  })
}

/** Every slope there is: ratios, entropies squared, values against returns, divergence from a teacher over alternatives. */
export function everything(parts: { values: boolean }): Loss {
  return {
    name: 'everything',
    reads: { entropy: true, alternatives: true, values: parts.values },
    evaluate: (tokens) => {
      const { logprobs, oldLogprobs, advantages, weights, entropy, values, returns, alternatives } = tokens
      const gradient = new Float64Array(logprobs.length)
      const entropyGradient = new Float64Array(logprobs.length)
      const valueGradient = new Float64Array(logprobs.length)
      const alternativesGradient = new Float64Array(logprobs.length * count)
      let value = 0
      logprobs.forEach((logprob, t) => {
        const c = weights[t]
        const ratio = Math.exp(logprob - oldLogprobs[t])
        value -= c * advantages[t] * ratio
        gradient[t] = -c * advantages[t] * ratio
        value += c * entropy![t] ** 2
        entropyGradient[t] = 2 * c * entropy![t]
        if (parts.values) {
          const off = values![t] - returns![t]
          value += c * 2 * off ** 2
          valueGradient[t] = 4 * c * off
        }
        for (let k = t * count; k < (t + 1) * count; k++) {
          if (alternatives!.ids[k] < 0) continue
          const p = Math.exp(alternatives!.logprobs[k])
          const off = alternatives!.logprobs[k] - alternatives!.teacher![k]
          value += 3 * c * p * off
          alternativesGradient[k] = 3 * c * p * (off + 1)
        }
      })
      return {
        value,
        gradient,
        entropyGradient,
        alternativesGradient,
        ...(parts.values && { valueGradient }),
        metrics: {},
      }
    },
  }
}

export async function evaluateNow(
  policy: Policy,
  batch: TrainSequence[],
  loss: Loss,
  temperature: number,
): Promise<number> {
  const scored = await policy.score(
    batch.map(({ tokens }) => tokens),
    {
      temperature,
      masks: batch.map(({ mask }) => mask),
      values: loss.reads?.values,
      alternatives: { count, ids: batch.map(({ alternatives }) => alternatives!.ids) },
    },
  )
  return loss.evaluate(lossTokens(batch, scored, loss)).value
}

/** The gradient of the last step, the first of a policy: 1 - beta1 of it is Adam's first moment. */
export async function gradientOf(policy: LocalPolicy, name: string): Promise<Weights> {
  await policy.save(join(folder, name), { optimizer: true })
  const { tensors } = readSafetensors(join(folder, name, 'optimizer.safetensors'))
  return Object.fromEntries(
    Object.entries(tensors).flatMap(([key, { data }]) =>
      key.startsWith('first.') ? [[key.slice('first.'.length), data.map((moment) => moment / 0.1)]] : [],
    ),
  )
}

export const normOf = (values: Float32Array): number => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
