import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import type { TrainSequence } from '../../policy/types.js'
import { grpo } from '../grpo.js'
import { contextOf, groupOf, learnt } from '../multi/testing.js'
import { assertLossEdges, gradientError, randomLossTokens } from '../testing-loss.js'
import { testTrajectory } from '../testing.js'
import type { Algorithm, Group, Trajectory } from '../types.js'
import * as free from './index.js'

const close = (actual: readonly number[], expected: readonly number[], tolerance = 1e-9): void => {
  assert.equal(actual.length, expected.length)
  actual.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= tolerance, `entry ${i}: ${value}, expected ${expected[i]}`),
  )
}

/** A reply whose own reward is 0.5 whatever it says, so that only labels made here can teach. */
const saying = (content: string, rest: Partial<Trajectory> = {}): Trajectory => ({
  ...testTrajectory(0.5),
  messages: [{ role: 'assistant', content }],
  ...rest,
})
const groupSaying = (...contents: string[]): Group => groupOf(contents.map((content) => saying(content)))

test('the majority votes; missing answers are no candidates; the first of equals wins', () => {
  assert.equal(free.majorityVote(['7', '8', '8']), '8')
  assert.equal(free.majorityVote(['7', '8']), '7')
  assert.equal(free.majorityVote([null, null, '8']), '8')
  assert.equal(free.majorityVote([null, null, '8'], 0.5), null)
  assert.equal(free.majorityVote(['8', null], 0.5), '8')
  assert.equal(free.majorityVote([null]), null)
  assert.equal(free.majorityVote([]), null)
})

test('TTRL learns towards the majority, from the first samples only where told so', () => {
  const groups = [groupSaying('7', '8', '8', '')]
  const [advantages] = learnt(free.ttrl.make(free.ttrl.options.parse({ normalization: 'mean' })), groups)
  close(advantages, [-0.5, 0.5, 0.5, -0.5])
  const two = free.ttrl.make(free.ttrl.options.parse({ normalization: 'mean', learners: 2 }))
  const lesson = two.learn(groups, contextOf())
  close(learnt(two, groups)[0], [-0.5, 0.5, 0, 0])
  assert.deepEqual(
    lesson.origins.map(({ trajectory }) => trajectory),
    [0, 1],
  )
  const strict = free.ttrl.make(free.ttrl.options.parse({ minimumShare: 0.6 }))
  const undecided = strict.learn(groups, contextOf())
  assert.equal(undecided.sequences.length, 0)
  assert.equal(undecided.metrics?.['majority-vote.undecided'], 1)
  assert.equal(grpo().learn(groups).sequences.length, 0, 'without votes there is nothing to learn')
})

test('alpha of TTRV cannot matter under a baseline of the group, and does under one of the batch', () => {
  const random = createRandom(5)
  const groups = Array.from({ length: 4 }, (_, g) =>
    groupSaying(...Array.from({ length: 6 }, () => String(random.integer(0, g)))),
  )
  const advantagesOf = (options: object): number[][] => learnt(free.ttrv.make(free.ttrv.options.parse(options)), groups)
  for (const normalization of ['mean', 'mean-std'] as const) {
    const [without, published] = [0, 0.75].map((alpha) => advantagesOf({ alpha, normalization }))
    without.forEach((row, g) => close(row, published[g], 1e-6))
    assert.ok(without.flat().some((advantage) => Math.abs(advantage) > 0.1))
  }
  const [without, batch] = [0, 0.75].map((alpha) => advantagesOf({ alpha, baseline: 'batch' }))
  assert.ok(without.flat().some((advantage, i) => Math.abs(advantage - batch.flat()[i]) > 0.1))
})

test('frequencies are shares less alpha times the entropy of answers', () => {
  close(free.frequencyRewards(['a', 'a', 'b', null], 0), [0.5, 0.5, 0.25, 0])
  const entropy = -(2 / 3) * Math.log(2 / 3) - (1 / 3) * Math.log(1 / 3)
  close(
    free.frequencyRewards(['a', 'a', 'b', null], 2),
    [0.5, 0.5, 0.25, 0].map((share) => share - 2 * entropy),
  )
  close(free.frequencyRewards([null, null], 2), [0, 0])
  assert.deepEqual(free.frequencyRewards([], 1), [])
})

test('a minority keeps a reward in TTRV and none in TTRL', () => {
  const groups = [groupSaying('a', 'a', 'a', 'b', 'b', 'c')]
  const [soft] = learnt(free.ttrv.make(free.ttrv.options.parse({})), groups)
  const [hard] = learnt(free.ttrl.make(free.ttrl.options.parse({})), groups)
  assert.ok(soft[3] > soft[5])
  assert.equal(hard[3], hard[5])
})

test('consistency pools the groups of one problem, whatever their language', () => {
  const english = groupOf([saying('7'), saying('8')], { language: 'en', key: 'p' })
  const swahili = groupOf([saying('8'), saying('8')], { language: 'sw', key: 'p' })
  const other = groupOf([saying('7'), saying('7'), saying('8')], { key: 'q' })
  close(
    free
      .consistencyRewards(
        [
          ['7', '8'],
          ['8', '8'],
        ],
        ['p', 'p'],
      )
      .flat(),
    [0, 2 / 3, 2 / 3, 2 / 3],
  )
  close(free.consistencyRewards([['7', null], ['7']], ['p', 'q']).flat(), [0, 0, 0])
  const pooled = free.consistencyMethod.make(free.consistencyMethod.options.parse({ normalization: 'mean' }))
  const rows = learnt(pooled, [english, swahili, other])
  close(rows[0], [-1 / 3, 1 / 3], 1e-6)
  const alone = free.ttrv.make(free.ttrv.options.parse({ normalization: 'mean' }))
  close(learnt(alone, [english, swahili, other])[0], [0, 0])
})

