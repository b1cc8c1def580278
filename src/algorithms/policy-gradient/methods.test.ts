import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import type { LossTokens, TrainSequence } from '../../policy/types.js'
import { FIRST_STEP } from '../compose.js'
import { grpo as plainGrpo } from '../grpo.js'
import type { Kind, Objective } from '../objective.js'
import { testTrajectory } from '../testing.js'
import type { Algorithm, Group, LearnContext, Trajectory } from '../types.js'
import * as pg from './index.js'

const near = (actual: number, expected: number, tolerance = 1e-6): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)
const all = (actual: ArrayLike<number>, expected: readonly number[], tolerance = 1e-6): void => {
  assert.equal(actual.length, expected.length)
  expected.forEach((value, t) => near(actual[t], value, tolerance))
}

const methods = pg.policyGradientObjectives.filter(({ kind }) => kind === 'method') as Objective<'method'>[]

function make(name: string, options: Record<string, unknown> = {}): Algorithm {
  const found = methods.find((candidate) => candidate.name === name)
  assert.ok(found, `no method ${name}`)
  return found.make(found.options.parse(options) as never)
}

interface Sample {
  reward: number
  length?: number
  logprob?: number
  more?: Partial<Trajectory>
}

const extraParts = { 'demonstration-likeness': 0.5, 'demonstration-reward': 1 }

function groupOf(samples: readonly Sample[]): Group {
  const trajectories = samples.map(({ reward, length, logprob, more }, i) => ({
    ...testTrajectory(reward, { length: length ?? 2 + i, logprob: logprob ?? -1 - 0.1 * i, success: reward > 0.5 }),
    ...more,
  }))
  for (const trajectory of trajectories) trajectory.rewardParts = { ...extraParts, ...trajectory.rewardParts }
  return { problem: trajectories[0].problem, trajectories }
}

/** What the loop would do: learn, score, refine, weigh, and evaluate, the policy having moved by `drift` since scoring. */
function stepOf(
  algorithm: Algorithm,
  groups: readonly Group[],
  options: { drift?: number; mismatch?: number; context?: LearnContext } = {},
): { sequences: TrainSequence[]; tokens: LossTokens; value: number; gradient: Float64Array; result: object } {
  const { drift = 0.3, mismatch = 0.2, context = { ...FIRST_STEP, step: 100 } } = options
  const random = createRandom(5)
  const lesson = algorithm.learn(groups, context)
  const jitter = (base: Float32Array, mask: Uint8Array, by: number): Float32Array =>
    base.map((value, t) => (mask[t] ? Math.min(-0.01, value + by * random.normal()) : 0))
  const scored = lesson.sequences.map((sequence) => {
    const { mask, logprobs } = sequence
    const draw = (): Float32Array => Float32Array.from(mask, (trained) => (trained ? random.normal() : 0))
    const [old, reference, values] = [jitter(logprobs, mask, mismatch), jitter(logprobs, mask, 0.2), draw()]
    return {
      ...sequence,
      ...(algorithm.needs.old ? { oldLogprobs: old } : {}),
      ...(algorithm.needs.reference ? { referenceLogprobs: reference } : {}),
      ...(algorithm.needs.values ? { values } : {}),
    }
  })
  const sequences = algorithm.weigh(algorithm.refine?.(scored, context) ?? scored)
  const at = sequences.flatMap(({ mask }, i) => [...mask].flatMap((trained, t) => (trained ? [[i, t]] : [])))
  const pick = (of: (sequence: TrainSequence) => ArrayLike<number>): Float64Array =>
    Float64Array.from(at, ([i, t]) => of(sequences[i])[t])
  const drifts = createRandom(6)
  const oldLogprobs = pick((s) => s.oldLogprobs ?? s.logprobs)
  const tokens: LossTokens = {
    logprobs: oldLogprobs.map((value) => Math.min(-0.01, value + drift * drifts.normal())),
    oldLogprobs,
    behaviourLogprobs: pick((s) => s.logprobs),
    ...(algorithm.needs.reference ? { referenceLogprobs: pick((s) => s.referenceLogprobs!) } : {}),
    advantages: pick((s) => s.advantages),
    weights: pick((s) => s.weights),
    segments: Int32Array.from(at, ([i]) => i),
    sequences: sequences.map(({ info }) => info!),
    entropy: oldLogprobs.map((value) => -value),
    ...(algorithm.needs.values
      ? {
          values: pick((s) => s.values!).map((value) => value + 0.1),
          oldValues: pick((s) => s.values!),
          returns: pick((s) => s.returns!),
        }
      : {}),
  }
  const result = algorithm.loss.evaluate(tokens)
  return { sequences, tokens, value: result.value, gradient: result.gradient, result }
}

