import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { z } from 'zod'
import type { TrainSequence } from '../policy/types.js'
import { mergeNeeds } from './composed.js'
import { crossEntropy } from './cross-entropy.js'
import { FAMILIES, objective, type Objective } from './objective.js'
import { algorithmByName, isObjective, listObjectives, objectiveByName } from './registry.js'
import type { Group, Trajectory } from './types.js'

const all = listObjectives()

test('every family has objectives, and every objective says what it is in full', () => {
  assert.deepEqual(new Set(all.map(({ family }) => family)), new Set(FAMILIES))
  const wordings = new Set<string>()
  for (const declared of all) {
    assert.match(declared.name, /^[a-z0-9]+(-[a-z0-9]+)*$/)
    for (const field of ['summary', 'formula', 'reference', 'use'] as const)
      assert.ok(declared[field].trim().length > 3, `${declared.name}: ${field}`)
    for (const row of declared.rows) assert.match(row, /^[AB]\d{3}$/, `${declared.name}: a row is one id`)
    wordings.add(`${declared.kind} ${declared.summary} ${declared.formula}`)
    assert.ok(isObjective(declared), declared.name)
  }
  assert.equal(wordings.size, all.length, 'two objectives of a kind say the same of themselves')
})

test('options are plain data, and none has the name of a field that the loop reads', () => {
  for (const declared of all) {
    const { properties = {} } = z.toJSONSchema(declared.options, { io: 'input', unrepresentable: 'any' })
    for (const field of ['name', 'epochs', 'minibatches', 'importanceCap', 'with'])
      assert.ok(!(field in properties), `${declared.name} has an option ${field}`)
  }
})

/** What a method cannot do without. */
const required: Record<string, object> = {
  lagrangian: { budget: 1 },
  'pid-lagrangian': { budget: 1 },
  'lagrangian-advantage-grpo': { budget: 1 },
  laconic: { budget: 1 },
  'reward-cost-grpo': { budget: 1 },
  'return-conditioned': { controls: [1, 2] },
}

test('every method is made from its defaults', () => {
  for (const { name, kind } of all) {
    if (kind !== 'method') continue
    const algorithm = algorithmByName(name, (required[name] ?? {}) as Record<string, unknown>)
    assert.equal(typeof algorithm.learn, 'function', name)
    if (algorithm.loss.reads?.values)
      assert.ok(algorithm.needs.values, `${name} reads values but does not ask for them`)
    if (algorithm.loss.reads?.alternatives)
      assert.ok(algorithm.needs.alternatives, `${name} reads alternatives but does not ask for them`)
  }
})

test('names: the nearest is suggested, a part is no method, two of one name are refused', () => {
  const refuse = (act: () => unknown, message: RegExp): void => assert.throws(act, { code: 'usage', message })
  refuse(() => objectiveByName('grop'), /no objective "grop"\. Did you mean "grpo"\?/)
  refuse(() => algorithmByName('grop'), /algorithm\.name: there is no method "grop"\. Did you mean "grpo"\?/)
  refuse(() => algorithmByName('clipped'), /"clipped" is a loss, not a method/)
  refuse(() => algorithmByName('group-relative'), /is an advantage, not a method/)
  refuse(() => listObjectives([objectiveByName('grpo')]), /two objectives are called "grpo"/)
  refuse(
    () => algorithmByName('grpo', { clipLow: 'x', epsilon: -1 }),
    /algorithm\.epsilon: .*got -1[^]*algorithm\.clipLow: .*got "x"/,
  )
})

const trajectory = (reward: number): Trajectory => ({
  problem: { task: 't', language: 'en', difficulty: 0, split: 'train', key: 'k', data: null },
  tokens: [1, 2, 3],
  mask: Uint8Array.of(0, 1, 1),
  logprobs: Float32Array.of(0, -1, -2),
  messages: [],
  outcome: { reward, success: reward > 0, wellFormed: true },
  reward,
  rewardParts: { task: reward },
  languageConsistent: true,
  stopReason: 'stop',
  version: 0,
  turns: 1,
})
const group = (rewards: number[]): Group => ({
  problem: trajectory(0).problem,
  trajectories: rewards.map(trajectory),
})

