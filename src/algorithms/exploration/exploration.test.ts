import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { grpo } from '../grpo.js'
import { contextOf, groupOf, learnt } from '../multi/testing.js'
import { assertLossEdges, gradientError, randomLossTokens } from '../testing-loss.js'
import { testTrajectory } from '../testing.js'
import type { Algorithm, Group, Trajectory } from '../types.js'
import * as explore from './index.js'

const close = (actual: readonly number[], expected: readonly number[], tolerance = 1e-9): void => {
  assert.equal(actual.length, expected.length)
  actual.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= tolerance, `entry ${i}: ${value}, expected ${expected[i]}`),
  )
}

const replying = (content: string, reward: number, rest: Partial<Trajectory> = {}): Trajectory => ({
  ...testTrajectory(reward),
  messages: [
    { role: 'user', content: 'What is it?' },
    { role: 'assistant', content },
  ],
  ...rest,
})

/** All subsets of k of the numbers below n. */
function subsets(n: number, k: number, from = 0): number[][] {
  if (k === 0) return [[]]
  return Array.from({ length: n - from }, (_, d) => from + d).flatMap((first) =>
    subsets(n, k - 1, first + 1).map((rest) => [first, ...rest]),
  )
}

const maximum = (rewards: readonly number[], subset: readonly number[]): number =>
  Math.max(...subset.map((i) => rewards[i]))

test('pass@k estimates are those of counting subsets', () => {
  const random = createRandom(1)
  for (const [n, k] of [
    [1, 1],
    [4, 1],
    [5, 2],
    [7, 3],
    [6, 6],
  ] as const) {
    const rewards = Array.from({ length: n }, () => random.normal())
    const correct = rewards.map((reward) => reward > 0.3)
    const c = correct.filter(Boolean).length
    const all = subsets(n, k)
    const passing = all.filter((subset) => subset.some((i) => correct[i])).length / all.length
    close([explore.passAtK(n, c, k)], [passing])
    close([explore.maxAtK(rewards, k)], [all.reduce((sum, subset) => sum + maximum(rewards, subset), 0) / all.length])
    const shares = rewards.map(
      (_, i) =>
        all.filter((subset) => subset.includes(i)).reduce((sum, subset) => sum + maximum(rewards, subset), 0) /
        all.length,
    )
    close(explore.pkpo(rewards, k, 'none'), shares)
    if (k > 1) {
      const added = rewards.map(
        (_, i) =>
          all
            .filter((subset) => subset.includes(i))
            .reduce(
              (sum, subset) =>
                sum +
                maximum(rewards, subset) -
                maximum(
                  rewards,
                  subset.filter((j) => j !== i),
                ),
              0,
            ) / all.length,
      )
      close(explore.pkpo(rewards, k), added)
    }
    if (n - 1 >= k) {
      const leftOut = rewards.map((_, i) => {
        const others = explore.pkpo(
          rewards.filter((_other, j) => j !== i),
          k,
          'none',
        )
        return shares[i] - others.reduce((sum, share) => sum + share, 0) / (n - 1)
      })
      close(explore.pkpo(rewards, k, 'leave-one-out'), leftOut)
    }
  }
})

test('pass@k training is the mean normalized score of the subsets a sample is in', () => {
  for (const [n, right, k] of [
    [6, 2, 2],
    [7, 1, 3],
    [5, 2, 1],
  ] as const) {
    const correct = Array.from({ length: n }, (_, i) => i < right)
    const all = subsets(n, k)
    const scores = all.map((subset): number => (subset.some((i) => correct[i]) ? 1 : 0))
    const mean = scores.reduce((sum, score) => sum + score, 0) / all.length
    const deviation = Math.sqrt(mean * (1 - mean)) + 1e-6
    const expected = correct.map((_, i) => {
      const own = all.flatMap((subset, s) => (subset.includes(i) ? [(scores[s] - mean) / deviation] : []))
      return own.reduce((sum, value) => sum + value, 0) / own.length
    })
    const actual = explore.passAtKTraining(correct, k)
    close(actual, expected)
    close([actual.reduce((sum, value) => sum + value, 0)], [0])
  }
  for (const correct of [[], [true], [false, false], [true, true, true, false]])
    close(
      explore.passAtKTraining(correct, Math.max(1, Math.min(2, correct.length))),
      correct.map(() => 0),
    )
})

test('binomials of large groups do not overflow', () => {
  const exact = (n: bigint, k: bigint): bigint => (k === 0n ? 1n : (exact(n, k - 1n) * (n - k + 1n)) / k)
  const ratio = Number((exact(900n, 200n) * 10n ** 30n) / exact(1000n, 200n)) / 1e30
  assert.ok(Math.abs(explore.binomialRatio(900, 1000, 200) / ratio - 1) < 1e-12)
  assert.equal(explore.binomialRatio(2, 5, 3), 0)
})

