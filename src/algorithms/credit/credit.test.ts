import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { grpo } from '../grpo.js'
import { contextOf, groupOf, learnt, turnsTrajectory } from '../multi/testing.js'
import type { Algorithm, Group, Trajectory } from '../types.js'
import { testGroup, testTrajectory } from '../testing.js'
import * as credit from './index.js'

const near = (actual: ArrayLike<number>, expected: readonly number[], tolerance = 1e-6): void => {
  assert.equal(actual.length, expected.length)
  expected.forEach((value, i) =>
    assert.ok(Math.abs(actual[i] - value) < tolerance, `entry ${i}: ${actual[i]}, expected ${value}`),
  )
}

/** The advantage of each turn. */
const turnsOf = (method: Algorithm, groups: readonly Group[]): number[][][] =>
  method
    .learn(groups, contextOf())
    .advantages.map((rows, g) =>
      rows.map((row, i) => credit.turnSpans(groups[g].trajectories[i].mask).map(({ start }) => row[start])),
    )

/** What a loop would supply. */
function scored(sequences: readonly TrainSequence[], count = 0, seed = 1): TrainSequence[] {
  const random = createRandom(seed)
  return sequences.map((sequence) => {
    const draw = (make: () => number, size = sequence.mask.length): Float32Array =>
      Float32Array.from({ length: size }, make)
    const negative = (): number => -0.1 - Math.abs(random.normal())
    return {
      ...sequence,
      oldLogprobs: draw(negative),
      referenceLogprobs: draw(negative),
      entropy: draw(() => random.uniform()),
      values: draw(() => random.normal()),
      ...(count > 0
        ? {
            alternatives: {
              count,
              ids: Int32Array.from({ length: sequence.mask.length * count }, (_, i) => i % count),
              logprobs: draw(negative, sequence.mask.length * count),
            },
            referenceAlternatives: draw(negative, sequence.mask.length * count),
          }
        : {}),
    }
  })
}

const told = (rewards: readonly number[], lengths = rewards.map(() => 2)): Trajectory =>
  turnsTrajectory(
    rewards.reduce((sum, reward) => sum + reward, 0),
    lengths,
    { turnRewards: rewards },
  )

test('turns are runs of sampled tokens, and their rewards sum to the whole', () => {
  assert.deepEqual(credit.turnSpans(Uint8Array.of(0, 1, 1, 0, 1)), [
    { start: 1, end: 3, next: 4 },
    { start: 4, end: 5, next: 5 },
  ])
  assert.deepEqual(credit.turnSpans(new Uint8Array(3)), [])
  assert.deepEqual(credit.turnRewards(turnsTrajectory(1, [1, 2, 1])), [0, 0, 1])
  assert.deepEqual(credit.turnRewards(turnsTrajectory(1, [1, 2], { turnRewards: [0.25, 0.25] })), [0.25, 0.75])
  assert.throws(() => credit.turnRewards(turnsTrajectory(1, [1, 2], { turnRewards: [1] })), { code: 'usage' })
})

test('returns of turns credit early turns less, and turns of one number are compared', () => {
  const groups = [groupOf([told([1, 0]), told([0, 1]), told([0, 0])])]
  const method = credit.turnLevelGrpo.make(credit.turnLevelGrpo.options.parse({ normalization: 'mean', gamma: 0.5 }))
  const [advantages] = turnsOf(method, groups)
  near(
    advantages.map(([first]) => first),
    [0.5, 0, -0.5],
  )
  near(
    advantages.map(([, second]) => second),
    [-1 / 3, 2 / 3, -1 / 3],
  )
  const pooled = credit.turnLevelGrpo.make(credit.turnLevelGrpo.options.parse({ within: 'group' }))
  assert.notDeepEqual(turnsOf(pooled, groups)[0], turnsOf(method, groups)[0])
  assert.notDeepEqual(learnt(method, groups), learnt(grpo({ normalization: 'mean' }), groups))
})