const groups = [
  groupOf([{ reward: 1 }, { reward: 0 }, { reward: 0.4 }, { reward: 0 }]),
  groupOf([{ reward: 1 }, { reward: 0.9 }, { reward: 0.8 }, { reward: 0.1 }]),
  groupOf([{ reward: 0.7 }, { reward: 0.7 }]),
]

test('names are unique, kebab case, and every objective is made by its defaults', () => {
  const names = pg.policyGradientObjectives.map(({ name }) => name)
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  )
  for (const declared of pg.policyGradientObjectives as readonly Objective<Kind>[]) {
    assert.match(declared.name, /^[a-z0-9]+(-[a-z0-9]+)*$/)
    assert.equal(declared.family, 'policy-gradient')
    assert.ok(declared.make(declared.options.parse({}) as never), declared.name)
    assert.ok(!declared.options.safeParse({ nonsense: 1 }).success, `${declared.name} takes any option`)
  }
})

for (const { name } of methods) {
  test(`${name}: finite on ordinary groups and on every edge`, () => {
    const edges: Group[][] = [
      groups,
      [],
      [groupOf([{ reward: 1 }])],
      [groupOf([{ reward: 1 }, { reward: 1 }])],
      [groupOf([{ reward: 0 }, { reward: 0 }]), groupOf([{ reward: 1 }, { reward: 1 }])],
      [
        groupOf([
          { reward: 1, length: 0 },
          { reward: 0, length: 2 },
          { reward: 0, length: 0 },
        ]),
      ],
      [
        groupOf([
          { reward: 1, length: 0 },
          { reward: 0, length: 0 },
        ]),
      ],
      [groupOf([{ reward: 1e30 }, { reward: -1e30 }, { reward: 0 }])],
    ]
    edges.forEach((edge, e) => {
      for (const drift of [0, 0.3, 30]) {
        let step
        try {
          step = stepOf(make(name), edge, { drift })
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'numeric', `${name}, edge ${e}: ${String(error)}`)
          continue
        }
        assert.ok(Number.isFinite(step.value), `${name}, edge ${e}: value ${step.value}`)
        assert.ok(step.gradient.every(Number.isFinite), `${name}, edge ${e}: gradient`)
        for (const { advantages, weights } of step.sequences)
          assert.ok(advantages.every(Number.isFinite) && weights.every(Number.isFinite), `${name}, edge ${e}`)
      }
    })
  })

  test(`${name}: the same groups and context give the same lesson, and the groups are not changed`, () => {
    const before = JSON.stringify(groups)
    const [first, second] = [1, 2].map(() => stepOf(make(name), groups))
    assert.deepEqual(first.sequences, second.sequences)
    assert.equal(JSON.stringify(groups), before)
  })
}

test('no two methods have the same gradient on the same samples', () => {
  const stale = groups.map((group, g) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory, i) => ({
      ...trajectory,
      version: g === 0 && i === 0 ? 0 : 9,
      stopReason: g === 1 && i === 1 ? ('length' as const) : ('stop' as const),
      rewardParts: { ...trajectory.rewardParts, 'demonstration-likeness': 0.2 * i },
    })),
  }))
  // More than 3 deviations away, for stable-reinforce.
  const samples = [
    ...stale,
    groupOf([
      { reward: 9, length: 1 },
      { reward: 0, length: 40 },
    ]),
  ]
  // By name, gspo-token has the gradient of gspo where a sequence has one advantage; rloo differs by G / (G - 1) and so on.
  const seen = new Map<string, string>()
  for (const { name } of methods) {
    const lesson = stepOf(make(name), samples, { mismatch: 0.8, drift: 1 })
    const key = [...lesson.gradient].map((slope) => slope.toPrecision(6)).join()
    const twin = seen.get(key)
    if (twin !== undefined) assert.deepEqual([twin, name], ['gspo', 'gspo-token'])
    seen.set(key, name)
  }
})

test('a method keeps its own defaults of shared options', () => {
  const defaults = (name: string): Record<string, unknown> =>
    methods.find((candidate) => candidate.name === name)!.options.parse({}) as Record<string, unknown>
  assert.equal(defaults('dapo').clipHigh, 0.28)
  assert.equal(defaults('vapo').valueWarmup, 50)
  assert.equal(defaults('ppo').klInReward, 0.05)
  assert.equal(defaults('opsm').klEstimator, 'unbiased')
  assert.equal(defaults('reinforce-plus-plus-baseline').klEstimator, 'k2')
})

