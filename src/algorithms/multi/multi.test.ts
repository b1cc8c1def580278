import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import { compose } from '../compose.js'
import { clippedLoss } from '../clipped.js'
import { groupAdvantages } from '../advantages.js'
import { grpo } from '../grpo.js'
import type { Algorithm, Group } from '../types.js'
import * as multi from './index.js'
import { contextOf, firstAdvantages, groupOf, learnt, turnsTrajectory, withParts } from './testing.js'
import { testGroup, testTrajectory } from '../testing.js'

interface Fixture {
  weights: number[]
  lengths: number[]
  cases: { by: string; how: string; rewards: (number | null)[][]; advantages: number[] }[]
}
const fixture = JSON.parse(
  readFileSync(new URL('../../../src/algorithms/multi/multi.fixture.json', import.meta.url), 'utf8'),
) as Fixture

const close = (actual: readonly number[], expected: readonly number[], tolerance = 1e-6): void => {
  assert.equal(actual.length, expected.length)
  actual.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= tolerance, `entry ${i}: ${value}, expected ${expected[i]}`),
  )
}

const rowOf = (values: readonly (number | null)[]): Record<string, number> =>
  Object.fromEntries(values.flatMap((value, n) => (value === null ? [] : [[`r${n}`, value] as const])))

test('advantages of several rewards are those of TRL and verl', () => {
  const weights = Object.fromEntries(fixture.weights.map((weight, n) => [`r${n}`, weight]))
  for (const { by, how, rewards, advantages } of fixture.cases) {
    const trajectories = rewards.map((row, i) => withParts(rowOf(row), fixture.lengths[i]))
    const groups = [groupOf(trajectories.slice(0, 4)), groupOf(trajectories.slice(4))]
    const method: Algorithm = how.startsWith('sum')
      ? multi.rewardSum.make(
          multi.rewardSum.options.parse({ weights, normalization: how.endsWith('mean') ? 'mean' : 'mean-std' }),
        )
      : multi.gdpo.make(
          multi.gdpo.options.parse({
            weights,
            ...(by === 'verl' ? { whitening: 'tokens', epsilon: 1e-6 } : {}),
          }),
        )
    close(learnt(method, groups).flat(), advantages, 2e-5)
  }
})

test('GDPO tells apart what a sum of rewards does not', () => {
  const parts = [
    { easy: 1, hard: 0 },
    { easy: 0, hard: 1 },
    { easy: 1, hard: 1 },
    { easy: 1, hard: 0 },
  ]
  const groups = [groupOf(parts.map((part) => withParts(part)))]
  const [sum] = learnt(multi.rewardSum.make(multi.rewardSum.options.parse({})), groups)
  const [separate] = learnt(multi.gdpo.make(multi.gdpo.options.parse({})), groups)
  assert.equal(sum[0], sum[1])
  assert.ok(Math.abs(separate[0] - separate[1]) > 0.1)
})

test('stratified rewards never lift a wrong answer over a right one; the weight of a prompt is on A', () => {
  const random = createRandom(4)
  for (let round = 0; round < 50; round++) {
    const verified = Array.from({ length: 6 }, () => random.uniform() < 0.5)
    const scores = Array.from({ length: 6 }, () => 100 * random.normal())
    const shaped = multi.stratify(verified, scores)
    shaped.forEach((value, i) => {
      assert.ok(verified[i] ? value >= 0.95 && value <= 1.05 : value >= -0.05 && value <= 0.05)
    })
  }
  assert.equal(multi.stratify([true], [3])[0], 0.95)
  assert.ok(Math.abs(multi.promptWeight(2, 2) - 1.7) < 1e-12)

  const graded = (scores: readonly number[]): Group =>
    groupOf(
      scores.map((score, i) => ({
        ...withParts({ task: score }),
        outcome: { reward: score, success: i === 0, wellFormed: true },
      })),
    )
  const groups = [graded([1, 0.1, 0.2]), graded([9, 0, 3])]
  const method = multi.hybridReward.make(multi.hybridReward.options.parse({}))
  const lesson = method.learn(groups, contextOf())
  const [narrow, wide] = firstAdvantages(lesson, groups)
  const plain = learnt(grpo(), groups)
  assert.ok(wide[0] / plain[1][0] > narrow[0] / plain[0][0], 'the prompt whose scores disagree weighs more')
  const sigma = (lesson.state as { 'prompt-weight': { meanSigma: number } })['prompt-weight'].meanSigma
  const later = method.learn([groups[0]], contextOf(lesson.state)).state as typeof lesson.state
  const after = (later as { 'prompt-weight': { meanSigma: number } })['prompt-weight'].meanSigma
  assert.ok(after < sigma && after > 0.89 * sigma, 'the running mean moves by a tenth')
})