test('GiGPO compares turns that answered to one message, wherever they stand', () => {
  const messages = (...observations: string[]): Trajectory['messages'] =>
    observations.flatMap((content) => [
      { role: 'user' as const, content },
      { role: 'assistant' as const, content: 'go' },
    ])
  const groups = [
    groupOf([
      { ...told([0, 1]), messages: messages('start', 'door') },
      { ...told([0, 0, 0]), messages: messages('start', 'wall', 'door') },
    ]),
  ]
  const method = credit.gigpo.make(credit.gigpo.options.parse({ normalization: 'mean', gamma: 1 }))
  const [[first, second]] = turnsOf(method, groups)
  near(first, [0.5 + 0.5, 0.5 + 0.5])
  near(second, [-1, -0.5, -1])
  const plain = credit.gigpo.make(credit.gigpo.options.parse({ normalization: 'mean', stepWeight: 0 }))
  assert.deepEqual(learnt(plain, groups), learnt(grpo({ normalization: 'mean' }), groups))
})

test('returns over attempts: discounted twice, by difference, by count', () => {
  near(credit.trialReturns([[0, 0], [1]], { gammaStep: 0.5, gammaTrial: 0.6 }).flat(), [0.3, 0.6, 1])
  near(credit.trialReturns([[0, 1], [1]], { gammaTrial: 0 })[0], [0.95, 1])
  assert.deepEqual(credit.trialReturns([]), [])
  near(credit.differentialRewards([0.2, 0.5, 0.4]), [0.2, 0.3, -0.1])
  assert.equal(
    credit.orbitReturn(
      [
        { success: true, steps: 4 },
        { success: true, steps: 8 },
      ],
      10,
    ),
    1,
  )
  const groups = [groupOf([told([0.5, 0.5, 0.5]), told([0, 0.5, 1])])]
  const of = (method: Algorithm): number[] => turnsOf(method, groups)[0][1]
  near(of(credit.mage.make(credit.mage.options.parse({ normalization: 'mean' }))), [-0.01, 0.4, 0.25])
  near(of(credit.gigpo.make(credit.gigpo.options.parse({ normalization: 'mean', gamma: 0.6 }))), [-0.16, 0.15, 0.25])
})

test('semi-online returns stop at a turn that did not match', () => {
  near(credit.semiOnlineReturns([1, 0, 1], [true, false, true], 0.5), [1, 0, 1])
  near(credit.semiOnlineReturns([1, 1, 1], [true, true, true], 0.5), [1.75, 1.5, 1])
  const groups = [groupOf([told([1, 1]), told([0, 1]), told([1, 0])])]
  const [advantages] = turnsOf(credit.uiS1.make(credit.uiS1.options.parse({})), groups)
  assert.ok(advantages[0][0] > advantages[2][0] && advantages[2][0] > advantages[1][0])
  const same = [groupOf([told([1, 1]), told([1, 1])])]
  assert.deepEqual(turnsOf(credit.uiS1.make(credit.uiS1.options.parse({})), same)[0], [
    [0, 0],
    [0, 0],
  ])
})

test('critics of utterances: targets, and one advantage a turn', () => {
  assert.deepEqual(credit.archerTargets({ reward: 1, done: false, nextValue: 2, sampledQ: 3 }, 0.5), { q: 2, v: 3 })
  assert.equal(credit.archerTargets({ reward: 1, done: true, nextValue: 2, sampledQ: 3 }, 0.5).q, 1)
  assert.equal(credit.archerAdvantage([3, 1], [2, 0.5]), 0.5)
  const method = credit.archer.make(credit.archer.options.parse({ gamma: 0.5 }))
  const { sequences } = method.learn([groupOf([told([1, 2], [2, 3])])], contextOf())
  const values = Float32Array.from(sequences[0].mask, (_, t) => t)
  const [refined] = method.refine!([{ ...sequences[0], values }], contextOf())
  // Turns start at 2 and 5: 1 + 0.5 * 5 - 2, and 2 - 5.
  near(refined.advantages, [0, 0, 1.5, 1.5, 0, -3, -3, -3])
  near(refined.returns!, [0, 0, 3.5, 3.5, 0, 2, 2, 2])
})