test('rewards where they fall: at the end, at the end of turns, at tokens', () => {
  const trajectory: Trajectory = {
    ...testTrajectory(1, { length: 4 }),
    mask: Uint8Array.of(0, 1, 1, 0, 1, 0),
    turnRewards: [0.25, 0.5],
    tokenRewards: Float32Array.of(9, 0, 2, 9, -1, 9),
  }
  const placed = (source: pg.RewardSource): number[] => [
    ...pg.placedRewards(source)([{ problem: trajectory.problem, trajectories: [trajectory] }])[0][0],
  ]
  assert.deepEqual(placed('outcome'), [0, 0, 0, 0, 1, 0])
  assert.deepEqual(placed('turn'), [0, 0, 0.25, 0, 0.75, 0])
  assert.deepEqual(placed('token'), [0, 0, 2, 0, -1, 0])
})

test('grpo with its options is the grpo of the folder above, compiled', () => {
  const [ours, theirs] = [make('grpo'), plainGrpo()].map((algorithm) => stepOf(algorithm, groups))
  assert.deepEqual(ours.gradient, theirs.gradient)
  assert.equal(make('grpo').loss.compiled?.kind, 'clipped')
  assert.deepEqual(make('grpo', { klCoefficient: 0.1 }).needs, { reference: 'initial' })
  const options = { klCoefficient: 0.1, klEstimator: 'k2', clipHigh: 0.3, aggregation: 'fixed-length', fixedLength: 9 }
  const set = stepOf(make('grpo', options), groups)
  assert.deepEqual(set.gradient, stepOf(plainGrpo(options as never), groups).gradient)
  const dual = stepOf(make('grpo', { dualClip: 1.3 }), groups)
  assert.notDeepEqual(dual.gradient, ours.gradient)
})

test('reinforce: the four baselines by hand', () => {
  const two = [groupOf([{ reward: 1 }, { reward: 0 }]), groupOf([{ reward: 1 }, { reward: 1 }])]
  const advantages = (baseline: string): number[] =>
    make('reinforce', { baseline })
      .learn(two)
      .advantages.flat()
      .map((tokens) => tokens[2])
  all(advantages('none'), [1, 0, 1, 1])
  all(advantages('batch'), [0.25, -0.75, 0.25, 0.25])
  all(advantages('group'), [0.5, -0.5, 0, 0])
  const running = make('reinforce', { rate: 0.5 })
  const first = running.learn(two)
  all(
    first.advantages.flat().map((tokens) => tokens[2]),
    [0.25, -0.75, 0.25, 0.25],
  )
  // The mean is carried in the state: 0.75 + 0.5 (0 - 0.75) after a step without reward.
  const failed = [groupOf([{ reward: 0 }, { reward: 0 }])]
  const second = running.learn(failed, { step: 2, seed: 0, state: first.state ?? null })
  near(second.advantages[0][0][2], -0.75)
  assert.deepEqual(second.state, { 'running-baseline': { mean: 0.375 } })
})

test('rloo: sequence ratios, and a divergence that is part of the reward', () => {
  const byToken = stepOf(make('rloo'), groups)
  const bySequence = stepOf(make('rloo', { ratio: 'sequence' }), groups)
  assert.notDeepEqual(byToken.gradient, bySequence.gradient)
  near(byToken.sequences[0].advantages[2], 1 - 0.4 / 3)
  const algorithm = make('rloo', { klInReward: 0.5 })
  assert.deepEqual(algorithm.needs, { reference: 'initial', old: true })
  const sequence = (reward: number, divergence: number): TrainSequence => ({
    tokens: [1, 2],
    mask: Uint8Array.of(0, 1),
    logprobs: Float32Array.of(0, -1),
    oldLogprobs: Float32Array.of(0, -1),
    referenceLogprobs: Float32Array.of(0, -1 - divergence),
    advantages: new Float32Array(2),
    weights: new Float32Array(2),
    info: { group: 0, role: 'sample', reward, task: '', language: '' },
  })
  const [first, second] = algorithm.refine!([sequence(1, 2), sequence(0.5, 0)])
  all([first.advantages[1], second.advantages[1]], [-0.5, 0.5])
  assert.throws(() => algorithm.refine!([{ ...sequence(1, 2), referenceLogprobs: undefined }]), { code: 'usage' })
})

