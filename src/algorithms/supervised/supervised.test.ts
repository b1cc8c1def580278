import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createRandom, type Json } from '../../core/index.js'
import type { Loss, LossTokens, TrainSequence } from '../../policy/types.js'
import { compose } from '../compose.js'
import { clippedLoss } from '../clipped.js'
import { crossEntropy } from '../cross-entropy.js'
import { groupAdvantages } from '../advantages.js'
import { groupOf, turnsTrajectory } from '../multi/testing.js'
import type { Objective } from '../objective.js'
import { assertLossEdges, gradientError, randomLossTokens } from '../testing-loss.js'
import { testGroup, testTrajectory } from '../testing.js'
import type { Algorithm, Group, LearnContext, Lesson, Shown } from '../types.js'
import * as supervised from './index.js'

const fixture = JSON.parse(
  readFileSync(new URL('../../../src/algorithms/supervised/supervised.fixture.json', import.meta.url), 'utf8'),
) as {
  vocabulary: number
  lengths: number[]
  ids: number[]
  logprobs: number[]
  cases: { loss: 'nll' | 'dft'; smoothing: number; value: number; slopes: number[] }[]
}

const close = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance = 1e-6): void => {
  assert.equal(actual.length, expected.length)
  for (let i = 0; i < actual.length; i++)
    assert.ok(Math.abs(actual[i] - expected[i]) <= tolerance, `entry ${i}: ${actual[i]}, expected ${expected[i]}`)
}

const shown: Shown = { tokens: [7, 8, 9, 10], mask: Uint8Array.of(0, 1, 1, 1) }
const contextWith = (demonstrations: (Shown | null)[], rest: Partial<LearnContext> = {}): LearnContext => ({
  step: 1,
  seed: 1,
  state: null,
  demonstrations,
  ...rest,
})
const make = (method: Objective, options: object = {}): Algorithm =>
  method.make(method.options.parse({ ...options }) as never) as Algorithm
const roles = ({ sequences }: Lesson): string => sequences.map(({ info }) => info!.role[0]).join('')
const advantageOf = ({ mask, advantages }: TrainSequence): number => advantages[mask.indexOf(1)]
const totalWeight = (sequences: readonly TrainSequence[]): number =>
  sequences.reduce((sum, { weights }) => sum + weights.reduce((a, b) => a + b, 0), 0)

/** One token with the logprob and advantage given. */
const token = (logprob: number, advantage = 1): LossTokens => ({
  logprobs: Float64Array.of(logprob),
  oldLogprobs: Float64Array.of(logprob),
  advantages: Float64Array.of(advantage),
  weights: Float64Array.of(1),
  segments: Int32Array.of(0),
})
const at = (loss: Loss, logprob: number, advantage = 1): [number, number] => {
  const { value, gradient } = loss.evaluate(token(logprob, advantage))
  return [value, gradient[0]]
}

test('NLL, DFT and label smoothing are those of TRL', () => {
  const { vocabulary, ids, logprobs } = fixture
  const count = ids.length
  const tokens: LossTokens = {
    logprobs: Float64Array.from(ids, (id, t) => logprobs[t * vocabulary + id]),
    oldLogprobs: new Float64Array(count),
    advantages: new Float64Array(count).fill(1),
    weights: new Float64Array(count).fill(1 / count),
    segments: Int32Array.from(fixture.lengths.flatMap((length, i) => Array<number>(length).fill(i))),
    alternatives: {
      count: vocabulary,
      ids: Int32Array.from({ length: count * vocabulary }, (_, i) => i % vocabulary),
      logprobs: Float64Array.from(logprobs),
    },
  }
  for (const { loss, smoothing, value, slopes } of fixture.cases) {
    const own =
      smoothing > 0 ? supervised.smoothedLoss(smoothing) : loss === 'dft' ? supervised.dftLoss() : crossEntropy()
    const result = own.evaluate(tokens)
    close([result.value], [value], 1e-8)
    const logits = ids.flatMap((id, t) => {
      const row = logprobs.slice(t * vocabulary, (t + 1) * vocabulary)
      const direct = row.map(
        (_, v) => (v === id ? result.gradient[t] : 0) + (result.alternativesGradient?.[t * vocabulary + v] ?? 0),
      )
      const total = direct.reduce((a, b) => a + b, 0)
      return row.map((logprob, v) => direct[v] - Math.exp(logprob) * total)
    })
    close(logits, slopes, 1e-8)
  }
  assert.equal(fixture.cases.length, 3)
})