test('best of group, MaxRL and their edges', () => {
  close(explore.bestOfGroup([0.2, 1, 0.5]), [0, 0.5, 0])
  close(explore.bestOfGroup([1, 1, 0], { normalize: true }), [0, 0, 0])
  close(explore.bestOfGroup([3]), [0])
  close(explore.maxRl([1, 0, 0, 0]), [3, -1, -1, -1], 1e-4)
  close(explore.maxRl([0, 0]), [0, 0])
  assert.throws(() => explore.passAtK(3, 1, 4), { code: 'usage' })
  assert.throws(() => explore.maxRl([NaN]), { code: 'numeric' })
})

test('the four pass@k methods and GRPO differ on one group', () => {
  const groups = [groupOf([1, 0.25, 0, 0].map((reward) => testTrajectory(reward, { success: reward === 1 })))]
  const methods: Algorithm[] = [
    grpo(),
    explore.bestOfGroupMethod.make(explore.bestOfGroupMethod.options.parse({})),
    explore.passAtKMethod.make(explore.passAtKMethod.options.parse({ k: 2 })),
    explore.pkpoMethod.make(explore.pkpoMethod.options.parse({ k: 2 })),
    explore.maxRlMethod.make(explore.maxRlMethod.options.parse({})),
  ]
  const seen = methods.map((method) =>
    learnt(method, groups)[0]
      .map((a) => a.toFixed(3))
      .join(),
  )
  assert.equal(new Set(seen).size, methods.length, seen.join(' | '))
})

test('the gradient of the entropy bonus is right, and takes the coefficient of a sequence', () => {
  for (const seed of [1, 2, 3]) {
    const tokens = randomLossTokens(seed)
    assert.ok(gradientError(explore.entropyBonus(0.01), tokens) < 1e-6)
    const controlled = {
      ...tokens,
      sequences: tokens.sequences!.map((info, i) => ({ ...info, coefficients: { entropy: i } })),
    }
    assert.ok(gradientError(explore.entropyBonus(0.01), controlled) < 1e-6)
    const { entropyGradient } = explore.entropyBonus(0.01).evaluate(controlled)
    close(
      [...entropyGradient!],
      [...tokens.weights].map((weight, t) => -weight * tokens.segments[t]),
    )
  }
  assertLossEdges(explore.entropyBonus(0.01))
  assert.throws(() => explore.entropyBonus(1).evaluate({ ...randomLossTokens(1), entropy: undefined }), {
    code: 'usage',
  })
})

test('entropy control raises alpha below its target, lowers it above, and acts only below', () => {
  const control = { target: 0.2, delta: 0.1, low: 0, high: 0.25 }
  assert.deepEqual(explore.adaptEntropy(0.2, 0.2, control), { alpha: 0.25, acting: 0.25 })
  assert.deepEqual(explore.adaptEntropy(0.05, 0.21, control), { alpha: 0, acting: 0 })
  const method = explore.adaptiveEntropy.make(explore.adaptiveEntropy.options.parse({ target: 1.5, delta: 0.1 }))
  const low = [groupOf([testTrajectory(1), testTrajectory(0)])]
  const high = [groupOf([testTrajectory(1, { logprob: -2 }), testTrajectory(0, { logprob: -2 })])]
  const first = method.learn(low, contextOf())
  assert.equal(first.sequences[0].info?.coefficients?.entropy, 0.1)
  assert.equal(first.metrics?.['entropy-control.entropy'], 1)
  const second = method.learn(low, contextOf(JSON.parse(JSON.stringify(first.state))))
  assert.equal(second.sequences[1].info?.coefficients?.entropy, 0.2)
  const third = method.learn(high, contextOf(second.state))
  assert.equal(third.sequences[0].info?.coefficients?.entropy, 0)
  const steady = explore.entropyBonusMethod.make(explore.entropyBonusMethod.options.parse({}))
  assert.equal(steady.learn(high, contextOf()).sequences[0].info?.coefficients, undefined)
})