test('dr-grpo: no deviation, and a weight that does not know the length', () => {
  const { sequences } = stepOf(make('dr-grpo', { fixedLength: 10 }), groups.slice(0, 1))
  near(sequences[0].advantages[2], 1 - 0.35)
  sequences.forEach(({ weights, mask }) => near(weights[mask.lastIndexOf(1)], 1 / 40))
})

test('dapo: groups are kept by verdict, and the soft punishment gives no variance to a group that all solved', () => {
  const solved = groupOf([
    { reward: 1, length: 2 },
    { reward: 0.9, length: 8 },
  ])
  const mixed = groupOf([
    { reward: 1, length: 2 },
    { reward: 0, length: 8 },
  ])
  const overlong = { maxTokens: 8, marginTokens: 4 }
  const lesson = make('dapo', { overlong }).learn([solved, mixed])
  assert.deepEqual(
    lesson.origins.map(({ group }) => group),
    [1, 1],
  )
  assert.equal(lesson.sequences[1].info!.reward, -1)
  assert.equal(lesson.metrics?.['mixed-groups.keptGroups'], 1)
  const byReward = make('dapo', { overlong, metric: 'reward' }).learn([solved, mixed])
  assert.equal(byReward.sequences.length, 4)
  // Truncated replies are silent by default, yet count in the mean of their group.
  mixed.trajectories[1].stopReason = 'length'
  const silent = make('dapo').learn([mixed])
  assert.equal(silent.sequences.length, 1)
  assert.ok(silent.sequences[0].advantages[2] > 0)
})

test('micro-batch-grpo: token means by micro-batch', () => {
  const algorithm = make('micro-batch-grpo', { microBatch: 2 })
  const { sequences } = stepOf(algorithm, groups.slice(0, 1))
  // Lengths 2, 3 and 4, 5.
  all(
    sequences.map(({ weights, mask }) => weights[mask.lastIndexOf(1)]),
    [0.1, 0.1, 1 / 18, 1 / 18],
  )
})

test('lite-ppo and reinforce-plus-plus-baseline: whose deviation divides', () => {
  const quiet = groupOf([
    { reward: 0.5, length: 2 },
    { reward: 0.51, length: 2 },
  ])
  const loud = groupOf([
    { reward: 0, length: 2 },
    { reward: 1, length: 2 },
  ])
  const ratio = (name: string, options = {}): number => {
    const [first, second] = make(name, options).learn([quiet, loud]).advantages
    return second[1][2] / first[1][2]
  }
  near(ratio('grpo'), 1, 1e-3)
  near(ratio('lite-ppo'), 100, 1e-2)
  near(ratio('reinforce-plus-plus-baseline'), 100, 1e-2)
  const advantage = (name: string): number => make(name).learn([quiet, loud]).advantages[1][1][2]
  // Raw rewards .5 .51 0 1 have deviation 0.4084; centred ones +-.005 and +-.5 have 0.4083 over 4 trajectories, 0.3780 over 8 tokens.
  near(advantage('lite-ppo'), 0.5 / (0.40835 + 1e-4), 1e-3)
  near(advantage('reinforce-plus-plus-baseline'), 0.5 / 0.37798, 1e-3)
})

test('bnpo: without spread it only centres; with the parameters 3/2 it is GRPO but for a constant', () => {
  const same = make('bnpo').learn([groupOf([{ reward: 1 }, { reward: 0 }])])
  near(same.advantages[0][0][2], 0.5)
  for (const p of [0.1, 0.25, 0.5, 0.9])
    near(pg.betaDensity(p, 1.5, 1.5), (8 / Math.PI) * Math.sqrt(p * (1 - p)), 1e-10)
  near(pg.betaDensity(0.3, 2, 3), 12 * 0.3 * 0.49, 1e-10)
  near(pg.logGamma(5), Math.log(24), 1e-12)
  // Rates 0.2 0.4 0.6: mu 0.4, v 0.04, so total 5 and alpha = 1 + 2 / 3, beta = 2.
  const { alpha, beta } = pg.betaParameters([0.2, 0.4, 0.6])
  all([alpha, beta], [5 / 3, 2], 1e-9)
})

