import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Loss, LossTokens, TrainSequence } from '../../policy/types.js'
import { groupAdvantages } from '../advantages.js'
import { clippedLoss } from '../clipped.js'
import { crossEntropy } from '../cross-entropy.js'
import { sumLosses } from '../sum-losses.js'
import { testTrajectory } from '../testing.js'
import type { Group } from '../types.js'
import { tokenWeights, type Aggregation } from '../weights.js'
import * as pg from './index.js'

interface Case {
  value: number
  gradient?: number[]
  valueGradient?: number[]
}

interface Fixture {
  lengths: number[]
  groups: number[]
  fixedLength: number
  klController: { kl: number; samples: number; coefficient: number }[]
  batches: {
    inputs: Record<string, number[]>
    cases: Record<string, Case>
    advantages: Record<string, number[]> & { gae: { advantages: number[]; returns: number[] } }
  }[]
}

const path = new URL('../../../src/algorithms/policy-gradient/peers.fixture.json', import.meta.url)
const fixture = JSON.parse(readFileSync(path, 'utf8')) as Fixture
const { lengths, batches } = fixture
const starts = lengths.map((_, i) => lengths.slice(0, i).reduce((sum, length) => sum + length, 0))
const masks = lengths.map((length) => new Uint8Array(length).fill(1))
const byToken = (perSequence: readonly number[]): number[] =>
  lengths.flatMap((length, i) => Array.from({ length }, () => perSequence[i]))
const rowsOf = (flat: readonly number[]): number[][] => lengths.map((n, i) => flat.slice(starts[i], starts[i] + n))

function close(actual: ArrayLike<number>, expected: readonly number[], what: string, tolerance = 1e-5): void {
  assert.equal(actual.length, expected.length, what)
  expected.forEach((value, t) => {
    const error = Math.abs(actual[t] - value) / Math.max(1, Math.abs(value))
    assert.ok(error <= tolerance, `${what}: ${actual[t]} is not ${value} at ${t}`)
  })
}

interface Row {
  loss: Loss
  aggregation: Aggregation
  /** One advantage a sequence, as TRL has it; else one a token. */
  sequence: boolean
  /** Do peers see the sampler's logprobs? */
  behaviour?: boolean
  factors?: (inputs: Record<string, number[]>) => number[]
}

const mean = 'sequence-mean-token-mean'
const range = { clipLow: 0.2, clipHigh: 0.2 }
const ratios = (level: 'token' | 'sequence', high: number) => (inputs: Record<string, number[]>) =>
  pg
    .truncatedImportance({ level, low: 0, high })(sequencesOf(inputs))
    .flatMap((factors) => [...factors])