const halve = objective({
  kind: 'shaping',
  name: 'halve-rewards',
  family: 'multi-reward',
  summary: 'Rewards times a factor.',
  formula: 'R factor',
  reference: 'test',
  standing: 'ours',
  use: 'test',
  rows: [],
  needs: { old: true },
  options: z.strictObject({ factor: z.number().default(0.5) }),
  make:
    ({ factor }) =>
    (groups, { state }) => ({
      groups: groups.map(({ trajectories, ...rest }) => ({
        ...rest,
        trajectories: trajectories.map((one) => ({ ...one, reward: one.reward * factor })),
      })),
      state: Number(state ?? 0) + 1,
      metrics: { factor },
    }),
})

test('composed: parts by name, with options, in order, with their needs, state and metrics apart', () => {
  const algorithm = algorithmByName(
    'composed',
    {
      shaping: ['halve-rewards', { name: 'halve-rewards', factor: 4 }],
      advantage: { name: 'group-relative', normalization: 'mean' },
      loss: 'cispo-loss',
      regularizers: [
        { name: 'kl-k2', coefficient: 0.25 },
        { name: 'entropy-bonus', coefficient: 0.1 },
      ],
      aggregation: 'sequence-mean-token-sum',
      dynamicSampling: false,
    },
    [halve as unknown as Objective],
  )
  assert.deepEqual(algorithm.needs, { reference: 'initial', old: true })
  const lesson = algorithm.learn([group([1, 0]), group([1, 1])], {
    step: 2,
    seed: 1,
    state: { 'halve-rewards': 4, 'halve-rewards-2': 8 },
  })
  assert.deepEqual([...lesson.advantages[0][0]], [0, 1, 1], '(1 * 0.5 * 4 - 1), once each')
  assert.equal(lesson.sequences.length, 4, 'groups of equal rewards stay without dynamic sampling')
  assert.deepEqual(lesson.state, { 'halve-rewards': 5, 'halve-rewards-2': 9 })
  assert.deepEqual(lesson.metrics, { 'halve-rewards.factor': 0.5, 'halve-rewards-2.factor': 4 })
  const [weighed] = algorithm.weigh(lesson.sequences as TrainSequence[])
  assert.deepEqual([...weighed.weights], [0, 0.25, 0.25])
  assert.ok(algorithm.loss.reads?.entropy)
})

test('a regularizer is multiplied by its coefficient', () => {
  const lossOf = (coefficient: number) =>
    algorithmByName('composed', { regularizers: [{ name: 'kl-k2', coefficient }] }).loss
  const numbers = {
    logprobs: Float64Array.of(-1),
    oldLogprobs: Float64Array.of(-1),
    referenceLogprobs: Float64Array.of(-2),
    advantages: Float64Array.of(1),
    weights: Float64Array.of(1),
    segments: Int32Array.of(0),
  }
  // -A r + coefficient * (lp - rlp)^2 / 2
  assert.equal(lossOf(0.5).evaluate(numbers).value, -1 + 0.25)
  assert.equal(lossOf(2).evaluate(numbers).value, -1 + 1)
})