test('ppo: the head is asked for, returns are set, whitened over the step, warm-up silences the policy', () => {
  const algorithm = make('ppo')
  assert.deepEqual(algorithm.needs, { values: true, old: true, reference: 'initial' })
  assert.equal(algorithm.loss.reads?.values, true)
  const { sequences, result } = stepOf(algorithm, groups)
  assert.ok((result as { valueGradient: Float64Array }).valueGradient.some((slope) => slope !== 0))
  const kept = sequences.flatMap(({ advantages, mask }) => [...advantages].filter((_, t) => mask[t]))
  near(
    kept.reduce((sum, advantage) => sum + advantage / kept.length, 0),
    0,
  )
  assert.ok(sequences.every(({ returns, mask }) => returns![mask.lastIndexOf(1)] !== 0))
  const warm = stepOf(make('ppo', { valueWarmup: 5 }), groups, { context: { ...FIRST_STEP, step: 5 } })
  assert.ok(warm.gradient.every((slope) => slope === 0 || Object.is(slope, -0)))
  const entropic = stepOf(make('ppo', { entropyCoefficient: 0.01 }), groups)
  const slopes = (entropic.result as { entropyGradient: Float64Array }).entropyGradient
  slopes.forEach((slope, t) => near(slope, -0.01 * entropic.tokens.weights[t]))
})

test('ppo: a divergence term is counted once', () => {
  const base = stepOf(make('ppo', { klInReward: 0 }), groups)
  const term = stepOf(make('ppo', { klInReward: 0, klCoefficient: 0.5, klEstimator: 'k1' }), groups)
  // Slope of k1: the coefficient times the weight.
  term.gradient.forEach((slope, t) => near(slope - base.gradient[t], 0.5 * base.tokens.weights[t], 0.2))
})

test('vapo: correct replies are learnt by likelihood as well, lambda follows the length', () => {
  const options = { valueWarmup: 0, alpha: 1 }
  const without = stepOf(make('vapo', { ...options, positiveCoefficient: 0 }), groups)
  const withLikelihood = stepOf(make('vapo', options), groups)
  const positive = without.tokens.sequences!.map(({ reward }) => reward > 0)
  const count = without.tokens.segments.reduce((sum, segment) => sum + Number(positive[segment]), 0)
  without.gradient.forEach((slope, t) =>
    near(withLikelihood.gradient[t] - slope, positive[without.tokens.segments[t]] ? -0.1 / count : 0),
  )
  const warm = stepOf(make('vapo'), groups, { context: { ...FIRST_STEP, step: 50 } })
  assert.ok(warm.gradient.every((slope) => Math.abs(slope) === 0))
})

test('selections: what sampler and trainer disagree on', () => {
  const sequence: TrainSequence = {
    tokens: [0, 1, 2, 3],
    mask: Uint8Array.of(0, 1, 1, 1),
    logprobs: Float32Array.of(0, -1, -1, -1),
    oldLogprobs: Float32Array.of(0, -1, -1 + Math.log(8), -1 + Math.log(0.25)),
    advantages: new Float32Array(4),
    weights: new Float32Array(4),
  }
  const of = (name: string, options: Record<string, unknown> = {}): number[] => {
    const part = pg.policyGradientObjectives.find((o) => o.name === name) as Objective<'selection'>
    return [...part.make(part.options.parse(options) as never)([sequence])[0]].slice(1)
  }
  all(of('truncated-importance'), [1, 2, 0.25])
  all(of('truncated-importance', { level: 'sequence', high: 9 }), [2, 2, 2])
  all(of('truncated-importance', { level: 'geometric' }), [2 ** (1 / 3), 2 ** (1 / 3), 2 ** (1 / 3)])
  all(of('masked-importance'), [2, 2, 2])
  all(of('masked-importance', { high: 1.5 }), [0, 0, 0])
  all(of('icepop-mask'), [1, 0, 0])
  all(of('icepop-mask', { high: 9, weighted: false }), [1, 1, 0])
  all(of('behaviour-weight'), [1, 0, 0.25])
  all(of('behaviour-weight', { beyond: 'clamp' }), [1, 5, 0.25])
  all(of('behaviour-weight', { beyond: 'none' }), [1, 8, 0.25])
  const { oldLogprobs: _, ...unscored } = sequence
  assert.throws(() => pg.mismatchRatios(unscored, 'token'), { code: 'usage' })
})