test('answers are the last reply, or what a pattern finds in it', () => {
  const decomposed = replying(' caf\u0065\u0301\n', 0)
  assert.equal(explore.lastReply(decomposed), 'caf\u00e9')
  assert.equal(explore.lastReply(replying('  ', 0)), null)
  assert.equal(explore.lastReply(testTrajectory(0)), null)
  const find = explore.answerExtractor('answer: (\\w+)')
  assert.equal(find(replying('answer: 3, no, answer: 4', 0)), '4')
  assert.equal(find(replying('nothing', 0)), null)
  assert.equal(explore.answerExtractor('[0-9]+')(replying('3 + 4 = 7', 0)), '7')
  assert.equal(explore.answerExtractor('(a+)+b')(replying('a'.repeat(10_000), 0)), null)
  assert.throws(() => explore.answerExtractor('('), { code: 'usage' })
})

test('historical bonuses fall with visits, across steps and checkpoints; __proto__ is an answer like any other', () => {
  close(explore.historicalBonus([1, 4, null], 'ucb'), [1, 0.5, 0])
  close(explore.historicalBonus([1, 4, null], 'ucb-mean'), [0.5, 0, -0.5])
  close(explore.historicalBonus([1, 4, 16], 'ucb-con'), [0.5, 0, -0.25])
  const groups = [groupOf([replying('a', 0), replying('a', 0), replying('__proto__', 0), replying('', 0)])]
  const method = explore.outcomeExploration.make(
    explore.outcomeExploration.options.parse({ bonus: 'ucb', coefficient: 1 }),
  )
  const first = method.learn(groups, contextOf())
  close(learnt(method, groups)[0], [Math.SQRT1_2, Math.SQRT1_2, 1, 0], 1e-6)
  const state = JSON.parse(JSON.stringify(first.state))
  close(learnt(method, groups, contextOf(state))[0], [0.5, 0.5, Math.SQRT1_2, 0], 1e-6)
  assert.deepEqual(first.state, state, 'the state that was given is not changed')
})

test('bonuses are added after normalization: without them the advantages are those of GRPO', () => {
  const groups = [groupOf([replying('a', 1), replying('a', 0), replying('b', 0)])]
  const [plain] = learnt(grpo(), groups)
  const historical = explore.outcomeExploration
  const [added] = learnt(historical.make(historical.options.parse({ coefficient: 0.5 })), groups)
  close(
    added,
    plain.map((a, i) => a + 0.5 * ([Math.SQRT1_2, Math.SQRT1_2, 1][i] - 0.5)),
    1e-6,
  )
  const batch = explore.batchOutcomeExploration
  const [punished] = learnt(batch.make(batch.options.parse({ coefficient: 0.5 })), groups)
  close(
    punished,
    plain.map((a, i) => a + 0.5 * [-1 / 3, -1 / 3, 0][i]),
    1e-6,
  )
})

test('of many problems the ones not seen for longest are forgotten', () => {
  let counts: explore.OutcomeCounts = {}
  for (const problem of ['p', 'q', 'p', 'r']) counts = explore.countOutcomes(counts, problem, ['x'], 2)
  assert.deepEqual(Object.keys(counts), ['p', 'r'])
  assert.deepEqual(Object.values(counts.p), [2])
})

test('elliptical bonuses are h^T (ridge I + H^T H)^-1 h, from 0 to below 1, with and without the sample itself', () => {
  const random = createRandom(7)
  for (const [n, d] of [
    [5, 2],
    [4, 9],
    [1, 3],
  ]) {
    const features = Array.from({ length: n }, () => Array.from({ length: d }, () => random.normal()))
    const means = features[0].map((_, j) => features.reduce((sum, row) => sum + row[j] / n, 0))
    const h = features.map((row) => row.map((value, j) => value - means[j]))
    const leverage = (own: readonly number[], rows: readonly number[][]): number => {
      const matrix = own.map((_, a) =>
        own.map((__, b) => rows.reduce((sum, row) => sum + row[a] * row[b], a === b ? 0.5 : 0)),
      )
      return own.reduce((sum, value, a) => sum + value * gauss(matrix, own)[a], 0)
    }
    const bonuses = explore.ellipticalBonus(features, { ridge: 0.5 })
    close(
      bonuses,
      h.map((row) => leverage(row, h)),
    )
    close(
      explore.ellipticalBonus(features, { ridge: 0.5, leaveOneOut: true }),
      h.map((row, i) =>
        leverage(
          row,
          h.filter((_, j) => j !== i),
        ),
      ),
    )
    assert.ok(bonuses.every((bonus) => bonus >= 0 && bonus < 1))
  }
  close(
    explore.ellipticalBonus([
      [1, 2],
      [1, 2],
    ]),
    [0, 0],
  )
  assert.deepEqual(explore.ellipticalBonus([]), [])
  assert.throws(() => explore.ellipticalBonus([[1], [1, 2]]), { code: 'usage' })
  assert.throws(() => explore.ellipticalBonus([[NaN], [1]]), { code: 'numeric' })
})