test('blocks of steps: one block is a bandit, and the last token is alone', () => {
  assert.deepEqual(credit.macroSizes(8, 3), [3, 3, 1, 1])
  assert.deepEqual(credit.macroSizes(1, 5), [1])
  assert.deepEqual(credit.macroSizes(0, 5), [])
  const sizes = credit.randomMacroSizes(50, [1, 2, 3, 5, 10], createRandom(1))
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    50,
  )
  near(credit.blockGae([0, 0, 3], [1, 1, 1], { gamma: 0.9, lambda: 0.9, sizes: [3] }).advantages, [0, 0, 0])
  assert.throws(() => credit.blockGae([0], [0], { gamma: 1, lambda: 1, sizes: [2] }), { code: 'usage' })
  const method = (n: number, declared = credit.maRlhf): Algorithm => declared.make(declared.options.parse({ n }))
  const group = [testGroup([1, 0], { length: 7 })]
  const refined = (algorithm: Algorithm): number[] =>
    algorithm.refine!(scored(algorithm.learn(group, contextOf()).sequences), contextOf()).flatMap(({ advantages }) => [
      ...advantages,
    ])
  assert.notDeepEqual(refined(method(3)), refined(method(1)))
  assert.equal(new Set(refined(method(3)).slice(2, 5)).size, 1, 'tokens of a macro share their advantage')
  assert.notEqual(method(3).loss.name, method(3, credit.maRlhfMacroRatio).loss.name)
})

test('process rewards: sums favour many steps, minima do not, differences tell what a step changed', () => {
  near(credit.processReturns([0.9, 0.2, 0.5], 'sum'), [1.6, 0.7, 0.5])
  near(credit.processReturns([0.9, 0.2, 0.5], 'min'), [0.2, 0.2, 0.5])
  near(credit.processReturns([0.9, 0.2, 0.5], 'difference', 0.5), [0.4, -0.7, 0.3])
  const withSteps = (scores: readonly number[]): Trajectory => ({
    ...testTrajectory(1, { length: 2 * scores.length + 1 }),
    tokenRewards: Float32Array.from([0, 0, ...scores.flatMap((score) => [0, score]), 0]),
  })
  const groups = [groupOf([withSteps([0.75, 0.25]), withSteps([0.5, 0.5])])]
  const rows = (how: string): number[] => {
    const options = credit.processGrpo.options.parse({ credit: how, normalization: 'mean' })
    return [...credit.processGrpo.make(options).learn(groups, contextOf()).advantages[0][0]]
  }
  near(rows('sum'), [0, 0, 0, 0, -0.25, -0.25, 0])
  near(rows('min'), [0, 0, -0.125, -0.125, -0.125, -0.125, 0])
  near(rows('difference'), [0, 0, 0.5625, 0.5625, -0.6875, -0.6875, 0])
  assert.notDeepEqual(rows('difference'), rows('min'))
})

test('two parts of a reply have two advantages', () => {
  const of = (understanding: number, answer: number): Trajectory => ({
    ...turnsTrajectory(understanding + answer, [2, 2]),
    rewardParts: { understanding, task: answer },
  })
  const groups = [groupOf([of(1, 0), of(0, 1)])]
  const tapo = (options: object): Algorithm =>
    credit.tapo.make(credit.tapo.options.parse({ normalization: 'mean', ...options }))
  assert.deepEqual(turnsOf(tapo({}), groups)[0], [
    [0.5, -0.5],
    [-0.5, 0.5],
  ])
  assert.deepEqual(turnsOf(tapo({ sharing: 1 }), groups)[0][0], [0, -0.5])
  assert.deepEqual(learnt(grpo(), groups), [[0, 0]])
  assert.equal(credit.boundaryOf({ tokens: [5, 1, 9, 2], mask: Uint8Array.of(0, 1, 1, 1) }, [9]), 3)
  assert.equal(credit.boundaryOf({ tokens: [9, 1, 2], mask: Uint8Array.of(0, 1, 1) }, [9]), -1)
})

test('rewards of tokens: severities, segments, attention', () => {
  const spans = [
    { start: 4, end: 5, severity: 'minor' as const },
    { start: 2, end: 5, severity: 'critical' as const },
  ]
  assert.deepEqual(
    credit.severityRewards(
      [
        [0, 2],
        [2, 4],
        [4, 6],
      ],
      spans,
    ),
    [1, -10, -10],
  )
  assert.deepEqual(credit.severityRewards([], spans), [])
  near(
    credit.segmentRewards(4, [
      {
        weight: 0.5,
        segments: [
          { end: 1, score: 1 },
          { end: 9, score: -1 },
        ],
      },
    ]),
    [0, 0.5, 0, -0.5],
  )
  near(credit.attentionRewards(1, [1, 3], 0.5), [0.125, 0.875])
  near(credit.attentionRewards(2, [0, 0], 1), [1, 1])
  const spread = credit.uniformRewards([testGroup([3])])[0][0]
  assert.deepEqual([...spread], [0, 0, 1, 1, 1])
  const dense = { ...testTrajectory(1), tokenRewards: Float32Array.of(0, 0, 1, -5, 1) }
  near(credit.tokenRewardsOf(dense, true), [0, 0, 1, -5, 5])
  const [[row]] = credit.rewardToGo([groupOf([dense])])
  near(row, [0, 0, -1 + 2 / 3, -2 + 2 / 3, 1 + 2 / 3])
})