test('staleness: who may begin, who is silenced, and proximal logprobs between two policies', () => {
  const may = (submitted: number, version: number): boolean =>
    pg.mayBegin({ submitted, batchSize: 32, version, maxStaleness: 2 })
  assert.deepEqual([may(95, 0), may(96, 0), may(96, 1)], [true, false, true])
  const group = groupOf([
    { reward: 1, more: { version: 3 } },
    { reward: 0, more: { version: 8 } },
  ])
  const lesson = make('decoupled-ppo').learn([group])
  assert.deepEqual(lesson.origins, [{ group: 0, trajectory: 1 }])
  assert.ok(lesson.sequences[0].advantages[3] < 0, 'the silenced one still counts in the mean')
  // Exactly as far behind as allowed is still learnt from.
  assert.equal(make('decoupled-ppo', { maxStaleness: 5 }).learn([group]).sequences.length, 2)
  const versions = { behaviour: 2, proximal: 3, current: 6 }
  all(pg.loglinearProximal([-1], [-3], versions), [-2.5])
})

test('stable-reinforce: outlying advantages are dropped', () => {
  const samples = [
    ...groups,
    groupOf([
      { reward: 50, length: 1 },
      { reward: 0, length: 60 },
    ]),
  ]
  const advantages = (sigma: number): number[] =>
    stepOf(make('stable-reinforce', { sigma, klInReward: 0 }), samples).sequences.flatMap((s) => [...s.advantages])
  assert.ok(Math.max(...advantages(100)) > 3)
  assert.ok(Math.max(...advantages(3).map(Math.abs)) <= 3)
})

test('grpo-s: what is unlike its demonstration weighs more, and missing parts are named', () => {
  const likeness = (w: number): Partial<Trajectory> => ({
    rewardParts: { 'demonstration-likeness': w, 'demonstration-reward': 1 },
  })
  const group = groupOf([
    { reward: 1, more: likeness(1) },
    { reward: 0, more: likeness(0) },
  ])
  const [[first, second]] = make('grpo-s').learn([group]).advantages
  const [[plain]] = make('grpo').learn([group]).advantages
  const s = (x: number): number => 1 / (1 + Math.exp(-x))
  near(first[2] / plain[2], s(0) / s(0.5))
  near(-second[2] / plain[2], s(1) / s(0.5))
  near(pg.responsiveness([0, 0, 3], 2), s(0) / s(1))
  assert.equal(pg.responsiveness([-5, 5], 1), 1)
  for (const { rewardParts } of group.trajectories) delete rewardParts['demonstration-likeness']
  assert.throws(() => make('grpo-s').learn([group]), { code: 'usage' })
})

test('a-lol: what is worse than the head expected is not learnt from', () => {
  const { sequences } = stepOf(make('a-lol'), groups)
  for (const { advantages, values, mask, info, returns } of sequences) {
    const start = mask.indexOf(1)
    near(advantages[start], Math.max(0, info!.reward - values![start]))
    near(returns![start], info!.reward)
  }
  const [[best, worst]] = make('a-lol', { baseline: 'group-mean' }).learn(groups).advantages
  near(best[2], 0.65)
  assert.ok(worst.every((advantage) => advantage === 0))
  assert.deepEqual(make('a-lol-ref-free', { baseline: 'group-mean' }).needs, {})
  assert.deepEqual(make('r-lol').needs, { reference: 'initial' })
  // A below the coefficient is pushed down.
  const kl = stepOf(make('a-lol-kl', { baseline: 'group-mean', klCoefficient: 0.7 }), groups.slice(0, 1))
  kl.gradient.forEach((slope, t) => near(slope, kl.tokens.weights[t] * (0.7 - kl.tokens.advantages[t])))
})

test('remax, opo and gpg: their baselines by hand', () => {
  const group = groupOf([
    { reward: 1, length: 3, logprob: -2 },
    { reward: 0, length: 1, logprob: -0.5 },
    { reward: 0.5, length: 4, logprob: -1 },
  ])
  const advantages = (name: string): number[] =>
    make(name)
      .learn([group])
      .advantages[0].map((tokens) => tokens[2])
  all(advantages('remax'), [1, 0, 0.5])
  const [tokens] = make('remax').learn([{ ...group, greedyReward: 0.25 }]).advantages
  all(
    tokens.map((token) => token[2]),
    [0.75, -0.25, 0.25],
  )
  assert.deepEqual(make('remax').needs, { greedy: true })
  // All right, and the greedy reply wrong: a group baseline has nothing to say.
  const alike = groupOf([{ reward: 1 }, { reward: 1 }])
  const better = make('remax').learn([{ ...alike, greedyReward: 0 }])
  all(
    better.sequences.map(({ advantages: row }) => row[2]),
    [1, 1],
  )
  all(advantages('opo'), [1 - 5 / 8, -5 / 8, 0.5 - 5 / 8])
  all(advantages('gpg'), [0.75, -0.75, 0])
})