test('composed: a part that is unknown, of another kind or with wrong options is refused by its field', () => {
  const refuse = (options: Record<string, unknown>, message: RegExp): void =>
    assert.throws(() => algorithmByName('composed', options), { code: 'usage', message })
  refuse(
    { loss: 'group-relative' },
    /^algorithm\.loss: "group-relative" is an advantage, not a loss\. There are .*clipped/,
  )
  refuse({ shaping: ['clipped'] }, /^algorithm\.shaping\[0\]: "clipped" is a loss, not a shaping/)
  refuse({ advantage: 'group-relativ' }, /no advantage "group-relativ"\. Did you mean "group-relative"\?/)
  refuse(
    { regularizers: ['kl-k2', { name: 'entropy-bonus', coefficent: 1 }] },
    /^algorithm\.regularizers\[1\]: unknown field "coefficent"; "myriad algorithms show entropy-bonus"/,
  )
  refuse(
    { regularizers: [{ name: 'kl-k2', coefficient: 'x' }] },
    /regularizers\[0\]\.coefficient: expected a finite number/,
  )
  refuse(
    { advantage: { name: 'group-relative', normalization: 'x' } },
    /algorithm\.advantage\.normalization: .*got "x"/,
  )
  refuse({ los: 'clipped' }, /algorithm: unknown field "los"/)
})

test('a composed method takes further parts by name; one that wraps what was composed does not', () => {
  const plain = algorithmByName('gspo')
  const more = algorithmByName('gspo', {}, [halve as unknown as Objective], {
    shaping: [{ name: 'halve-rewards', factor: 3 }],
    advantage: { name: 'group-relative', normalization: 'mean' },
    regularizers: [{ name: 'kl-k2', coefficient: 0.5 }],
  })
  assert.deepEqual([more.name, more.needs], ['gspo', { ...plain.needs, reference: 'initial', old: true }])
  const groups = [group([1, 0])]
  assert.deepEqual([...more.learn(groups).advantages[0][0]], [0, 1.5, 1.5])
  assert.notDeepEqual(plain.learn(groups).advantages[0][0], more.learn(groups).advantages[0][0])
  assert.match(more.loss.name, new RegExp(`${plain.loss.name}.*kl`))
  const refuse = (name: string, parts: object, message: RegExp): void =>
    assert.throws(() => algorithmByName(name, {}, [], parts), { code: 'usage', message })
  refuse('micro-batch-grpo', { shaping: [] }, /algorithm\.with: "micro-batch-grpo" is not made of parts alone/)
  refuse('dpo', { regularizers: ['kl-k2'] }, /"dpo" is not made of parts alone/)
  refuse('gspo', { loss: 'group-relative' }, /algorithm\.with\.loss: "group-relative" is an advantage/)
})

test('needs of parts are merged; those that exclude each other are refused', () => {
  assert.deepEqual(mergeNeeds([{ old: true }, { alternatives: 4 }, { alternatives: 8, reference: { rate: 0.1 } }]), {
    reference: { rate: 0.1 },
    old: true,
    alternatives: 8,
  })
  assert.throws(() => mergeNeeds([{ reference: 'initial' }, { reference: { rate: 0.1 } }]), {
    code: 'usage',
    message: /different references/,
  })
})

test('an objective of your own is found by name, beside the built-in ones', () => {
  const own = objective({
    kind: 'method',
    name: 'likelihood-of-all',
    family: 'supervised',
    summary: 'x',
    formula: 'x',
    reference: 'x',
    standing: 'ours',
    use: 'x',
    rows: [],
    options: z.strictObject({}),
    make: () => ({ ...algorithmByName('grpo'), name: 'likelihood-of-all', loss: crossEntropy() }),
  }) as unknown as Objective
  assert.equal(algorithmByName('likelihood-of-all', {}, [own]).loss.name, crossEntropy().name)
})

test('docs/algorithms.md is what tools/algorithm-docs.mjs prints', async () => {
  const tool = new URL('../../tools/algorithm-docs.mjs', import.meta.url).href
  const { algorithmsPage } = (await import(tool)) as { algorithmsPage: (of: readonly Objective[]) => Promise<string> }
  const page = readFileSync(new URL('../../docs/algorithms.md', import.meta.url), 'utf8')
  assert.ok(
    page === (await algorithmsPage(all)),
    'it is out of date; run: npm run build && node tools/algorithm-docs.mjs',
  )
})