const rows: Record<string, Row> = {
  'trl.grpo': { loss: clippedLoss({ klCoefficient: 0.04 }), aggregation: mean, sequence: true },
  'trl.dr_grpo': { loss: clippedLoss(), aggregation: 'fixed-length', sequence: true },
  'trl.dapo': { loss: clippedLoss({ clipHigh: 0.28 }), aggregation: 'token-mean', sequence: true },
  'trl.bnpo': { loss: clippedLoss(), aggregation: 'token-mean', sequence: true },
  'trl.delta': { loss: pg.dualClipLoss({ ...range, dualClip: 1.5 }), aggregation: 'token-mean', sequence: true },
  'trl.gspo': { loss: pg.gspoLoss({ clipLow: 0.1, clipHigh: 0.15 }), aggregation: mean, sequence: true },
  'trl.cispo': { loss: pg.cispoLoss({ low: 0, high: 1.2 }), aggregation: 'token-mean', sequence: true },
  'trl.sapo': {
    loss: pg.sapoLoss({ temperaturePositive: 1, temperatureNegative: 1.05 }),
    aggregation: mean,
    sequence: true,
  },
  'trl.vespo': {
    loss: pg.vespoLoss({ kPositive: 2, lambdaPositive: 3, kNegative: 3, lambdaNegative: 2 }),
    aggregation: 'token-mean',
    sequence: true,
  },
  'trl.opsm': {
    loss: pg.offPolicyMaskedLoss({ ...range, threshold: 0.05 }),
    aggregation: 'token-mean',
    sequence: true,
    behaviour: true,
  },
  'trl.unbiasedKl': {
    loss: sumLosses([{ loss: clippedLoss() }, { loss: pg.klLoss('unbiased'), coefficient: 0.5 }]),
    aggregation: 'token-mean',
    sequence: true,
  },
  'trl.tis': { loss: clippedLoss(), aggregation: 'token-mean', sequence: true, factors: ratios('token', 1.3) },
  'trl.rloo': { loss: pg.sequenceRatioLoss(range), aggregation: mean, sequence: true },
  'verl.dualClip': {
    loss: pg.dualClipLoss({ clipLow: 0.2, clipHigh: 0.28, dualClip: 1.6 }),
    aggregation: 'token-mean',
    sequence: false,
  },
  'verl.sequenceTokenSum': { loss: clippedLoss(), aggregation: 'sequence-mean-token-sum', sequence: false },
  'verl.gspo': { loss: pg.gspoTokenLoss({ clipLow: 0.1, clipHigh: 0.15 }), aggregation: mean, sequence: false },
  'verl.cispo': { loss: pg.cispoLoss({ low: 0.8, high: 1.2 }), aggregation: 'token-mean', sequence: false },
  'verl.sapo': {
    loss: pg.sapoLoss({ temperaturePositive: 1, temperatureNegative: 1.05 }),
    aggregation: mean,
    sequence: true,
  },
  'verl.gmpo': { loss: pg.gmpoLoss({ low: 0.25, high: 0.3 }), aggregation: mean, sequence: true },
  'verl.dppoTv': {
    loss: pg.dppoLoss({ divergence: 'tv', low: 0.05, high: 0.04, cap: 3 }),
    aggregation: 'token-mean',
    sequence: false,
    behaviour: true,
  },
  'verl.dppoKl': {
    loss: pg.dppoLoss({ divergence: 'kl', low: 0.01, high: 0.02, cap: 3 }),
    aggregation: 'token-mean',
    sequence: false,
    behaviour: true,
  },
  'verl.gpg': { loss: crossEntropy(), aggregation: 'token-mean', sequence: false },
  'verl.tis': { loss: clippedLoss(), aggregation: 'token-mean', sequence: false, factors: ratios('token', 1.3) },
  'verl.tisSequence': {
    loss: clippedLoss(),
    aggregation: 'token-mean',
    sequence: false,
    factors: ratios('sequence', 1.3),
  },
  'verl.value': { loss: pg.clippedValueLoss(0.4), aggregation: 'token-mean', sequence: false },
  'verl.k1': { loss: pg.klLoss('k1'), aggregation: 'token-mean', sequence: false },
  'verl.k2': { loss: pg.klLoss('k2'), aggregation: 'token-mean', sequence: false },
  'verl.k3': { loss: pg.klLoss('k3'), aggregation: 'token-mean', sequence: false },
  'verl.k3+': { loss: pg.klLoss('straight-through'), aggregation: 'token-mean', sequence: false },
}

function sequencesOf(inputs: Record<string, number[]>): TrainSequence[] {
  const [logprobs, old, rewards] = [rowsOf(inputs.behaviour), rowsOf(inputs.old), rowsOf(inputs.tokenRewards)]
  return lengths.map((length, i) => ({
    tokens: Array.from({ length }, () => 1),
    mask: masks[i],
    logprobs: Float32Array.from(logprobs[i]),
    oldLogprobs: Float32Array.from(old[i]),
    advantages: Float32Array.from(rewards[i]),
    values: Float32Array.from(rowsOf(inputs.values)[i]),
    weights: new Float32Array(length),
  }))
}

function tokensOf(inputs: Record<string, number[]>, row: Row): LossTokens {
  const factors = row.factors?.(inputs)
  const array = (name: string): Float64Array => Float64Array.from(inputs[name])
  return {
    logprobs: array('logprobs'),
    oldLogprobs: array('old'),
    ...(row.behaviour ? { behaviourLogprobs: array('behaviour') } : {}),
    referenceLogprobs: array('reference'),
    advantages: row.sequence ? Float64Array.from(byToken(inputs.advantages)) : array('tokenAdvantages'),
    weights: Float64Array.from(
      tokenWeights(masks, row.aggregation, fixture.fixedLength).flatMap((weights) => [...weights]),
      (weight, t) => weight * (factors?.[t] ?? 1),
    ),
    segments: Int32Array.from(byToken(lengths.map((_, i) => i))),
    values: array('values'),
    oldValues: array('oldValues'),
    returns: array('returns'),
  }
}