test('a token of logprob -1.3 has the losses and slopes worked out by hand', () => {
  close(at(supervised.dftLoss(), -1.3), [0.354291, -0.272532])
  close(at(supervised.shapedLoss(0.1), -1.3), [-0.731567, -0.196377])
  close(at(supervised.absoluteErrorLoss(1), -1.3), [0.727468, -0.272532])
  const p = Math.exp(-1.3)
  close(at(supervised.phiLoss(), -1.3), [1.3 * p * (1 - p), -p * (1 - p)])
  close(at(supervised.unlikelihoodLoss(), -1.3, -1), [-Math.log(1 - p), p / (1 - p)])
  close(at(supervised.unlikelihoodLoss(), -1.3, 2), [2.6, -2])
  close(at(supervised.focalLoss(2), -1.3), [1.3 * (1 - p) ** 2, -((1 - p) ** 2) - 2 * 1.3 * p * (1 - p)])
  close(at(supervised.unmasteredLoss(0.2), -1.3), [0, 0])
  close(at(supervised.unmasteredLoss(0.3), -1.3), [1.3, -1])
})

const demonstrated = { roles: ['sample', 'demonstration', 'demonstration'] as const }
const smooth: Record<string, Loss> = {
  focal: supervised.focalLoss(2),
  'focal, gamma below 1': supervised.focalLoss(0.5),
  unlikelihood: supervised.unlikelihoodLoss(),
  smoothed: supervised.smoothedLoss(0.2),
  shaped: supervised.shapedLoss(0.1),
  ratio: supervised.ratioLoss(),
  'absolute error': supervised.absoluteErrorLoss(0.99),
  'by role': supervised.byRole(clippedLoss({ clipLow: 0.9, clipHigh: 9 }), supervised.smoothedLoss(0.3)),
}

for (const [name, loss] of Object.entries(smooth))
  test(`slopes of ${name} are those of its value`, () => {
    for (let seed = 1; seed <= 5; seed++) {
      const tokens = randomLossTokens(seed, { alternatives: 3, ...demonstrated })
      assert.ok(gradientError(loss, tokens) < 1e-6, `${gradientError(loss, tokens)}`)
    }
    assertLossEdges(loss, { alternatives: 3, ...demonstrated })
  })

test('losses with a constant weight have the slopes of likelihood, times it', () => {
  for (const loss of [supervised.dftLoss(), supervised.phiLoss(), supervised.unmasteredLoss(0.3)]) {
    assertLossEdges(loss)
    for (let seed = 1; seed <= 5; seed++) {
      const tokens = randomLossTokens(seed)
      const held = loss.evaluate(tokens).gradient
      // The value with the weights of now held fixed is linear in the logprobs: value = gradient . logprobs.
      close([loss.evaluate(tokens).value], [held.reduce((sum, slope, t) => sum + slope * tokens.logprobs[t], 0)], 1e-12)
      const ratio = held.map((slope, t) => -slope / (tokens.weights[t] * tokens.advantages[t]))
      assert.ok(ratio.every((weight) => weight >= 0 && weight <= 1))
    }
  }
  const tokens = randomLossTokens(2)
  const surrogate = supervised.absoluteErrorLoss(1)
  close(supervised.dftLoss().evaluate(tokens).gradient, surrogate.evaluate(tokens).gradient, 1e-12)
})

test('SRFT: coefficients decide the pull of demonstrations and right samples, wrong samples are pushed', () => {
  const tokens = randomLossTokens(1, demonstrated)
  tokens.advantages = tokens.segments.reduce(
    (all, segment, t) => ((all[t] = [-1, 0.7, 0.7][segment]), all),
    new Float64Array(tokens.segments.length),
  )
  tokens.sequences = tokens.sequences!.map((info) => ({ ...info, coefficients: { sft: 0.3, rl: 0.2 } }))
  assert.ok(gradientError(supervised.srftLoss(), tokens) < 1e-6)
  const { gradient } = supervised.srftLoss().evaluate(tokens)
  const expected = tokens.logprobs.map((logprob, t) =>
    tokens.segments[t] === 0 ? tokens.weights[t] : -tokens.weights[t] * (0.3 + 0.7 * Math.exp(logprob)),
  )
  close(gradient, expected, 1e-12)
  tokens.sequences = tokens.sequences.map((info) => ({ ...info, coefficients: {} }))
  assert.throws(() => supervised.srftLoss().evaluate(tokens), { code: 'usage' })
})