test('a factor on all rewards of a group cancels in GRPO, which is why weights act on advantages', () => {
  const group = testGroup([0, 1, 0.4])
  const doubled = { ...group, trajectories: group.trajectories.map((t) => ({ ...t, reward: 2 * t.reward })) }
  close(learnt(grpo(), [doubled])[0], learnt(grpo(), [group])[0], 1e-5)
})

test('by task, advantages of tokens have mean 0 and variance 1, long trajectories weighing more', () => {
  const groups = [
    groupOf([testTrajectory(0, { length: 1 }), testTrajectory(1, { length: 6 })], { task: 'a' }),
    groupOf([testTrajectory(0, { length: 2 }), testTrajectory(100, { length: 2 })], { task: 'b', language: 'sw' }),
    groupOf([testTrajectory(3, { length: 2 }), testTrajectory(1, { length: 5 })], { task: 'a', language: 'sw' }),
  ]
  const lesson = multi.agentRl.make(multi.agentRl.options.parse({ normalization: 'mean' })).learn(groups, contextOf())
  for (const tasks of [[0, 2], [1]]) {
    const values = tasks.flatMap((g) =>
      groups[g].trajectories.flatMap(({ mask }, i) => [...lesson.advantages[g][i]].filter((_, t) => mask[t])),
    )
    const mean = values.reduce((sum, value) => sum + value / values.length, 0)
    assert.ok(Math.abs(mean) < 1e-6)
    assert.ok(Math.abs(values.reduce((sum, value) => sum + value ** 2 / values.length, 0) - 1) < 1e-4)
  }
  const byLanguage = multi.languageNormalizedGrpo.make(
    multi.languageNormalizedGrpo.options.parse({ normalization: 'mean' }),
  )
  assert.notDeepEqual(learnt(byLanguage, groups), firstAdvantages(lesson, groups))
})

test('coupled groups share their mean over languages, and only those of one task and key', () => {
  const english = { task: 'sum', key: '1+1', language: 'en' }
  const groups = [
    groupOf([testTrajectory(1), testTrajectory(1)], english),
    groupOf([testTrajectory(0), testTrajectory(0)], { ...english, language: 'sw' }),
    groupOf([testTrajectory(0), testTrajectory(1)], { ...english, key: '2+2' }),
  ]
  const coupled = learnt(multi.lcrl.make(multi.lcrl.options.parse({})), groups)
  assert.ok(coupled[0][0] > 0.8 && coupled[1][1] < -0.8, 'one language is told that it lags')
  const apart = learnt(grpo(), groups)
  assert.deepEqual(apart[0], [0, 0])
  close(coupled[2], apart[2])
})

test('wrong answers that agree are punished, right and lonely ones are not', () => {
  assert.equal(multi.trigramRecall('abcd', 'abce'), 0.5)
  assert.equal(multi.trigramRecall('aaa', 'aaaa'), 0.5)
  assert.equal(multi.trigramRecall('x', ''), 0)
  close(multi.antiConsistency(['Paris', 'Lyon city', 'Lyon city'], [1, 0, 0]), [0, -0.2, -0.2])
  close(multi.antiConsistency(Array<string>(9).fill('same'), Array<number>(9).fill(0)), Array<number>(9).fill(-0.5))
  assert.deepEqual(multi.antiConsistency(['alone', 'right'], [0, 1]), [0, 0])
  assert.deepEqual(multi.antiConsistency(['abcdef', 'uvwxyz'], [0, 0]), [0, 0])
})