/** Solves A x = b by elimination with pivots. */
function gauss(a: readonly (readonly number[])[], b: readonly number[]): number[] {
  const rows = a.map((row, i) => [...row, b[i]])
  const n = b.length
  for (let c = 0; c < n; c++) {
    const pivot = rows.slice(c).reduce((best, row, i) => (Math.abs(row[c]) > Math.abs(rows[best][c]) ? c + i : best), c)
    ;[rows[c], rows[pivot]] = [rows[pivot], rows[c]]
    for (let r = 0; r < n; r++) {
      if (r === c) continue
      const factor = rows[r][c] / rows[c][c]
      rows[r] = rows[r].map((value, j) => value - factor * rows[c][j])
    }
  }
  return rows.map((row, i) => row[n] / row[i])
}

test('hashed n-grams have length 1, like what is alike and are the same everywhere', () => {
  const dot = (a: string, b: string): number => {
    const [x, y] = [explore.hashedNgrams(a, 64), explore.hashedNgrams(b, 64)]
    return x.reduce((sum, value, d) => sum + value * y[d], 0)
  }
  assert.ok(Math.abs(dot('the cat sat', 'the cat sat') - 1) < 1e-12)
  assert.ok(dot('the cat sat on the mat', 'the cat sat on a mat') > dot('the cat sat on the mat', 'bring 7 lemons'))
  assert.ok(explore.hashedNgrams('', 8).every((value) => value === 0))
  assert.ok(Math.abs(Math.hypot(...explore.hashedNgrams('a', 8)) - 1) < 1e-12)
})

test('representation bonuses single out the odd reply, and only where someone succeeded', () => {
  const method = explore.representationMethod.make(explore.representationMethod.options.parse({ coefficient: 0.5 }))
  const texts = ['so it is seven', 'so it is seven!', 'thus 3 + 4', 'so it is seven.']
  const solved = [groupOf(texts.map((text) => replying(text, 1)))]
  const [advantages] = learnt(method, solved)
  assert.equal(advantages.indexOf(Math.max(...advantages)), 2)
  const failed = [groupOf(texts.map((text) => replying(text, 0)))]
  assert.equal(method.learn(failed, contextOf()).sequences.length, 0)
  assert.equal(grpo().learn(solved).sequences.length, 0, 'GRPO has nothing to learn here')
})

test('episodic memory draws to successes, away from failures, and scores before it stores', () => {
  close(
    [
      explore.exploitReward(
        [1, 0],
        [
          [0, 0],
          [1, 1],
        ],
      ),
    ],
    [-Math.hypot(0.5, 0.5)],
  )
  close([explore.exploitReward([1, 0], []), explore.exploreReward([1, 0], [])], [0, 1])
  close(
    [
      explore.exploreReward(
        [1, 0],
        [
          [0, 2],
          [3, 0],
        ],
      ),
    ],
    [0],
  )
  close([explore.minMax(2, [2, 2]), explore.minMax(1, [0, 4, 1])], [0, 0.25])
  const memory = [
    { key: 'a', query: [0, 0], replies: [[1], [2]] },
    { key: 'b', query: [5, 0], replies: [[3]] },
  ]
  assert.deepEqual(explore.recall(memory, [4, 0], 1), [[3]])
  const method = explore.memoryMethod.make(explore.memoryMethod.options.parse({ warmup: 0, dimensions: 256 }))
  const first = [groupOf([replying('red blue green', 1), replying('one two three', 0)])]
  const lesson = method.learn(first, contextOf())
  assert.equal(lesson.sequences[0].info?.reward, 1, 'nothing is remembered yet, itself included')
  const second = [groupOf([replying('red blue grey', 0), replying('one two three', 0), replying('seven eight', 0)])]
  const next = method.learn(second, contextOf(JSON.parse(JSON.stringify(lesson.state)), 2))
  const rewards = next.sequences.map(({ info }) => info!.reward)
  assert.ok(rewards[0] > rewards[1] && rewards[2] > rewards[1], rewards.join())
})

