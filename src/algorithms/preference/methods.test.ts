import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIRST_STEP } from '../compose.js'
import type { Objective } from '../objective.js'
import { testTrajectory } from '../testing.js'
import type { Algorithm, Group, Lesson } from '../types.js'
import * as preference from './index.js'
import { groupOf } from './testing.js'

const methods = preference.preferenceObjectives.filter(({ kind }) => kind === 'method') as Objective<'method'>[]

function made(name: string, given: object = {}): Algorithm {
  const declared = methods.find((method) => method.name === name)
  assert.ok(declared, `no method "${name}"`)
  return declared.make(declared.options.parse(given))
}

/** What is compared, as [role, group, trajectory]. */
function compared(lesson: Lesson): string[] {
  return lesson.sequences.map(({ info }, i) => {
    const { group, trajectory } = lesson.origins[i]
    return `${info!.role} ${group}.${trajectory}`
  })
}

test('names are used once, and every declaration is complete', () => {
  const names = preference.preferenceObjectives.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  for (const { name, summary, formula, reference, use, family } of preference.preferenceObjectives) {
    assert.match(name, /^[a-z0-9-]+$/)
    assert.equal(family, 'preference')
    for (const text of [summary, formula, reference, use]) assert.ok(text.length > 10, name)
  }
})

/** Groups of every kind: graded, of equal rewards, of one, with an empty reply. */
function everyKind(): Group[] {
  const graded = groupOf([0.1, 0.9, 0.5, 0.4, 0.2], [3, 5, 2, 4, 1])
  const empty = groupOf([0, 1, 0.5])
  empty.trajectories[1].mask = new Uint8Array(5)
  return [graded, groupOf([1, 1, 1]), groupOf([1]), empty]
}

for (const { name } of methods)
  test(`${name} learns from groups of every kind, again the same`, () => {
    const method = made(name)
    const groups = everyKind()
    const before = JSON.stringify(groups)
    const lesson = method.learn(groups, FIRST_STEP)
    assert.equal(JSON.stringify(groups), before)
    assert.deepEqual(method.learn(groups, FIRST_STEP), lesson)
    assert.ok(lesson.sequences.length > 0)
    assert.equal(lesson.origins.length, lesson.sequences.length)
    assert.equal(lesson.zeroVarianceGroups, 2)
    assert.deepEqual(
      lesson.advantages.map((group) => group.map((row) => row.length)),
      groups.map(({ trajectories }) => trajectories.map(({ tokens }) => tokens.length)),
    )
    const order = lesson.origins.map(({ group }) => group)
    assert.deepEqual(order, [...order].sort(), 'groups are next to each other')
    assert.ok(lesson.sequences.every(({ mask }) => mask.includes(1)))
    const weighed = method.weigh(lesson.sequences)
    assert.ok(Math.abs(weighed.reduce((sum, { weights }) => sum + weights.reduce((a, b) => a + b, 0), 0)) > 0)
    assert.equal(method.learn([]).sequences.length, 0)
    // Its loss takes what the lesson holds, as if the policy were a little off both its samples and its reference.
    const sequences = lesson.sequences
    const places = sequences.flatMap(({ mask }, i) =>
      [...mask.keys()].filter((t) => mask[t]).map((t) => [i, t] as const),
    )
    const row = (pick: (i: number, t: number) => number): Float64Array =>
      Float64Array.from(places, ([i, t]) => pick(i, t))
    const result = method.loss.evaluate({
      logprobs: row((i, t) => -0.9 - 0.05 * ((i + t) % 3)),
      oldLogprobs: row((i, t) => sequences[i].logprobs[t]),
      referenceLogprobs: row(() => -1.05),
      advantages: row((i, t) => sequences[i].advantages[t]),
      weights: row((i, t) => weighed[i].weights[t]),
      segments: Int32Array.from(places, ([i]) => i),
      sequences: sequences.map(({ info }) => info!),
    })
    assert.ok(Number.isFinite(result.value))
    assert.ok(result.gradient.some((slope) => slope !== 0))
  })

test('a reward that is not finite is named', () => {
  assert.throws(() => made('dpo').learn([groupOf([1, NaN])]), { code: 'numeric' })
  assert.throws(() => made('kto').learn([groupOf([1, Infinity])]), { code: 'numeric' })
})

test('the best is compared with the worst; ties and lone replies make no pair', () => {
  const choose = (rewards: number[], pairing: (typeof preference.PAIRINGS)[number], minimumGap = 0): number[][] =>
    preference.choosePairs(rewards, { pairing, minimumGap })
  assert.deepEqual(choose([0.2, 1, 0, 0.5], 'best-worst'), [[1, 2]])
  assert.deepEqual(choose([1, 1], 'best-worst'), [])
  assert.deepEqual(choose([1], 'all'), [])
  assert.deepEqual(choose([0, 1, 0], 'all'), [
    [1, 0],
    [1, 2],
  ])
  assert.deepEqual(choose([0, 0.3], 'best-worst', 0.5), [])
  // Mean 5, population deviation 2.1: the target is 0.8, and 1 is nearer than the outlier below it.
  assert.deepEqual(choose([5, 5, 5, 5, 5, 6, 7, 7, 7, 7, -2, 1, 6, 6], 'near-deviation'), [[6, 11]])
})