test('the worst part by batch means is not the least part of each sample', () => {
  const parts = [
    { a: 1, b: 0 },
    { a: 0, b: 0.5 },
    { a: 0.8, b: 0.6 },
  ]
  const groups = [groupOf(parts.map((part) => withParts(part)))]
  const of = (method: Algorithm): number[] => learnt(method, groups)[0]
  const normalized = (rewards: readonly number[]): number[] => learnt(grpo(), [testGroup(rewards)])[0]
  close(of(multi.maxminRlhf.make(multi.maxminRlhf.options.parse({}))), normalized([0, 0.5, 0.6]))
  close(of(multi.minimumRewardMethod.make(multi.minimumRewardMethod.options.parse({}))), normalized([0, 0, 0.6]))
  assert.equal(multi.minimumReward([0.3, 1, 2]), 0.3)
  const soft = multi.minimumReward([0, 1], 0.1)
  assert.ok(soft > 0 && soft < 0.5)
})

test('of languages, maxmin learns the worst alone and group DRO all, the worst most', () => {
  const groups = [
    groupOf([testTrajectory(1), testTrajectory(0.5)], { language: 'en' }),
    groupOf([testTrajectory(0), testTrajectory(0.5)], { language: 'sw' }),
  ]
  const options = { over: 'language' }
  const alone = learnt(multi.maxminRlhf.make(multi.maxminRlhf.options.parse(options)), groups)
  assert.deepEqual(alone[0], [0, 0])
  assert.ok(alone[1][1] > 0.5)
  const dro = multi.groupDroMethod.make(multi.groupDroMethod.options.parse({ rate: 1 }))
  const first = dro.learn(groups, contextOf())
  const second = dro.learn(groups, contextOf(first.state))
  const share = (lesson: typeof first): number => {
    const [english, swahili] = firstAdvantages(lesson, groups)
    return Math.abs(swahili[0]) / Math.abs(english[0])
  }
  assert.ok(Math.abs(share(first) - Math.exp(0.5)) < 1e-4)
  assert.ok(Math.abs(share(second) - Math.exp(1)) < 1e-4, 'weights are remembered')
})

test('dual ascent raises lambda while the budget is exceeded, and lets it fall', () => {
  const groups = [groupOf([testTrajectory(1, { length: 10 }), testTrajectory(0, { length: 30 })])]
  const method = multi.lagrangian.make(multi.lagrangian.options.parse({ budget: 15, rate: 0.1, normalize: false }))
  const first = method.learn(groups, contextOf())
  assert.deepEqual(first.state, { 'lagrangian-penalty': { lambda: 0.5 } })
  assert.equal(first.metrics?.['lagrangian-penalty.meanCost'], 20)
  const second = method.learn(groups, contextOf(first.state))
  assert.equal(second.sequences[0].info?.reward, 1 - 0.5 * 10)
  const relaxed = method.learn(
    [groupOf([testTrajectory(1, { length: 1 }), testTrajectory(0, { length: 1 })])],
    contextOf(second.state),
  )
  assert.deepEqual(relaxed.state, { 'lagrangian-penalty': { lambda: 0 } })
  assert.deepEqual(method.learn([], contextOf(first.state)).state, first.state)
})