test('a loss by role needs to know roles, and names the metrics of demonstrations', () => {
  const loss = supervised.byRole(clippedLoss(), clippedLoss())
  const tokens = randomLossTokens(1, demonstrated)
  const together = loss.evaluate(tokens)
  close([together.value], [clippedLoss().evaluate(tokens).value], 1e-12)
  assert.ok('demonstration.ratio' in together.metrics && 'ratio' in together.metrics)
  assert.throws(() => loss.evaluate({ ...tokens, sequences: undefined }), { code: 'usage' })
})

test('demonstrations: masks of the solver, advantage 1, logprobs 0, beside the samples of compose too', () => {
  const groups = [testGroup([0, 1]), testGroup([1, 1])]
  const context = contextWith([shown, { ...shown, mask: new Uint8Array(4) }])
  const [{ sequence, group }, ...none] = supervised.demonstrationSequences(context, groups)
  assert.deepEqual(none, [])
  assert.equal(group, 0)
  assert.deepEqual([...sequence.advantages], [0, 1, 1, 1])
  assert.deepEqual([...sequence.logprobs], [0, 0, 0, 0])
  assert.equal(sequence.info!.role, 'demonstration')
  const algorithm = compose({
    name: 'both',
    advantage: groupAdvantages({ normalization: 'mean' }),
    loss: clippedLoss(),
    extend: (given, where) => supervised.demonstrationSequences(where, given),
  })
  assert.equal(roles(algorithm.learn(groups, context)), 'ssd')
  assert.throws(() => supervised.demonstrationSequences({ step: 1, seed: 1, state: null }, groups), { code: 'usage' })
  assert.throws(() => supervised.demonstrationSequence({ ...shown, tokens: [1] }, groups[0].problem, 0), {
    code: 'usage',
  })
})

test('weights by role: neither side dilutes the other', () => {
  const lesson = make(supervised.scheduledMixture, { schedule: 'constant', from: 0.25 }).learn(
    [testGroup([0, 1, 0, 1], { length: 9 })],
    contextWith([shown]),
  )
  const weighed = supervised.weighByRole()(lesson.sequences)
  assert.equal(roles(lesson), 'ssssd')
  close([totalWeight(weighed.slice(0, 4)), totalWeight(weighed.slice(4))], [0.75, 0.25])
})

const scoredAs = (sequences: readonly TrainSequence[]): TrainSequence[] => {
  const random = createRandom(3)
  return sequences.map((sequence) => ({
    ...sequence,
    oldLogprobs: sequence.logprobs.map(() => -random.uniform()),
    entropy: sequence.logprobs.map(() => random.uniform()),
  }))
}

test('every method learns from a step, and survives steps with nothing to learn', () => {
  const methods = supervised.supervisedObjectives.filter(({ kind }) => kind === 'method')
  assert.equal(methods.length, 21)
  const rewarded = (rewards: number[]): Group =>
    groupOf(rewards.map((reward) => turnsTrajectory(reward, [2, 3], { turnRewards: [reward, 0.5] })))
  for (const method of methods) {
    const algorithm = make(method, method.name === 'return-conditioned' ? { controls: [100, 101] } : {})
    const context = contextWith([shown, null])
    const lesson = algorithm.learn([rewarded([0, 1, 1]), rewarded([0, 0])], context)
    assert.ok(lesson.sequences.length > 0, method.name)
    assert.equal(lesson.sequences.length, lesson.origins.length)
    assert.deepEqual(
      lesson.origins.map(({ group }) => group),
      lesson.origins.map(({ group }) => group).sort(),
      `${method.name}: sequences of a group stand together`,
    )
    const scored = scoredAs(lesson.sequences)
    const weighed = algorithm.weigh(algorithm.refine?.(scored, context) ?? scored)
    assert.ok(
      weighed.every(({ weights }) => weights.every((weight) => weight >= 0 && weight <= 1)),
      method.name,
    )
    assert.ok(totalWeight(weighed) > 0)
    JSON.stringify(lesson.state ?? null)
    for (const nothing of [[], [testGroup([0, 1], { length: 0 })]]) {
      const { sequences } = algorithm.learn(nothing, contextWith(nothing.map(() => null)))
      assert.deepEqual(sequences, [], method.name)
      assert.deepEqual(algorithm.weigh(algorithm.refine?.([], context) ?? []), [])
    }
    if (algorithm.needs.demonstrations)
      assert.throws(() => algorithm.learn([rewarded([0, 1])], { ...context, demonstrations: undefined }), {
        code: 'usage',
      })
  }
})