test('random pairs depend on seed and step alone, and name the better one chosen', () => {
  const groups = Array.from({ length: 30 }, () => groupOf([0, 1, 2, 3]))
  const method = made('dpo', { pairing: 'random' })
  const of = (seed: number, step: number): string[] => compared(method.learn(groups, { seed, step, state: null }))
  assert.deepEqual(of(1, 1), of(1, 1))
  assert.notDeepEqual(of(1, 1), of(1, 2))
  assert.notDeepEqual(of(1, 1), of(2, 1))
  const { sequences } = method.learn(groups)
  for (let i = 0; i < sequences.length; i += 2) assert.ok(sequences[i].info!.reward > sequences[i + 1].info!.reward)
  assert.ok(new Set(of(1, 1).map((at) => at.slice(-1))).size === 4, 'every reply is drawn now and then')
})

test('advantages for display are wins minus losses', () => {
  const { advantages } = made('dpo', { pairing: 'all' }).learn([groupOf([2, 1, 0])])
  assert.deepEqual(
    advantages[0].map((row) => row.at(-1)),
    [2, 0, -2],
  )
})

test('replies that were cut off may be left out', () => {
  const group = groupOf([1, 0.5, 0])
  group.trajectories[0].stopReason = 'length'
  assert.deepEqual(compared(made('dpo').learn([group])), ['chosen 0.0', 'rejected 0.2'])
  assert.deepEqual(compared(made('dpo', { truncated: 'leave-out' }).learn([group])), ['chosen 0.1', 'rejected 0.2'])
})

test('who needs a reference asks for it', () => {
  for (const name of [
    'cpo',
    'simpo',
    'alphapo',
    'orpo',
    'slic',
    'rebel',
    'refuel',
    'cpl',
    'pairwise-ppo',
    'brpo',
    'sppo',
  ])
    assert.equal(made(name).needs.reference, undefined, name)
  for (const name of ['dpo', 'ipo', 'kto', 'apo-zero', 'nash', 'drpo', 'plackett-luce-dpo', 'croco'])
    assert.equal(made(name).needs.reference, 'initial', name)
  assert.equal(made('dpo', { referenceFree: true }).needs.reference, undefined)
  assert.deepEqual(made('dpo', { referenceRate: 0.5 }).needs.reference, { rate: 0.5 })
})

test('no two methods have the same lesson and the same gradient', () => {
  const groups = [
    groupOf([0.1, 0.9, 0.5, 0.4], [3, 5, 2, 4]),
    groupOf([3, 0, 1, 7], [2, 6, 1, 3]),
    groupOf([0, 1], [1, 5]),
    groupOf([2, 1], [5, 2]),
  ]
  const seen = new Map<string, string>()
  for (const { name } of methods) {
    // CroCo differs from DPO in pools with outliers, REFUEL from REBEL in several turns: see below.
    if (name === 'croco' || name === 'refuel') continue
    const method = made(name)
    const { sequences } = method.learn(groups, FIRST_STEP)
    const places = sequences.flatMap(({ mask }, i) =>
      [...mask.keys()].filter((t) => mask[t]).map((t) => [i, t] as const),
    )
    const row = (pick: (i: number, t: number) => number): Float64Array =>
      Float64Array.from(places, ([i, t]) => pick(i, t))
    const { gradient } = method.loss.evaluate({
      logprobs: row((i, t) => -1.2 + Math.sin(7 * i + 3 * t)),
      oldLogprobs: row((i, t) => sequences[i].logprobs[t]),
      referenceLogprobs: row((i, t) => -1.2 + Math.sin(11 * i + 5 * t)),
      advantages: row((i, t) => sequences[i].advantages[t]),
      weights: row(() => 0.1),
      segments: Int32Array.from(places, ([i]) => i),
      sequences: sequences.map(({ info }) => info!),
    })
    const key = [...gradient].map((slope) => slope.toFixed(8)).join()
    assert.equal(seen.get(key), undefined, `${name} is ${seen.get(key)}`)
    seen.set(key, name)
  }
})

test('CroCo leaves outliers alone where best against worst does not', () => {
  const group = groupOf([5, 5, 5, 5, 5, 6, 7, 7, 7, 7, -2, 1, 6, 6])
  assert.deepEqual(compared(made('croco').learn([group])), ['chosen 0.6', 'rejected 0.11'])
  assert.deepEqual(compared(made('dpo').learn([group])), ['chosen 0.6', 'rejected 0.10'])
})

test('KTO judges by the mean of the group', () => {
  const lesson = made('kto').learn([groupOf([1, 0, 0, 0]), groupOf([0.1, 0.1, 0.1]), groupOf([0, 0.5, 1])])
  assert.deepEqual(compared(lesson), [
    'chosen 0.0',
    'rejected 0.1',
    'rejected 0.2',
    'rejected 0.3',
    'rejected 2.0',
    'chosen 2.2',
  ])
})