test('costs mixed as advantages do not depend on their scale, costs mixed as rewards do', () => {
  const groupsOf = (unit: number): Group[] => [
    groupOf([
      { ...testTrajectory(1), outcome: { reward: 1, success: true, wellFormed: true, metrics: { price: unit } } },
      { ...testTrajectory(0), outcome: { reward: 0, success: true, wellFormed: true, metrics: { price: 9 * unit } } },
      { ...testTrajectory(1), outcome: { reward: 1, success: true, wellFormed: true, metrics: { price: 8 * unit } } },
    ]),
  ]
  const of = (declared: typeof multi.lagrangian | typeof multi.lagrangianAdvantages, unit: number): number[] => {
    const options = { budget: 4 * unit, cost: 'price', initial: 0.5 }
    const method = (declared as typeof multi.lagrangian).make(declared.options.parse(options) as never)
    return learnt(method, groupsOf(unit))[0]
  }
  close(of(multi.lagrangianAdvantages, 1), of(multi.lagrangianAdvantages, 100), 1e-5)
  assert.ok(Math.abs(of(multi.lagrangian, 1)[2] - of(multi.lagrangian, 100)[2]) > 0.01)
  const method = multi.lagrangianAdvantages.make(
    multi.lagrangianAdvantages.options.parse({ budget: 4, cost: 'price', initial: 0.5 }),
  )
  const { state } = method.learn(groupsOf(1), contextOf())
  assert.deepEqual(state, { 'lagrangian-advantages': { lambda: 0.5 + 0.05 * 0.5 } })
})

test('a PID controller without P and D is dual ascent', () => {
  const random = createRandom(1)
  const shared = { budget: 5, delay: 3, decay: 0.9, ceiling: 1e9 }
  let integral: multi.PidState | null = null
  let full: multi.PidState | null = null
  let lambda = 0
  for (let step = 0; step < 60; step++) {
    const cost = 5 + 3 * random.normal()
    integral = multi.pidStep(integral, cost, { ...shared, proportional: 0, integral: 0.02, derivative: 0 })
    full = multi.pidStep(full, cost, { ...shared, proportional: 0.5, integral: 0.02, derivative: 0.5 })
    lambda = multi.dualStep(lambda, cost, { budget: 5, rate: 0.02 })
    assert.ok(Math.abs(integral.lambda - lambda) < 1e-9)
    assert.ok(full.lambda >= 0 && full.history.length <= 3)
  }
  assert.notEqual(full!.lambda, integral!.lambda)
})

test('LACONIC: the primal cost is clipped, the dual sees the signed mean', () => {
  const groups = [groupOf([testTrajectory(1, { length: 15 }), testTrajectory(1, { length: 1 })])]
  const method = multi.laconic.make(multi.laconic.options.parse({ budget: 10, rate: 0.5, initial: 0.4 }))
  const lesson = method.learn(groups, contextOf())
  assert.deepEqual(
    lesson.sequences.map(({ info }) => info!.reward),
    [1 - 0.4 * 0.5, 1],
  )
  const { lambda } = (lesson.state as { 'laconic-penalty': { lambda: number } })['laconic-penalty']
  assert.ok(Math.abs(lambda - 0.3) < 1e-12, 'mean length 8 is below the budget although one reply exceeds it')
  const lagrangian = multi.lagrangian.make(
    multi.lagrangian.options.parse({ budget: 10, initial: 0.4, normalize: false }),
  )
  assert.notEqual(lagrangian.learn(groups, contextOf()).sequences[1].info!.reward, 1)
  const capped = multi.laconicPenalty(1e6, { budget: 1, lambda: 1, cap: 0.04 })
  assert.equal(capped, 0.04)
})

test('Homura pays for the band, by the distance to the farther bound outside', () => {
  const band = multi.homuraBand(20)
  assert.equal(multi.homuraDuration(0.9, band), 1)
  assert.ok(Math.abs(multi.homuraDuration(0.9 + 1e-9, band) - Math.exp(-1)) < 1e-6)
  assert.ok(multi.homuraBand(4).low < multi.homuraBand(8).low)
  assert.equal(multi.homuraReward({ similarity: 0.9, duration: 1, quality: 1, language: 0 }), 0.5)
  const duration = multi.homura.make(multi.homura.options.parse({})) as (a: number, b: number, n: number) => number
  assert.equal(duration(0, 0, 20), multi.homuraDuration(0, band))
})