test('supervised methods learn the demonstrations alone, each with its own slope', () => {
  const groups = [testGroup([0, 1]), testGroup([0, 0])]
  const tokens = { ...randomLossTokens(4, { alternatives: 3 }) }
  tokens.advantages = tokens.advantages.map(() => 1)
  const slopes = new Set<string>()
  const variants: [Objective, object][] = [
    [supervised.sft, {}],
    [supervised.sft, { labelSmoothing: 0.1, alternatives: 3 }],
    [supervised.sft, { mastered: 0.3 }],
    [supervised.dft, {}],
    [supervised.focal, {}],
  ]
  for (const [method, options] of variants) {
    const algorithm = make(method, options)
    assert.equal(roles(algorithm.learn(groups, contextWith([shown, shown]))), 'dd')
    slopes.add([...algorithm.loss.evaluate(tokens).gradient].map((slope) => slope.toFixed(6)).join())
  }
  assert.equal(slopes.size, variants.length)
  assert.deepEqual(make(supervised.sft).loss.compiled, { kind: 'linear' })
  assert.equal(make(supervised.sft, { labelSmoothing: 0.1 }).needs.alternatives, 64)
  assert.throws(() => make(supervised.sft, { labelSmoothing: 0.1, mastered: 0.5 }), { code: 'usage' })
  const unlikely = make(supervised.unlikelihood, { alpha: 0.5 }).learn(groups, contextWith([shown, null]))
  assert.deepEqual(unlikely.sequences.map(advantageOf), [-0.5, 1, 1, -0.5, -0.5])
})

test('RFT keeps what is right, once each, and gives every problem the same say', () => {
  const same = [1, 1, 0, 1].map((reward) => testTrajectory(reward))
  const other = { ...testTrajectory(1), tokens: [0, 1, 9, 9, 9] }
  const groups = [groupOf([...same, other]), testGroup([0, 1]), testGroup([0, 0])]
  const weights = (options: object): number[][] => {
    const { sequences, origins } = make(supervised.rft, options).learn(groups)
    return sequences.map((sequence, i) => [origins[i].group, origins[i].trajectory, advantageOf(sequence)])
  }
  assert.deepEqual(weights({}), [
    [0, 0, 0.5],
    [0, 4, 0.5],
    [1, 1, 1],
  ])
  assert.deepEqual(weights({ deduplicate: false, perProblem: false }).length, 5)
  assert.deepEqual(weights({ limit: 1 }).length, 2)
})

test('right is what the task calls a success, or a reward from a threshold on', () => {
  const group = groupOf([
    { ...testTrajectory(0.9), outcome: { reward: 0, success: false, wellFormed: true } },
    { ...testTrajectory(0.4), tokens: [0, 1, 9, 9, 9] },
  ])
  const learntOf = (options: object): number[] =>
    make(supervised.rft, options)
      .learn([group])
      .origins.map(({ trajectory }) => trajectory)
  assert.deepEqual(learntOf({}), [1])
  assert.deepEqual(learntOf({ threshold: 0.5 }), [0])
})

test('ReST raises its threshold from step to step and begins anew', () => {
  const levels = { low: 0.5, high: 0.9, rounds: 3, improveSteps: 2 }
  close(
    [1, 2, 3, 4, 5, 6, 7].map((step) => supervised.restThreshold(levels, step)),
    [0.5, 0.5, 0.7, 0.7, 0.9, 0.9, 0.5],
  )
  const kept = (step: number): number =>
    make(supervised.rest, { ...levels, deduplicate: false }).learn(
      [testGroup([0.4, 0.6, 0.8, 1])],
      contextWith([], { step }),
    ).sequences.length
  assert.deepEqual([kept(1), kept(3), kept(5)], [3, 2, 1])
})