test("KTO's mismatched rows are a prompt and another prompt's reply", () => {
  const [one, other] = [groupOf([1, 0]), groupOf([1, 0])]
  for (const trajectory of other.trajectories) trajectory.tokens = trajectory.tokens.map((token) => token + 100)
  const { sequences, origins } = made('kto', { baseline: 'mismatched' }).learn([one, other])
  const added = sequences.filter((_, i) => origins[i].trajectory === -1)
  assert.deepEqual(
    added.map(({ tokens }) => tokens.slice(0, 3)),
    [
      [0, 1, 112],
      [0, 1, 122],
      [100, 101, 12],
      [100, 101, 22],
    ],
  )
  assert.ok(added.every(({ info, mask }) => info!.role === 'sample' && [...mask].join('') === '00111'))
})

test('rankings keep equal rewards at one rank', () => {
  const { sequences } = made('plackett-luce-dpo').learn([groupOf([0, 2, 1, 1]), groupOf([1, 1])])
  assert.deepEqual(
    sequences.map(({ info }) => [info!.rank, info!.pair]),
    [
      [2, 0],
      [0, 0],
      [1, 0],
      [1, 0],
    ],
  )
})

test('REFUEL trains the turn in which two conversations part, REBEL all of them', () => {
  // A prompt of two; turns of two tokens, an observed token between them.
  const mask = Uint8Array.of(0, 0, 1, 1, 0, 1, 1, 0, 1, 1)
  const of = (reward: number, tokens: number[]) => ({
    ...testTrajectory(reward),
    tokens,
    mask,
    logprobs: Float32Array.from(mask, (sampled) => -sampled),
    turns: 3,
  })
  const trajectories = [of(1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), of(0, [0, 1, 2, 3, 4, 5, 16, 7, 8, 9])]
  const group = { problem: trajectories[0].problem, trajectories }
  const masks = (name: string): string[] =>
    made(name)
      .learn([group])
      .sequences.map((s) => [...s.mask].join(''))
  assert.deepEqual(masks('refuel'), ['0000011000', '0000011000'])
  assert.deepEqual(masks('rebel'), ['0011011011', '0011011011'])
  // What the user said differs first: the turn before it is where they part.
  const [a] = preference.branchTurn(trajectories[0], { ...trajectories[1], tokens: [0, 1, 2, 3, 44, 5, 6, 7, 8, 9] })
  assert.equal([...a].join(''), '0011000000')
})

test('win rates: hard and logistic, with or without oneself', () => {
  const hard = { wins: 'hard', winTemperature: 1 } as const
  assert.deepEqual(preference.winRates([0, 1, 1], hard, false), [0, 0.75, 0.75])
  assert.deepEqual(
    preference.winRates([0, 1], hard, true).map((rate) => +rate.toFixed(9)),
    [0.25, 0.75],
  )
  assert.deepEqual(preference.winRates([3], hard, false), [0.5])
  const [lost, won] = preference.winRates([0, 2], { wins: 'logistic', winTemperature: 2 }, false)
  assert.ok(Math.abs(won - preference.sigmoid(1)) < 1e-12 && Math.abs(lost + won - 1) < 1e-12)
})

test('win rates do not see the scale of rewards, unlike what SPPO and GRPO see', () => {
  const rewards = (scale: number): number[] =>
    made('pairwise-rl')
      .learn([groupOf([0, 1 * scale, 2])])
      .advantages[0].map((row) => row.at(-1)!)
  assert.deepEqual(rewards(1), rewards(0.001))
  assert.deepEqual(rewards(1), [-0.5, 0, 0.5])
})

test("SPPO's targets are win rates against the whole pool", () => {
  const { sequences } = made('sppo', { wins: 'hard' }).learn([groupOf([0, 1, 2, 3])])
  assert.deepEqual(
    sequences.map(({ info }) => info!.reward),
    [0.875, 0.125],
  )
})

test('BRPO: a tie with the drawn sibling is a loss, and lopsided groups are left out', () => {
  const options = { margin: 0, maxImbalance: 0.6 }
  assert.deepEqual(preference.bootstrappedAdvantages([1, 0, 0], 1, options), [1, 0, -1])
  assert.equal(preference.bootstrappedAdvantages([0, 0, 0, 0, 1], 4, options), null)
  assert.equal(preference.bootstrappedAdvantages([1, 1], 0, options), null)
  const method = made('brpo')
  const groups = Array.from({ length: 20 }, () => groupOf([0, 0, 1, 2]))
  const { advantages, sequences, metrics } = method.learn(groups)
  assert.equal(sequences.length, (20 - metrics!.groupsLeftOut) * 4)
  assert.ok(metrics!.groupsLeftOut > 0 && metrics!.groupsLeftOut < 20)
  assert.ok(advantages.flat().every((row) => [-1, 0, 1].includes(row.at(-1)!)))
})

test('DRPO keeps the replies that are in no comparison as fresh ones', () => {
  const lesson = made('drpo').learn([groupOf([0, 1, 0.5, 0.2]), groupOf([1, 1])])
  assert.deepEqual(compared(lesson), ['chosen 0.1', 'rejected 0.0', 'sample 0.2', 'sample 0.3'])
})