test('rewards and costs in one number', () => {
  const of = (kind: (typeof multi.REWARD_COSTS)[number], budget = 10): number[] =>
    multi.rewardCost([1, 1, 0], [8, 12, 4], { kind, budget, weight: 0.1 })
  assert.deepEqual(of('indicator'), [1, 0, 0])
  close(of('decay'), [1, Math.exp(-0.2), 0])
  close(of('hinge'), [1, 0.8, 0])
  close(of('hinge', 2), [0.4, 0, -0.2])
  close(of('conditional', 2), [0.4, 0, 0])
  close(of('barrier', 13), [1 + 0.1 * Math.log(5), 1, 0.1 * Math.log(9)])
  assert.deepEqual(of('lexicographic'), [1, 0, 0.5])
  assert.throws(() => of('barrier'), { code: 'numeric' })
  assert.deepEqual(multi.rewardCost([1], [5], { kind: 'lexicographic', budget: 1, weight: 0 }), [0])
  const groups = [testGroup([1, 1, 0])]
  const method = multi.rewardCostMethod.make(multi.rewardCostMethod.options.parse({ budget: 0, cost: 'absent' }))
  assert.throws(() => method.learn(groups, contextOf()), { code: 'usage' })
})

test('MGDA weights: the closed form, and a direction that no gradient opposes', () => {
  close(
    multi.minNormWeights([
      [1, -0.5],
      [-0.5, 1.25],
    ]),
    [0.538462, 0.461538],
  )
  close(
    multi.minNormWeights([
      [0, 0],
      [0, 1],
    ]),
    [1, 0],
  )
  const random = createRandom(3)
  for (let round = 0; round < 10; round++) {
    const gradients = Array.from({ length: 4 }, () => Array.from({ length: 6 }, () => random.normal()))
    const gram = gradients.map((a) => gradients.map((b) => a.reduce((sum, x, i) => sum + x * b[i], 0)))
    const weights = multi.minNormWeights(gram, { iterations: 20000 })
    const products = gram.map((row) => row.reduce((sum, entry, j) => sum + entry * weights[j], 0))
    const norm = products.reduce((sum, product, i) => sum + weights[i] * product, 0)
    assert.ok(Math.min(...products) >= norm - 1e-3)
    assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-9)
  }
  assert.throws(() => multi.minNormWeights([[NaN]]), { code: 'numeric' })
})

test('Pareto weights lie on the simplex, change by step alone, and Chebyshev raises the lesser part', () => {
  const groups = [groupOf([withParts({ a: 1, b: 0 }), withParts({ a: 0.4, b: 0.4 }), withParts({ a: 0, b: 1 })])]
  const method = multi.paretoWeights.make(multi.paretoWeights.options.parse({}))
  const weightsAt = (step: number): number[] => Object.values(method.learn(groups, contextOf(null, step)).metrics!)
  assert.ok(Math.abs(weightsAt(1)[0] + weightsAt(1)[1] - 1) < 1e-9)
  assert.deepEqual(weightsAt(1), weightsAt(1))
  assert.notDeepEqual(weightsAt(1), weightsAt(2))
  const best = (scalarization: string): number => {
    const fixed = multi.paretoWeights.make(multi.paretoWeights.options.parse({ weights: [1, 1], scalarization }))
    const [advantages] = learnt(fixed, groups)
    return advantages.indexOf(Math.max(...advantages))
  }
  assert.notEqual(best('linear'), 1)
  assert.equal(best('chebyshev'), 1)
  const wrong = multi.paretoWeights.make(multi.paretoWeights.options.parse({ weights: [1] }))
  assert.throws(() => wrong.learn(groups, contextOf()), { code: 'usage' })
})