test('expert iteration remembers right samples, up to a number, and learns from a draw of them', () => {
  const algorithm = make(supervised.expertIteration, { capacity: 3, batch: 2, limit: null })
  const sampleAt = (step: number): Group =>
    groupOf([{ ...testTrajectory(1), tokens: [step, 1, 2, 3, 4] }, testTrajectory(0)])
  let state: Json = null
  const sizes: number[] = []
  for (let step = 1; step <= 5; step++) {
    const lesson = algorithm.learn([sampleAt(step)], contextWith([], { step, state }))
    state = JSON.parse(JSON.stringify(lesson.state)) as Json
    sizes.push(lesson.sequences.length)
    for (const { tokens } of lesson.sequences) assert.ok(tokens[0] <= step && tokens[0] > step - 3)
  }
  assert.deepEqual(sizes, [1, 2, 2, 2, 2])
  assert.equal((state as unknown[]).length, 3)
  // What rft would not do: learn in a step in which nothing was right.
  assert.equal(algorithm.learn([testGroup([0, 0])], contextWith([], { step: 6, state })).sequences.length, 2)
  assert.equal(make(supervised.rft).learn([testGroup([0, 0])]).sequences.length, 0)
})

test('turns are learnt by what they earned', () => {
  const trajectory = turnsTrajectory(1, [2, 1], { turnRewards: [0.25, 1] })
  assert.deepEqual([...supervised.turnWeights(trajectory)], [0, 0, 0.25, 0.25, 0, 1])
  assert.throws(() => supervised.turnWeights({ ...trajectory, turnRewards: [1] }), { code: 'usage' })
  assert.throws(() => supervised.turnWeights({ ...trajectory, turnRewards: undefined }), { code: 'usage' })
})

test('returns fall into quantile buckets, and their control token is read but not learnt', () => {
  assert.deepEqual(supervised.bucketEdges([4, 0, 1, 3, 2], 2), [2])
  close(supervised.bucketEdges([0, 1, 2, 3], 4), [0.75, 1.5, 2.25])
  assert.deepEqual(
    [1, 2, 5].map((value) => supervised.bucketOf(value, [2, 3])),
    [0, 1, 2],
  )
  assert.throws(() => supervised.bucketEdges([], 2), { code: 'numeric' })
  assert.throws(() => supervised.bucketEdges([NaN], 2), { code: 'numeric' })
  const lesson = make(supervised.returnConditioned, { controls: [100, 101], position: 1 }).learn([testGroup([0, 1])])
  assert.deepEqual(lesson.origins, [
    { group: 0, trajectory: -1 },
    { group: 0, trajectory: -1 },
  ])
  assert.deepEqual(
    lesson.sequences.map(({ tokens }) => tokens),
    [
      [0, 100, 1, 2, 3, 4],
      [0, 101, 1, 2, 3, 4],
    ],
  )
  for (const { mask, advantages, weights, logprobs } of lesson.sequences) {
    assert.deepEqual([...mask], [0, 0, 0, 1, 1, 1])
    assert.deepEqual([...advantages], [0, 0, 0, 1, 1, 1])
    assert.deepEqual([...logprobs], [0, 0, 0, -1, -1, -1])
    assert.equal(weights.length, 6)
  }
  const { needs, learn } = make(supervised.returnConditioned, { controls: [100, 1], position: 1 })
  assert.deepEqual(needs, { control: { token: 1, position: 1 } })
  assert.deepEqual(
    learn([testGroup([0, 1])]).sequences.map(({ tokens }) => tokens),
    [
      [0, 100, 2, 3, 4],
      [0, 1, 2, 3, 4],
    ],
    'played with the best control: it gives way to what the reply was worth',
  )
})

test('the share of demonstrations by step: warm-up, cosine and line', () => {
  const cosine = { kind: 'cosine' as const, from: 0.9, to: 0.05, warmupSteps: 0, decaySteps: 350 }
  close(
    [1, 176, 351, 999].map((step) => supervised.mixtureAt(cosine, step)),
    [0.9, 0.475, 0.05, 0.05],
  )
  const line = { kind: 'linear' as const, from: 0.8, to: 0.2, warmupSteps: 4, decaySteps: 10 }
  close(
    [1, 3, 5, 10, 15, 16].map((step) => supervised.mixtureAt(line, step)),
    [0, 0.4, 0.8, 0.5, 0.2, 0.2],
  )
  close([supervised.mixtureAt({ ...line, kind: 'constant' }, 50)], [0.8])
  close([supervised.mixtureAt({ ...line, warmupSteps: 0, decaySteps: 0 }, 1)], [0.2])
})