test('self-certainty is exact with all tokens, and from below with few', () => {
  const random = createRandom(2)
  const logits = Array.from({ length: 12 }, () => 2 * random.normal())
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0))
  const logprobs = logits.map((logit) => logit - total).sort((a, b) => b - a)
  const exact = logprobs.reduce((sum, logprob) => sum + (Math.log(1 / 12) - logprob) / 12, 0)
  close([free.selfCertainty(logprobs, 12)], [exact])
  let before = -1e-12
  for (let k = 0; k <= 12; k++) {
    const bound = free.selfCertainty(logprobs.slice(0, k), 12)
    assert.ok(bound >= before - 1e-12 && bound <= exact + 1e-9, `${k}: ${bound} of ${exact}`)
    before = bound
  }
  close([free.selfCertainty([], 12)], [0])
  assert.ok(Number.isFinite(free.selfCertainty([0], 1e5)))
  assert.throws(() => free.selfCertainty([0, -9], 1), { code: 'usage' })
})

/** Two alternatives a token: the sampled one with probability p, and another with 1 - p. */
function sureOf(sequences: readonly TrainSequence[], probabilities: readonly number[]): TrainSequence[] {
  return sequences.map((sequence, i) => ({
    ...sequence,
    tokens: sequence.tokens.map(() => 0),
    entropy: sequence.logprobs.map(() => 1 - probabilities[i]),
    alternatives: {
      count: 2,
      ids: Int32Array.from(sequence.tokens.flatMap(() => [0, 1])),
      logprobs: Float32Array.from(
        sequence.tokens.flatMap(() => [Math.log(probabilities[i]), Math.log(1 - probabilities[i])]),
      ),
    },
  }))
}

test('Intuitor and EM-RL reward what the policy is sure of, once sequences are scored', () => {
  const groups = [groupSaying('a', 'b', 'c')]
  for (const { options, make } of [free.intuitor, free.entropyReward]) {
    const method = make(options.parse({ normalization: 'mean' }) as never) as Algorithm
    const { sequences } = method.learn(groups, contextOf())
    const refined = method.refine!(sureOf(sequences, [0.5, 0.7, 0.9]))
    const advantages = refined.map((sequence) => sequence.advantages[2])
    assert.ok(advantages[0] < advantages[1] && advantages[1] < advantages[2], method.name)
    assert.ok(Math.abs(advantages.reduce((sum, value) => sum + value, 0)) < 1e-6)
    assert.equal(refined[0].advantages[0], 0)
    assert.throws(() => method.refine!(sequences), { code: 'usage' })
    if (method.name === 'intuitor') assert.equal(method.needs.alternatives, 64)
    else assert.equal(method.needs.old, true)
  }
  const both = free.intuitor.make(free.intuitor.options.parse({ normalization: 'mean', taskWeight: 1 }))
  const mixed = [groupOf([saying('a', { reward: 9 }), saying('b')])]
  const [first] = both.refine!(sureOf(both.learn(mixed, contextOf()).sequences, [0.5, 0.9]))
  assert.ok(first.advantages[2] > 3, 'the task outweighs certainty')
})

test('entropy minimization has the gradient c of H; likelihood is the mean or sum of logprobs', () => {
  const loss = free.entropyMinimizationPart.make({})
  for (const seed of [1, 2, 3]) {
    const tokens = randomLossTokens(seed)
    assert.ok(gradientError(loss, tokens) < 1e-6)
    close([...loss.evaluate(tokens).entropyGradient!], [...tokens.weights])
  }
  assertLossEdges(loss)
  const groups = [
    groupOf([saying('a', { logprobs: Float32Array.of(0, 0, -1, -2, -3) }), { ...testTrajectory(0, { length: 1 }) }]),
  ]
  const rewardsOf = (average: boolean): number[] =>
    free.likelihoodPart
      .make(free.likelihoodPart.options.parse({ average }))(groups, { ...contextOf(), state: null })
      .groups[0].trajectories.map(({ reward }) => reward)
  assert.deepEqual(rewardsOf(true), [-2, -1])
  assert.deepEqual(rewardsOf(false), [-6, -1])
})

test('every method of the folder learns from ordinary, single and masked groups', () => {
  const masked = saying('a', { mask: new Uint8Array(5) })
  const inputs: Group[][] = [[], [groupSaying('a')], [groupSaying('', '')], [groupOf([masked, saying('b')])]]
  for (const { kind, options, make, name } of free.labelFreeObjectives) {
    if (kind !== 'method') continue
    const method = make(options.parse({}) as never) as Algorithm
    assert.equal(method.name, name)
    for (const groups of inputs) {
      const lesson = method.learn(groups, contextOf())
      lesson.advantages.forEach((rows, g) => assert.equal(rows.length, groups[g].trajectories.length))
      const scored = sureOf(
        lesson.sequences,
        lesson.sequences.map(() => 0.5),
      )
      const refined = method.refine?.(scored) ?? scored
      for (const { advantages } of refined) assert.ok(advantages.every(Number.isFinite), name)
    }
  }
})
