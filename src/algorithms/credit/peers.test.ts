import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Loss, LossTokens, TrainSequence } from '../../policy/types.js'
import { blockGae, clipCovLoss, criticMethod, criticOptions, highEntropyTokens, klCovLoss } from './index.js'
import { z } from 'zod'
import { rewardAtEnd } from './macro.js'

interface Case {
  logprobs: number[]
  old: number[]
  advantages: number[]
  clipCov: { value: number; gradient: number[] }
  klCov: { value: number; gradient: number[] }
  values: number[]
  rewards: number[]
  gae: number[]
  returns: number[]
  highEntropy: number[]
}
const { lengths, cases } = JSON.parse(
  readFileSync(new URL('../../../src/algorithms/credit/credit.fixture.json', import.meta.url), 'utf8'),
) as { lengths: number[]; cases: Case[] }

const near = (actual: ArrayLike<number>, expected: readonly number[], tolerance = 1e-9): void => {
  assert.equal(actual.length, expected.length)
  expected.forEach((value, i) =>
    assert.ok(Math.abs(actual[i] - value) < tolerance, `entry ${i}: ${actual[i]}, expected ${value}`),
  )
}

function tokensOf({ logprobs, old, advantages }: Case): LossTokens {
  return {
    logprobs: Float64Array.from(logprobs),
    oldLogprobs: Float64Array.from(old),
    advantages: Float64Array.from(advantages),
    weights: Float64Array.from(logprobs, () => 1 / logprobs.length),
    segments: Int32Array.from(lengths.flatMap((length, i) => Array<number>(length).fill(i))),
  }
}

const cut = (values: readonly number[]): number[][] => {
  let from = 0
  return lengths.map((length) => values.slice(from, (from += length)))
}

test('Clip-Cov and KL-Cov: value and gradient are those of verl', () => {
  for (const item of cases) {
    const check = (loss: Loss, expected: Case['clipCov']): void => {
      const result = loss.evaluate(tokensOf(item))
      near([result.value], [expected.value])
      near(result.gradient, expected.gradient)
    }
    check(clipCovLoss({ ratio: 1, lower: 0.3, upper: 2, clipHigh: 0.28 }), item.clipCov)
    check(klCovLoss({ ratio: 0.3, coefficient: 0.7 }), item.klCov)
  }
})

test('GAE with blocks of one, whitened, are those of verl', () => {
  for (const item of cases) {
    const [values, rewards] = [cut(item.values), cut(item.rewards)]
    const parts = lengths.map((_, i) => blockGae(rewards[i], values[i], { gamma: 0.9, lambda: 0.8 }))
    near(
      parts.flatMap(({ targets }) => targets),
      item.returns,
    )
    const options = z.strictObject(criticOptions).parse({ gamma: 0.9, lambda: 0.8 })
    const method = criticMethod('ppo', options, { rewards: rewardAtEnd() })
    const sequences = lengths.map((length, i): TrainSequence => {
      const padded = (row: readonly number[]): Float32Array => Float32Array.from([0, ...row])
      return {
        tokens: Array<number>(length + 1).fill(0),
        mask: Uint8Array.from({ length: length + 1 }, (_, t) => Number(t > 0)),
        logprobs: padded(rewards[i]),
        advantages: padded(rewards[i]),
        values: padded(values[i]),
        weights: new Float32Array(length + 1),
      }
    })
    near(
      method.refine!(sequences).flatMap(({ advantages }) => Array.from(advantages.subarray(1))),
      item.gae,
      1e-5,
    )
  }
})

test('the mask of high entropies is that of TRL', () => {
  for (const item of cases) {
    const sequences = cut(item.values).map((row): TrainSequence => {
      const entropy = Float32Array.from([0, ...row.map(Math.abs)])
      return {
        tokens: [...entropy],
        mask: Uint8Array.from(entropy, (_, t) => Number(t > 0)),
        logprobs: entropy,
        advantages: entropy,
        weights: entropy,
        entropy,
      }
    })
    near(
      highEntropyTokens(1 - 0.65)(sequences).flatMap((row) => Array.from(row.subarray(1))),
      item.highEntropy,
    )
  }
})