test('mixtures differ in their shares, and in what they make of demonstrations and runaway ratios', () => {
  const groups = [testGroup([0, 1]), testGroup([1, 1])]
  const sidesAt = (method: Objective, step: number, options: object = {}): number[] => {
    const algorithm = make(method, options)
    const lesson = algorithm.learn(groups, contextWith([shown, shown], { step }))
    const weighed = algorithm.weigh(lesson.sequences)
    return ['sample', 'demonstration'].map((role) => totalWeight(weighed.filter(({ info }) => info!.role === role)))
  }
  close(sidesAt(supervised.datamind, 1), [0.1, 0.9])
  close(sidesAt(supervised.scheduledMixture, 51), [0.525, 0.475])
  close(sidesAt(supervised.chord, 51), [0.9, 0.1])
  close(sidesAt(supervised.interleaved, 4), [1, 0])
  close(sidesAt(supervised.interleaved, 5), [0, 1])
  assert.equal(make(supervised.chord).learn(groups, contextWith([shown, null], { step: 3 })).metrics!.mu, 0.1)
  const tokens = randomLossTokens(6, demonstrated)
  tokens.oldLogprobs = tokens.oldLogprobs.map((logprob, t) => (t === 0 ? tokens.logprobs[0] - 4 : logprob))
  tokens.advantages[0] = -1
  const values = [
    make(supervised.scheduledMixture),
    make(supervised.chord),
    make(supervised.chord, { weighting: 'probability' }),
    make(supervised.datamind),
  ].map(({ loss }) => loss.evaluate(tokens).value)
  assert.equal(new Set(values.map((value) => value.toFixed(6))).size, 4)
  close([make(supervised.chord, { weighting: 'none' }).loss.evaluate(tokens).value], [values[0]], 1e-12)
})

test('ReLIFT gathers demonstrations of problems that no sample solves, and learns them once there are enough', () => {
  const algorithm = make(supervised.relift, { bufferSize: 3, fixedLength: 10 })
  const step = (groups: Group[], state: Json, demonstrations: (Shown | null)[]): Lesson =>
    algorithm.learn(groups, contextWith(demonstrations, { state }))
  const groups = [testGroup([0, 0]), testGroup([0, 1]), testGroup([0, 0])]
  const first = step(groups, null, [shown, shown, null])
  assert.equal(roles(first), 'ss')
  assert.deepEqual(first.sequences.map(advantageOf), [-0.5, 0.5])
  assert.equal((first.state as unknown[]).length, 1)
  close([totalWeight(algorithm.weigh(first.sequences))], [(2 * 3) / (2 * 10)])
  const second = step(groups, JSON.parse(JSON.stringify(first.state)) as Json, [shown, shown, shown])
  assert.equal(roles(second), 'ddd')
  assert.deepEqual(second.state, [])
  assert.deepEqual([...second.sequences[0].mask], [0, 1, 1, 1])
  const tokens = randomLossTokens(1, { roles: ['demonstration', 'demonstration', 'demonstration'] })
  close(
    algorithm.loss.evaluate(tokens).entropyGradient!,
    tokens.weights.map((weight) => -0.001 * weight),
    1e-12,
  )
})

test('LUFFY, ViSurf and Prefix-RFT give the demonstration different advantages and losses', () => {
  const demonstration = (method: Objective, rewards: number[], options: object = {}): number[] => {
    const { sequences } = make(method, options).learn([testGroup(rewards)], contextWith([shown]))
    return sequences.map(advantageOf)
  }
  close(demonstration(supervised.luffy, [0, 0, 0]), [-0.25, -0.25, -0.25, 0.75])
  close(demonstration(supervised.luffy, [1, 0, 0]), [0.5, -0.5, -0.5, 0.5])
  const half = Math.sqrt(0.25)
  close(
    demonstration(supervised.visurf, [0, 0, 0]),
    [-0.5, -0.5, -0.5, 1.5].map((a) => a / (2 * half)),
    1e-5,
  )
  // A sample did as well: the label steps back to the mean.
  close(demonstration(supervised.visurf, [1, 0]).slice(2), [0])
  assert.equal(supervised.labelReward([0, 1], 1), 0.5)
  assert.equal(supervised.labelReward([0, 0.5], 1), 1)
  assert.deepEqual(demonstration(supervised.luffy, [1, 1]), [])
  close(demonstration(supervised.prefixRft, [0, 0, 0]), [1])
  close(demonstration(supervised.prefixRft, [0, 1]).slice(2), [0.5])
  assert.equal(make(supervised.visurf).needs.old, true)
  const tokens = randomLossTokens(1, demonstrated)
  const [luffy, visurf, prefix] = [supervised.luffy, supervised.visurf, supervised.prefixRft].map(
    (method) => make(method).loss.evaluate(tokens).value,
  )
  assert.ok(Math.abs(luffy - visurf) > 1e-4)
  tokens.oldLogprobs = tokens.logprobs.map((logprob) => logprob - 3)
  tokens.advantages = tokens.advantages.map(() => -1)
  const [clipped, dual] = [supervised.visurf, supervised.prefixRft].map(
    (method) => make(method).loss.evaluate(tokens).value,
  )
  close([clipped / dual], [Math.exp(3) / 3])
  assert.ok(Number.isFinite(prefix))
})