test('PPO on uniform rewards is not PPO on segments, and a divergence is paid by token', () => {
  const refined = (method: Algorithm): number[] => {
    const { sequences } = method.learn([testGroup([1, 0])], contextOf())
    return method.refine!(scored(sequences), contextOf()).flatMap(({ returns }) => [...returns!])
  }
  const uniform = refined(credit.uniformRedistribution.make(credit.uniformRedistribution.options.parse({})))
  const segments = refined(credit.fineGrainedRlhf.make(credit.fineGrainedRlhf.options.parse({ klReward: 0 })))
  const divergent = refined(credit.fineGrainedRlhf.make(credit.fineGrainedRlhf.options.parse({})))
  assert.notDeepEqual(uniform, segments)
  assert.notDeepEqual(segments, divergent)
})

test('promising sets: the sampled token leaves its set, and what lies outside is not learnt', () => {
  assert.deepEqual(credit.nucleus([Math.log(0.5), Math.log(0.3), Math.log(0.2)], 0.6), [true, true, false])
  assert.deepEqual(credit.nucleus([-50, -60], 0.9), [true, true])
  const rlpt = credit.rlpt.make(credit.rlpt.options.parse({ size: 4 }))
  assert.equal(rlpt.needs.alternatives, 4)
  const sequences = scored(rlpt.learn([testGroup([1, 0])], contextOf()).sequences, 4)
  // Tokens of the test trajectory are their places, 2 to 4; alternatives are 0 to 3.
  const [first] = rlpt.refine!(sequences, contextOf())
  assert.deepEqual([...first.factors!], [0, 0, 1, 1, 0])
  assert.deepEqual(Array.from(first.alternatives!.ids.subarray(8, 12)), [0, 1, -1, 3])
  const nlpo = credit.nlpo.make(credit.nlpo.options.parse({ size: 4, topP: 0.3 }))
  const [masked] = nlpo.refine!(sequences, contextOf())
  const present = (ids: Int32Array): number => ids.filter((id) => id >= 0).length
  assert.ok(present(masked.alternatives!.ids) < present(first.alternatives!.ids))
  assert.deepEqual(nlpo.needs.reference, { rate: 0.05 })
})

test('entropy chooses tokens, turns of a group, and what is discouraged', () => {
  assert.equal(credit.quantile([4, 1, 3], 0.5), 3)
  assert.equal(credit.quantile([1, 2], 0.25), 1.25)
  const groups = [groupOf([turnsTrajectory(1, [2, 2]), turnsTrajectory(0, [2, 2])])]
  const entropies = [Float32Array.of(0, 0, 1, 1, 9, 3, 5), Float32Array.of(0, 0, 2, 2, 9, 8, 0)]
  const refine = (method: Algorithm): TrainSequence[] =>
    method.refine!(
      scored(method.learn(groups, contextOf()).sequences).map((sequence, i) => ({
        ...sequence,
        entropy: entropies[i],
      })),
      contextOf(),
    )
  const tokens = refine(credit.highEntropyMinority.make(credit.highEntropyMinority.options.parse({ fraction: 0.25 })))
  assert.deepEqual(
    tokens.map(({ factors }) => [...factors!]),
    [
      [0, 0, 0, 0, 0, 0, 1],
      [0, 0, 0, 0, 0, 1, 0],
    ],
  )
  const dart = credit.dart.make(credit.dart.options.parse({ below: 0.5, cap: 1e9 }))
  const turns = refine(dart)
  assert.deepEqual(
    turns.map(({ factors }) => [...factors!].map((factor) => Number(factor > 0))),
    [
      [0, 0, 0, 0, 0, 1, 1],
      [0, 0, 0, 0, 0, 1, 1],
    ],
  )
  const hero = credit.heroSwe.make(credit.heroSwe.options.parse({ turnPenalty: 1 }))
  const plain = hero.learn(groups, contextOf()).sequences
  const [success, failure] = refine(hero)
  assert.deepEqual(success.advantages, plain[0].advantages)
  assert.equal(failure.advantages[2], plain[1].advantages[2])
  assert.ok(failure.advantages[5] < plain[1].advantages[5])
  assert.throws(() => dart.refine!(plain, contextOf()), { code: 'usage' })
})