test('T1: leave-one-out, -1 for degenerate replies, and a divergence that is centred in the group', () => {
  close(explore.leaveOneOut([1, 0, 0.5]), [0.75, -0.75, 0])
  close(explore.leaveOneOut([3]), [0])
  const method = explore.t1.make(explore.t1.options.parse({ klCoefficient: 0.1, anchorRate: 0.2 }))
  assert.deepEqual(method.needs.reference, { rate: 0.2 })
  const groups = [groupOf([testTrajectory(1), testTrajectory(0), testTrajectory(1, { stopReason: 'length' })])]
  const lesson = method.learn(groups, contextOf())
  close(learnt(method, groups)[0], [1.5, 0, -1.5])
  const scored = lesson.sequences.map((sequence, i): TrainSequence => ({
    ...sequence,
    referenceLogprobs: sequence.logprobs.map((logprob) => logprob - i),
  }))
  const refined = method.refine!(scored)
  // Three tokens a reply: divergences 0, 3, 6; mean 3.
  close(
    refined.map(({ advantages }) => advantages[2]),
    [1.8, 0, -1.8],
    1e-6,
  )
  assert.equal(refined[0].advantages[0], 0)
  assert.throws(() => method.refine!(lesson.sequences), { code: 'usage' })
  const loops = testTrajectory(1, { length: 40 })
  assert.equal(explore.isRepetitive(loops, 0.3), false)
  assert.equal(explore.isRepetitive({ ...loops, tokens: loops.tokens.map((_, t) => t % 3) }, 0.3), true)
})

test('guided roll-ins: lengths, whose tokens are trained, and schedules', () => {
  const random = createRandom(3)
  const lengths = Array.from({ length: 4000 }, () => explore.rollInLength(5, 0.6, random))
  assert.ok(Math.abs(lengths.filter((length) => length === 0).length / 4000 - 0.4) < 0.03)
  for (const length of [1, 2, 3, 4])
    assert.ok(Math.abs(lengths.filter((drawn) => drawn === length).length / 4000 - 0.15) < 0.03)
  assert.equal(explore.rollInLength(1, 1, random), 0)
  const mask = Uint8Array.of(0, 1, 1, 0, 1)
  assert.deepEqual([...explore.guidedMask(mask, 1, 'ppo++')], [0, 0, 1, 0, 1])
  assert.deepEqual([...explore.guidedMask(mask, 1, 'aggrevated')], [0, 1, 0, 0, 0])
  assert.deepEqual([...explore.guidedMask(mask, 0, 'aggrevated')], [...mask])
  assert.throws(() => explore.guidedMask(mask, 4, 'ppo++'), { code: 'usage' })
  const schedule = { kind: 'd2lols', switchAt: 2 } as const
  assert.deepEqual(
    [1, 2, 3].map((step) => explore.chooseGuidance(schedule, step, random)),
    ['aggrevated', 'aggrevated', 'ppo++'],
  )
})

test('guided-grpo: what the expert began is compared with its like, and only what the policy said is learnt', () => {
  const { make, options } = explore.guidedGrpo
  const algorithm = make(options.parse({ normalization: 'mean', continuations: 2, share: 1 }))
  const given = Uint8Array.of(0, 0, 1, 0, 0)
  const began = (reward: number): Trajectory => ({
    ...testTrajectory(reward),
    given,
    mask: Uint8Array.of(0, 0, 0, 1, 1),
  })
  const group = { ...groupOf([testTrajectory(0), testTrajectory(0)]), continuations: [began(1), began(0)] }
  const { sequences, origins } = algorithm.learn([group], contextOf())
  assert.deepEqual(
    sequences.map(({ advantages }) => [...advantages]),
    [
      [0, 0, 0, 0.5, 0.5],
      [0, 0, 0, -0.5, -0.5],
    ],
    'free replies that are all alike say nothing',
  )
  assert.deepEqual(origins, [
    { group: 0, trajectory: -1 },
    { group: 0, trajectory: -1 },
  ])
  const lengths = [0, 1, 2, 3, 4, 5, 6, 7].map((index) => algorithm.prefixLength!(4, contextOf(), 0, index))
  assert.ok(lengths.every((length) => length >= 1 && length <= 3) && new Set(lengths).size > 1, lengths.join())
  assert.deepEqual(algorithm.needs, { continuations: 2 })
})

test('every method of the folder learns from ordinary, single and masked groups', () => {
  const empty: Trajectory = { ...testTrajectory(0), mask: new Uint8Array(5) }
  const inputs: Group[][] = [
    [],
    [groupOf([testTrajectory(1)])],
    [groupOf([testTrajectory(1), testTrajectory(1)])],
    [groupOf([empty, testTrajectory(1)])],
    [groupOf([replying('a', 1e30), replying('b', -1e30)])],
  ]
  for (const { kind, options, make, name } of explore.explorationObjectives) {
    if (kind !== 'method') continue
    const method = make(options.parse({}) as never) as Algorithm
    assert.equal(method.name, name)
    for (const groups of inputs) {
      const lesson = method.learn(groups, contextOf())
      for (const row of lesson.advantages.flat()) assert.ok(row.every(Number.isFinite), name)
      assert.doesNotThrow(() => JSON.stringify(lesson.state))
    }
  }
})