test('prefixes shorten by a cosine, and only their most uncertain tokens are learnt', () => {
  const schedule = { high: 0.9, low: 0.1, decaySteps: 10 }
  const range = (step: number): number[] => {
    const lengths = Array.from({ length: 200 }, (_, i) => supervised.prefixLength(100, schedule, step, createRandom(i)))
    return [Math.min(...lengths), Math.max(...lengths)]
  }
  assert.deepEqual(range(1), [90, 90])
  const [middle] = range(6)
  assert.ok(middle >= 50 && middle < 55, `${middle}`)
  const [late, most] = range(11)
  assert.ok(late >= 10 && late < 15 && most > 85 && most <= 90)
  assert.deepEqual([...supervised.mostUncertain(Uint8Array.of(0, 1, 1, 1, 1), [9, 1, 3, 2, 4], 0.5)], [0, 0, 1, 0, 1])
  assert.deepEqual(supervised.prefixAdvantages([0, 1], [1, 0], { normalization: 'mean' }), {
    free: [-0.5, 0.5],
    continuations: [0.5, -0.5],
    prefix: [0.25, -0.25],
  })
  const long: Shown = { tokens: Array.from({ length: 21 }, (_, t) => t), mask: new Uint8Array(21).fill(1, 1) }
  const algorithm = make(supervised.prefixRft, { high: 0.5, entropyShare: 0.3 })
  const { sequences } = algorithm.learn([testGroup([0, 1])], contextWith([long]))
  assert.deepEqual(
    [...sequences[2].mask.keys()].filter((t) => sequences[2].mask[t]),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
  const refined = algorithm.refine!(scoredAs(sequences))
  assert.equal(
    refined[2].factors!.reduce((a, b) => a + b, 0),
    3,
  )
  assert.equal(refined[0].factors, undefined)
  assert.throws(() => algorithm.refine!(sequences), { code: 'usage' })
})

test('what went on from a prefix says what the prefix is worth, and is learnt itself', () => {
  const long: Shown = { tokens: Array.from({ length: 21 }, (_, t) => t), mask: new Uint8Array(21).fill(1, 1) }
  const algorithm = make(supervised.prefixRft, { high: 0.5, continuations: 2, normalization: 'mean' })
  assert.equal(algorithm.needs.continuations, 2)
  const context = contextWith([long])
  assert.equal(algorithm.prefixLength!(20, context, 0, 0), 10)
  assert.equal(algorithm.prefixLength!(1, context, 0, 0), 0, 'the last token is left to the policy')
  const continuations = [testGroup([0.5, 1]).trajectories].flat()
  const { sequences, origins } = algorithm.learn([{ ...testGroup([0, 1]), continuations }], context)
  const advantages = sequences.map(({ advantages: row, mask }) => row[mask.indexOf(1)])
  close(advantages, [-0.5, 0.5, 0.25, -0.25, 0.25])
  assert.deepEqual(
    origins.map(({ trajectory }) => trajectory),
    [0, 1, -1, -1, -1],
  )
  assert.deepEqual(
    sequences.map(({ info }) => info!.role),
    ['sample', 'sample', 'demonstration', 'sample', 'sample'],
  )
  assert.equal(make(supervised.prefixRft, { continuations: 0 }).needs.continuations, undefined)
})

test('SRFT weighs demonstrations by exp(-H) and right samples by exp(H), or exp(-H)', () => {
  const weightsFor = (options: object): Record<string, number> => {
    const algorithm = make(supervised.srft, options)
    const { sequences } = algorithm.learn([testGroup([0, 1])], contextWith([shown]))
    assert.deepEqual(sequences.map(advantageOf).slice(0, 2), [-1, 1])
    const entropies = sequences.map((sequence) => ({
      ...sequence,
      entropy: new Float32Array(sequence.tokens.length).fill(sequence.info!.role === 'sample' ? 1 : 2),
    }))
    return { ...algorithm.refine!(entropies)[2].info!.coefficients }
  }
  const [plus, minus] = [weightsFor({}), weightsFor({ rlExponent: -1 })]
  close([plus.sft, plus.rl, minus.rl], [0.5 * Math.exp(-2), 0.1 * Math.E, 0.1 / Math.E])
  const algorithm = make(supervised.srft)
  assert.throws(() => algorithm.refine!(algorithm.learn([testGroup([0, 1])], contextWith([shown])).sequences), {
    code: 'usage',
  })
})

test('RLMT scores what stands between the delimiters, and is GRPO with a dual clip, KL and entropy', () => {
  assert.equal(supervised.responseOf('<think>hm</think><response>yes</response>!'), 'yes')
  assert.equal(supervised.responseOf('<response>cut'), 'cut')
  assert.equal(supervised.responseOf('bare'), 'bare')
  assert.equal(supervised.responseOf(''), '')
  const { loss, needs } = make(supervised.rlmt)
  assert.equal(needs.reference, 'initial')
  const tokens = randomLossTokens(1)
  const { value, entropyGradient } = loss.evaluate(tokens)
  close(
    entropyGradient!,
    tokens.weights.map((weight) => -0.001 * weight),
    1e-12,
  )
  assert.ok(Math.abs(value - clippedLoss().evaluate(tokens).value) > 1e-5)
  assert.ok(gradientError(make(supervised.rlmt, { clipLow: 0.9, clipHigh: 9, dualClip: 11 }).loss, tokens) < 1e-6)
})

test('PaW predicts what the world answers after uncertain replies, less as rewards rise', () => {
  const sure = turnsTrajectory(0, [2, 1])
  const unsure = { ...turnsTrajectory(1, [1, 2]), logprobs: Float32Array.of(0, 0, -3, 0, -1, -1) }
  assert.deepEqual(supervised.observationsOf(unsure), [{ start: 3, end: 4, entropy: 3 }])
  assert.deepEqual(supervised.observationsOf(testTrajectory(1)), [])
  const algorithm = make(supervised.paw, { coefficient: 0.4, uncertainShare: 0.5 })
  const lesson = algorithm.learn([groupOf([sure, unsure])])
  assert.equal(roles(lesson), 'ssd')
  assert.deepEqual([...lesson.sequences[2].mask], [0, 0, 0, 1, 0, 0])
  close([advantageOf(lesson.sequences[2])], [0.2])
  assert.equal(roles(algorithm.learn([groupOf([{ ...sure, reward: 1 }, unsure])])), '')
  close(at(supervised.absoluteErrorLoss(0.9), Math.log(0.95)), [0.1, 0])
})

test('a world model comes first, then RL', () => {
  const algorithm = make(supervised.worldModelFirst, { worldSteps: 3 })
  const groups = [groupOf([turnsTrajectory(0, [2, 1]), turnsTrajectory(1, [1, 1, 1])]), testGroup([0, 1])]
  const before = algorithm.learn(groups, contextWith([], { step: 3 }))
  assert.equal(roles(before), 'dd')
  assert.deepEqual(
    before.sequences.map(({ mask }) => [...mask].join('')),
    ['000010', '0001010'],
  )
  assert.deepEqual(before.sequences.map(advantageOf), [1, 1])
  assert.equal(roles(algorithm.learn(groups, contextWith([], { step: 4 }))), 'ssss')
})

test('mid-training: a budget that shrinks, a bonus around it, and places from easy to hard', () => {
  const budget = { from: 100, to: 20, steps: 80, weight: 0.5 }
  close(
    [1, 41, 81, 500].map((step) => supervised.thinkingBudget(budget, step)),
    [100, 60, 20, 20],
  )
  close([supervised.thinkingBudget({ ...budget, steps: 0 }, 1)], [20])
  close(
    [60, 30, 90, 200, 0].map((length) => supervised.nextTokenReward(true, length, 60, 0.5)),
    [1.5, 1.25, 1.25, 1, 1],
  )
  assert.equal(supervised.nextTokenReward(false, 60, 60, 0.5), 0)
  assert.deepEqual(supervised.hardPlaces([0.1, 2, 1, 0], 0.5), [2, 1])
  assert.deepEqual(supervised.hardPlaces([], 0.5), [])
})