for (const [name, row] of Object.entries(rows))
  test(`value and gradient of ${name}, by the derivative through its own code`, () => {
    batches.forEach(({ inputs, cases }, b) => {
      const expected = cases[name]
      const result = row.loss.evaluate(tokensOf(inputs, row))
      close([result.value], [expected.value], `${name}, batch ${b}, value`)
      if (expected.gradient) close(result.gradient, expected.gradient, `${name}, batch ${b}`)
      if (expected.valueGradient) close(result.valueGradient!, expected.valueGradient, `${name}, batch ${b}`)
    })
  })

test('every clip and mask of the peers acts somewhere in the batches, or the tests above say nothing', () => {
  for (const name of ['trl.dapo', 'trl.delta', 'trl.gspo', 'trl.rloo', 'trl.opsm', 'verl.dppoTv', 'verl.dppoKl'])
    assert.ok(
      batches.some(({ cases }) => cases[name].gradient!.some((slope) => slope === 0)),
      `${name} drops no token`,
    )
})

function groupsOf(rewards: readonly number[]): Group[] {
  return [0, 1].map((group) => {
    const trajectories = rewards.flatMap((reward, i) =>
      fixture.groups[i] === group
        ? [{ ...testTrajectory(reward, { length: lengths[i] }), mask: masks[i], tokens: [...masks[i]] }]
        : [],
    )
    return { problem: trajectories[0].problem, trajectories }
  })
}

const estimators = {
  rloo: pg.perGroup((rewards) => pg.leaveOneOut(rewards)),
  opo: pg.lengthWeightedPart.make({}),
  gpg: pg.gpgAdvantages,
  grpo: groupAdvantages({ normalization: 'mean-std', epsilon: 1e-6 }),
  reinforcePlusPlusBaseline: pg.centredThenWhitened('tokens'),
}

for (const [name, estimate] of Object.entries(estimators))
  test(`advantages of verl's ${name}`, () => {
    batches.forEach(({ inputs, advantages }, b) => {
      const actual = estimate(groupsOf(inputs.rewards)).flat()
      close(
        actual.flatMap((tokens) => [...tokens]),
        advantages[name],
        `${name}, batch ${b}`,
      )
    })
  })

test("advantages and returns of verl's GAE and REINFORCE++, with tokens that an environment said in between", () => {
  batches.forEach(({ inputs, advantages }, b) => {
    const holes = rowsOf(advantages.holes).map((row) => Uint8Array.from(row))
    const sequences = sequencesOf(inputs).map((sequence, i) => ({ ...sequence, mask: holes[i] }))
    const options = { gamma: 0.97, lambda: 0.9, klInReward: 0, whiten: true }
    const estimated = pg.valueAdvantages(sequences, options)
    const flat = (of: (s: TrainSequence) => ArrayLike<number>): number[] => estimated.flatMap((s) => Array.from(of(s)))
    close(
      flat((s) => s.advantages),
      advantages.gae.advantages,
      `gae, batch ${b}`,
    )
    close(
      flat((s) => s.returns!),
      advantages.gae.returns,
      `returns, batch ${b}`,
    )
    const whitened = pg.whitenedReturns(sequences, { gamma: 0.9, klInReward: 0 })
    close(
      whitened.flatMap((s) => [...s.advantages]),
      advantages.reinforcePlusPlus,
      `reinforce++, batch ${b}`,
    )
  })
})

test("verl's adaptive KL coefficient", () => {
  let coefficient = 0.1
  for (const { kl, samples, coefficient: expected } of fixture.klController) {
    coefficient = pg.adaptKlCoefficient(coefficient, kl, { target: 0.1, horizon: 1000, samples })
    close([coefficient], [expected], 'coefficient', 1e-12)
  }
})