test('step-wise statistics of DART let long episodes weigh more', () => {
  const groups = [groupOf([turnsTrajectory(1, [1]), turnsTrajectory(0, [1, 1, 1])])]
  const [[first, second]] = learnt(credit.dart.make(credit.dart.options.parse({ normalization: 'mean' })), groups)
  near([first, second], [0.75, -0.25])
})

test('any success beats any failure, and the shorter the longer', () => {
  near(credit.resolutionFirst([true, true, false, true], [10, 20, 5, 20], 0.2), [1.2, 1.05, 0, 1.05])
  assert.deepEqual(credit.resolutionFirst([true, false], [9, 1], 0.2), [1, 0])
})

test('positions where siblings part weigh more', () => {
  assert.equal(
    credit.positionDivergence([
      [-1, -2],
      [-1, -2],
    ]),
    0,
  )
  near(credit.positionWeights([0, 2, 1], 1.4), [1, 1.4, 1.2])
  assert.deepEqual(credit.positionWeights([3, 3], 1.4), [1, 1])
  const method = credit.twGrpo.make(credit.twGrpo.options.parse({ size: 2 }))
  const sequences = scored(method.learn([testGroup([1, 0, 1])], contextOf()).sequences, 2).map((sequence, i) => {
    // Siblings agree at their first and last token, and part at the second.
    const logprobs = Float32Array.from({ length: 10 }, (_, v) => (v === 6 ? -0.5 - i : -1))
    return { ...sequence, alternatives: { ...sequence.alternatives!, logprobs } }
  })
  const [refined] = method.refine!(sequences, contextOf())
  near(refined.factors!, [0, 0, 1, 1.4, 1])
  assert.equal(credit.multiChoiceReward(['A'], ['A', 'C']), 0.5)
  assert.equal(credit.multiChoiceReward(['A', 'B'], ['A', 'C']), 0)
})

test('R^3L: successes weigh 1 whatever the group, and a shared turn is masked', () => {
  near(credit.pivotalAdvantages([1, 0.5, 0]), [1, 0, -0.5])
  near(credit.pivotalAdvantages([0.5, 0.3]), [0.3, -0.1])
  const branch = turnsTrajectory(0, [2, 2])
  const groups = [groupOf([turnsTrajectory(1, [2, 2]), { ...branch, tokens: [0, 1, 2, 3, 4, 5, 99] }])]
  const method = credit.r3l.make(credit.r3l.options.parse({}))
  const refined = method.refine!(method.learn(groups, contextOf()).sequences, contextOf())
  for (const { factors } of refined) assert.deepEqual([...factors!], [0, 0, 0, 0, 0, 1, 1])
  const lone = method.learn([testGroup([1])], contextOf())
  assert.equal(lone.sequences[0].advantages[2], 1)
})

test('SUPO normalizes over rollouts, not over their segments', () => {
  const rollouts = [
    { reward: 1, segments: 3, overlong: false },
    { reward: 0, segments: 1, overlong: false },
    { reward: 0, segments: 2, overlong: true },
  ]
  const advantages = credit.supoAdvantages(rollouts)
  near(advantages[0], Array<number>(3).fill(2 / Math.sqrt(3)), 1e-5)
  assert.deepEqual(advantages[2], [0, 0])
})

test('every declaration parses its defaults, and every method survives degenerate groups', () => {
  const names = new Set<string>()
  for (const declared of credit.creditObjectives) {
    assert.ok(!names.has(declared.name), `${declared.name} is declared twice`)
    names.add(declared.name)
    const made = declared.make(declared.options.parse({}))
    if (declared.kind !== 'method') continue
    const method = made as Algorithm
    const silent = { ...testTrajectory(1), mask: new Uint8Array(5) }
    for (const group of [testGroup([]), testGroup([1]), testGroup([1, 1]), groupOf([silent, testTrajectory(0)])])
      for (const groups of [[], [group], [group, testGroup([1e30, -1e30])]]) {
        const { sequences } = method.learn(groups, contextOf())
        const supplied = scored(sequences, method.needs.alternatives ?? 0)
        for (const { advantages, weights } of method.weigh(method.refine?.(supplied, contextOf()) ?? supplied))
          assert.ok([...advantages, ...weights].every(Number.isFinite), `${declared.name} is not finite`)
      }
  }
})