test('uncertainty weights settle at 1 / (2 loss), dynamic weights favour what stopped improving', () => {
  let s = -0.5
  for (let step = 0; step < 2000; step++) s = multi.uncertaintyStep(s, 0.25, 0.1)
  assert.ok(Math.abs(1 / (2 * Math.exp(s)) - 2) < 1e-6)
  close(multi.dynamicWeights([1, 0.5], [1, 1], 2), [1.12435300177, 0.87564699822])

  const groupsOf = (a: number, b: number): Group[] => [groupOf([withParts({ a, b }), withParts({ a: 0, b: 0 })])]
  const dynamic = multi.dynamicWeightsMethod.make(multi.dynamicWeightsMethod.options.parse({ decay: 0 }))
  const first = dynamic.learn(groupsOf(0.2, 0.2), contextOf())
  const second = dynamic.learn(groupsOf(0.2, 1), contextOf(first.state))
  assert.deepEqual(Object.values(second.metrics!), [1, 1])
  const { metrics } = dynamic.learn(groupsOf(0.2, 1), contextOf(second.state))
  assert.ok(metrics!['dynamic-weights.weight.a'] > 1.1 && metrics!['dynamic-weights.weight.b'] < 0.9)
  const uncertain = multi.uncertaintyMethod.make(multi.uncertaintyMethod.options.parse({}))
  const { state } = uncertain.learn(groupsOf(0.2, 1.9), contextOf())
  const learntS = (state as { 'uncertainty-weights': Record<string, number> })['uncertainty-weights']
  assert.ok(learntS.a > -0.5 && learntS.b < -0.5)
})

test('duration weights have mean 1 over turns and count answers where asked to', () => {
  const long = turnsTrajectory(1, [1, 3])
  const groups = [groupOf([long, turnsTrajectory(0, [2])])]
  const factorsBy = (measure: string): number[][] => {
    const method = multi.durationAware.make(multi.durationAware.options.parse({ measure }))
    const sequences = method.refine!(method.learn(groups, contextOf()).sequences, contextOf())
    return sequences.map(({ factors, mask }) => [...factors!].filter((_, t) => mask[t]))
  }
  assert.deepEqual(factorsBy('sampled-tokens'), [
    [0.5, 1.5, 1.5, 1.5],
    [1, 1],
  ])
  close(factorsBy('tokens')[0], [6 / 7, 9 / 7, 9 / 7, 9 / 7], 1e-6)
  assert.deepEqual(multi.durationFactors([[0, 0]]), [[1, 1]])
})

test('every declaration has defaults that parse, but for budgets, and every method survives degenerate groups', () => {
  const names = new Set<string>()
  for (const declared of multi.multiObjectives) {
    assert.ok(!names.has(declared.name), `${declared.name} is declared twice`)
    names.add(declared.name)
    const parsed = declared.options.safeParse({})
    const options = parsed.success ? parsed.data : declared.options.parse({ budget: 2 })
    const made = declared.make(options)
    if (declared.kind !== 'method') continue
    const method = made as Algorithm
    const silent = { ...testTrajectory(1), mask: new Uint8Array(5) }
    for (const group of [testGroup([]), testGroup([1]), testGroup([1, 1]), groupOf([silent, testTrajectory(0)])])
      for (const groups of [[], [group], [group, testGroup([1e30, -1e30])]]) {
        const lesson = method.learn(groups, contextOf())
        const refined = method.refine?.(lesson.sequences, contextOf()) ?? lesson.sequences
        for (const { advantages, weights } of method.weigh(refined))
          assert.ok([...advantages, ...weights].every(Number.isFinite), `${declared.name} is not finite`)
      }
  }
})

test('normalizing by task does nothing to one task of one length and spread', () => {
  const groups = [testGroup([0, 1])]
  const plain = compose({ name: 'plain', advantage: groupAdvantages({ normalization: 'mean' }), loss: clippedLoss() })
  const [before] = learnt(plain, groups)
  const [after] = learnt(multi.agentRl.make(multi.agentRl.options.parse({})), groups)
  close(
    after,
    before.map((value) => 2 * value),
    1e-4,
  )
})
