/** Properties that hold of every method, whatever its family: what a single family's tests cannot see. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, deriveSeed, MyriadError } from '../core/index.js'
import { lossTokens, type Scored } from '../policy/loss-tokens.js'
import type { Alternatives, LossResult, LossTokens, TrainSequence } from '../policy/types.js'
import { algorithmByName, listObjectives, objectiveByName } from './registry.js'
import { gradientError } from './testing-loss.js'
import { testTrajectory } from './testing.js'
import type { Algorithm, Group, LearnContext, Shown, Trajectory } from './types.js'

/** What a method cannot do without. */
const required: Record<string, Record<string, unknown>> = {
  lagrangian: { budget: 0.3 },
  'pid-lagrangian': { budget: 0.3 },
  'lagrangian-advantage-grpo': { budget: 0.3 },
  laconic: { budget: 4 },
  'reward-cost-grpo': { budget: 0.3 },
  'return-conditioned': { controls: [1, 2] },
}

const methods = listObjectives()
  .filter(({ kind }) => kind === 'method')
  .map(({ name }) => name)

/** A method from its defaults, but of few alternatives: all is faster, and nothing is another method for it. */
function make(name: string): Algorithm {
  const options = { ...required[name] }
  const shape = (objectiveByName(name).options as unknown as { shape: object }).shape
  for (const field of ['alternatives', 'size']) if (field in shape) options[field] = 6
  return algorithmByName(name, options)
}

const VOCABULARY = 12

/** Logits of a model at one token of a text, the same wherever the text stands. */
function logitsOf(tokens: readonly number[], t: number, model: string, vocabulary: number): Float64Array {
  const random = createRandom(deriveSeed(7, model, tokens.join(), t))
  return Float64Array.from({ length: vocabulary }, () => random.normal())
}

/** Models as what was added, how much of it, to one base: the policy has moved twice since it was sampled. */
const MODELS: Record<string, Record<string, number>> = {
  behaviour: {},
  old: { old: 0.7 },
  now: { old: 0.7, now: 0.9 },
  reference: { reference: 0.5 },
  teacher: { teacher: 0.8 },
}

const known = new Map<string, Float64Array>()

/** Logprobs over the vocabulary of a model at one token of a text. */
function distribution(tokens: readonly number[], t: number, model: string, vocabulary: number): Float64Array {
  const key = `${model} ${vocabulary} ${t} ${tokens.join()}`
  const found = known.get(key) ?? makeDistribution(tokens, t, model, vocabulary)
  known.set(key, found)
  return found
}

function makeDistribution(tokens: readonly number[], t: number, model: string, vocabulary: number): Float64Array {
  const logits = logitsOf(tokens, t, 'base', vocabulary)
  for (const [other, by] of Object.entries(MODELS[model]))
    logitsOf(tokens, t, other, vocabulary).forEach((logit, v) => (logits[v] += by * logit))
  const largest = Math.max(...logits)
  const total = largest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0))
  return logits.map((logit) => logit - total)
}

function logprobsOf({ tokens, mask }: Pick<TrainSequence, 'tokens' | 'mask'>, model: string, k = 0): Float32Array {
  return Float32Array.from(mask, (trained, t) =>
    trained ? distribution(tokens, t, model, vocabularyOf(k))[tokens[t]] : 0,
  )
}

const vocabularyOf = (k = 0): number => Math.max(VOCABULARY, k + 4)

function alternativesOf(sequence: TrainSequence, k: number): Alternatives {
  const { tokens } = sequence
  const ids = new Int32Array(tokens.length * k)
  const logprobs = new Float32Array(tokens.length * k)
  tokens.forEach((_, t) => {
    const row = distribution(tokens, t, 'old', vocabularyOf(k))
    ;[...row.keys()]
      .sort((a, b) => row[b] - row[a])
      .slice(0, k)
      .forEach((id, place) => {
        ids[t * k + place] = id
        logprobs[t * k + place] = row[id]
      })
  })
  return { count: k, ids, logprobs }
}

const ofIds = (sequence: TrainSequence, { ids, count }: Alternatives, model: string): Float32Array =>
  Float32Array.from(
    sequence.tokens.flatMap((_, t) => {
      const row = distribution(sequence.tokens, t, model, vocabularyOf(count))
      return [...ids.subarray(t * count, (t + 1) * count)].map((id) => (id < 0 ? 0 : row[id]))
    }),
  )

function entropyOf(sequence: TrainSequence, model: string, k = 0): Float32Array {
  return Float32Array.from(sequence.mask, (trained, t) =>
    trained
      ? distribution(sequence.tokens, t, model, vocabularyOf(k)).reduce((sum, lp) => sum - lp * Math.exp(lp), 0)
      : 0,
  )
}

const valuesOf = ({ tokens, mask }: TrainSequence, model: string): Float32Array =>
  Float32Array.from(mask, (trained, t) =>
    trained ? createRandom(deriveSeed(3, model, tokens.join(), t)).uniform() : 0,
  )

/** What a loop supplies. */
function supply({ needs }: Algorithm, sequences: readonly TrainSequence[]): TrainSequence[] {
  const k = needs.alternatives
  return sequences.map((sequence) => {
    const alternatives = k ? alternativesOf(sequence, k) : undefined
    return {
      ...sequence,
      ...(needs.old && { oldLogprobs: logprobsOf(sequence, 'old', k), entropy: entropyOf(sequence, 'old', k) }),
      ...(needs.values && { values: valuesOf(sequence, 'old') }),
      ...(alternatives && { alternatives }),
      ...(needs.reference && {
        referenceLogprobs: logprobsOf(sequence, 'reference', k),
        ...(alternatives && { referenceAlternatives: ofIds(sequence, alternatives, 'reference') }),
      }),
      ...(needs.teacher && {
        teacherLogprobs: logprobsOf(sequence, 'teacher', k),
        ...(alternatives && { teacherAlternatives: ofIds(sequence, alternatives, 'teacher') }),
      }),
    }
  })
}

/** What the policy says after it has moved. */
function scoredNow({ needs, loss }: Algorithm, sequence: TrainSequence): Scored {
  const k = needs.alternatives
  return {
    logprobs: logprobsOf(sequence, 'now', k),
    ...(loss.reads?.entropy && { entropy: entropyOf(sequence, 'now', k) }),
    ...(loss.reads?.values && { values: valuesOf(sequence, 'now') }),
    ...(loss.reads?.alternatives &&
      sequence.alternatives && {
        alternatives: { ...sequence.alternatives, logprobs: ofIds(sequence, sequence.alternatives, 'now') },
      }),
  }
}

interface Step {
  result: LossResult
  tokens: LossTokens
  /** Gradients of everything a loss teaches, by text and place. */
  slopes: Map<string, number>
  state: LearnContext['state']
}

function demonstrationsOf(groups: readonly Group[]): Shown[] {
  return groups.map((_, g) => ({
    tokens: [1, 2, 3 + (g % 4), 5, 6, 7],
    mask: Uint8Array.of(0, 0, 1, 1, 1, 1),
  }))
}

/** What a loop plays beside the samples; rewards lie between the least and the largest of the samples'. */
function played({ needs }: Algorithm, groups: readonly Group[]): Group[] {
  return groups.map((group, g) => {
    const rewards = group.trajectories.map(({ reward }) => reward)
    const [least, largest] = [Math.min(...rewards), Math.max(...rewards)]
    const between = (share: number): number => (1 - share) * least + share * largest
    const continuation = (i: number): Trajectory => {
      const reward = between(i / needs.continuations!)
      const sample = sampleOf(90_000 + 100 * g + i, { reward, turnRewards: [0, reward] })
      return { ...sample, problem: group.problem, mask: sample.mask.map((own, t) => (t < 4 ? 0 : own)) }
    }
    return {
      ...group,
      ...(needs.greedy && { greedyReward: between(0.5) }),
      ...(needs.continuations && {
        continuations: Array.from({ length: needs.continuations }, (_, i) => continuation(i)),
      }),
    }
  })
}

/** A step of the loop: learn, score, refine, weigh, evaluate. Null where there is nothing to learn, which the loop skips. */
function stepOf(
  algorithm: Algorithm,
  groups: readonly Group[],
  step = 1,
  state: LearnContext['state'] = null,
): Step | null {
  const demonstrations = algorithm.needs.demonstrations ? demonstrationsOf(groups) : undefined
  const context: LearnContext = { step, seed: 11, state, ...(demonstrations && { demonstrations }) }
  const lesson = algorithm.learn(played(algorithm, groups), context)
  if (lesson.sequences.length === 0) return null
  const supplied = supply(algorithm, lesson.sequences)
  const batch = algorithm.weigh(algorithm.refine?.(supplied, context) ?? supplied)
  const tokens = lossTokens(
    batch,
    batch.map((sequence) => scoredNow(algorithm, sequence)),
    algorithm.loss,
  )
  const result = algorithm.loss.evaluate(tokens)
  const slopes = new Map<string, number>()
  const places = batch.flatMap(({ tokens: text, mask }) =>
    [...mask].flatMap((trained, t) => (trained ? [`${text.join()}@${t}`] : [])),
  )
  const width = tokens.alternatives?.count ?? 1
  places.forEach((place, i) => {
    const add = (key: string, slope: number): void => {
      if (slope !== 0) slopes.set(key, (slopes.get(key) ?? 0) + slope)
    }
    add(place, result.gradient[i])
    add(`${place} entropy`, result.entropyGradient?.[i] ?? 0)
    add(`${place} value`, result.valueGradient?.[i] ?? 0)
    for (let k = 0; k < width; k++)
      add(`${place} id ${tokens.alternatives?.ids[i * width + k]}`, result.alternativesGradient?.[i * width + k] ?? 0)
  })
  return { result, tokens, slopes, state: lesson.state ?? null }
}

interface Sample extends Partial<Trajectory> {
  length?: number
}

/** A trajectory of two turns whose text is its own, off the policy it is learnt by. */
function sampleOf(seed: number, { length, ...rest }: Sample = {}): Trajectory {
  const random = createRandom(deriveSeed(5, 'sample', seed))
  const turns = [length ?? 2 + random.integer(0, 3), length ?? 1 + random.integer(0, 3)]
  const mask = Uint8Array.from([0, 0, ...Array<number>(turns[0]).fill(1), 0, ...Array<number>(turns[1]).fill(1)])
  const tokens = Array.from(mask, (sampled, t) => (sampled || t > 1 ? random.integer(0, VOCABULARY - 1) : t + 1))
  const reward = rest.reward ?? Math.round(random.uniform() * 1000) / 1000
  const style = Math.round(random.uniform() * 100) / 100
  const early = Math.round(random.uniform() * 100) / 100
  const answer = String(random.integer(0, 3))
  return {
    ...testTrajectory(reward, { success: reward > 0.5 }),
    tokens,
    mask,
    logprobs: logprobsOf({ tokens, mask }, 'behaviour'),
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'let me see' },
      { role: 'user', content: 'well?' },
      { role: 'assistant', content: `it is ${answer}` },
    ],
    outcome: {
      reward,
      success: reward > 0.5,
      wellFormed: seed % 5 > 0,
      metrics: { cost: style, duration: 1 + style, quality: reward },
    },
    reward,
    rewardParts: {
      task: reward - style,
      style,
      cost: style,
      'demonstration-likeness': 0.3 + style / 2,
      'demonstration-reward': 1,
    },
    languageConsistent: seed % 3 > 0,
    turnRewards: [early, reward - early],
    tokenRewards: Float32Array.from(mask, (sampled) => (sampled ? random.normal() * 0.1 : 0)),
    stopReason: seed % 7 === 0 ? 'length' : 'stop',
    version: seed % 11,
    turns: 2,
    ...rest,
  }
}

function groupsOf(seed: number, size = 6, each: (g: number, i: number) => Sample = () => ({})): Group[] {
  return Array.from({ length: 5 }, (_, g) => {
    const isPool = g === 4 && size > 4
    const problem = {
      task: g < 2 ? 'echo' : 'count',
      language: g % 2 === 0 ? 'en' : 'sw',
      difficulty: 0.2 * g,
      split: 'train' as const,
      key: `${g >> 1}`,
      data: { n: g },
    }
    return {
      problem,
      trajectories: Array.from({ length: isPool ? 16 : size }, (_i, i) => ({
        ...sampleOf(seed * 1000 + g * 100 + i, {
          ...(isPool && { reward: i === 3 ? -9 : i === 8 ? -6 : 0.9 + i / 100 }),
          ...each(g, i),
        }),
        problem,
      })),
    }
  })
}

const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-4 * Math.max(1e-3, Math.abs(a), Math.abs(b))

function areEqual(one: Map<string, number>, other: Map<string, number>): boolean {
  return [...new Set([...one.keys(), ...other.keys()])].every((key) => isNear(one.get(key) ?? 0, other.get(key) ?? 0))
}

/** Slopes of three steps, early and late ones, state handed on; in the late ones the sampler is nearly certain. */
function runOf(name: string, groups: readonly Group[]): Map<string, number> {
  const certain = groups.map((group) => ({
    ...group,
    trajectories: group.trajectories.map((one) => ({ ...one, logprobs: one.logprobs.map((lp) => lp / 20) })),
  }))
  const all = new Map<string, number>()
  let state: LearnContext['state'] = null
  for (const step of [1, 59, 60]) {
    const made = stepOf(make(name), step < 50 ? groups : certain, step, state)
    assert.ok(made, `${name} learns nothing`)
    made.slopes.forEach((slope, key) => all.set(`${step} ${key}`, slope))
    state = JSON.parse(JSON.stringify(made.state)) as LearnContext['state']
  }
  return all
}

const plain = groupsOf(31)
const runs = new Map(methods.map((name) => [name, runOf(name, plain)]))

const parts = (task: number, other: number): Record<string, number> => ({
  task,
  style: other,
  cost: -other,
  'demonstration-likeness': 0.5,
  'demonstration-reward': 1,
})
const sized = (by: number) => (_: number, i: number) => ({
  reward: (i - 1) * by,
  rewardParts: parts((i - 1) * by, -by),
  turnRewards: [0, (i - 1) * by],
  tokenRewards: undefined,
})
const edges: Record<string, Group[]> = {
  'no group': [],
  'groups of one': groupsOf(1, 1),
  'equal rewards': groupsOf(2, 4, () => ({ reward: 1, turnRewards: [0, 1] })),
  'empty completions': groupsOf(3, 4, () => ({ length: 0 })),
  'some empty completions': groupsOf(3, 4, (_, i) => (i % 2 ? { length: 0 } : {})),
  'everything masked': groupsOf(4, 4).map((group) => ({
    ...group,
    trajectories: group.trajectories.map((one) => ({ ...one, mask: new Uint8Array(one.mask.length) })),
  })),
  'rewards of 1e30': groupsOf(5, 4, sized(1e30)),
  'rewards of 1e308': groupsOf(5, 4, sized(5e307)),
  'negative rewards': groupsOf(6, 4, (_, i) => ({ reward: -1 - i, turnRewards: [-1, -i] })),
}

for (const [what, groups] of Object.entries(edges)) {
  test(`${what}: every method is finite, or says that a number is not`, () => {
    for (const name of methods) {
      try {
        const step = stepOf(make(name), groups)
        if (!step) continue
        assert.ok(Number.isFinite(step.result.value), `${name}: the loss is ${step.result.value}`)
        for (const [place, slope] of step.slopes) assert.ok(Number.isFinite(slope), `${name}: ${slope} at ${place}`)
        for (const [metric, value] of Object.entries(step.result.metrics))
          assert.ok(Number.isFinite(value), `${name}: ${metric} is ${value}`)
      } catch (error) {
        if (error instanceof MyriadError && error.code === 'numeric') assert.match(what, /1e/, `${name}: ${error}`)
        else throw new Error(name, { cause: error })
      }
    }
  })
}

test('a batch without a trainable token has loss 0, whatever a method reads', () => {
  for (const name of methods) {
    const { loss } = make(name)
    const { value, gradient } = loss.evaluate(lossTokens([], [], loss))
    assert.equal(Math.abs(value), 0, name)
    assert.equal(gradient.length, 0, name)
  }
})

/** Methods whose loss holds weights or targets as constants, so that its value's differences are not its slopes. */
const constantWeights: Record<string, string> = {
  'r-lol': 'clipped importance weights',
  'a-lol': 'clipped importance weights',
  'a-lol-seq': 'clipped importance weights',
  cispo: 'clipped ratios',
  dppo: 'ratios, and which tokens are dropped',
  rapid: 'truncated ratios',
  vespo: 'weights of sequences',
  kto: 'the divergence all are compared with',
  dft: 'probabilities',
  chord: 'p (1 - p) of demonstrated tokens',
  sdft: 'importance weights',
  'sampled-distillation': 'the gap to the teacher',
  sdpo: 'the gap to the teacher',
}

test('slopes are finite differences of the value, but where weights are constants', () => {
  const small = groupsOf(21, 4).slice(0, 2)
  const wrong = methods.filter((name) => {
    const step = stepOf(make(name), small)
    return step && !(gradientError(make(name).loss, step.tokens) < 1e-6)
  })
  assert.deepEqual(
    wrong.filter((name) => !(name in constantWeights)),
    [],
  )
})

/** Methods to which the order of a group's trajectories says something. */
const ordered: Record<string, string> = {
  'micro-batch-grpo': 'micro-batches are cut in order',
  'clip-cov-grpo': 'which tokens are dropped is drawn from the batch',
  rebel: 'pairs are drawn at random',
  'pairwise-ppo': 'pairs are drawn at random',
  'online-dpo': 'pairs are drawn at random',
  refuel: 'pairs are drawn at random',
  brpo: 'the reference reply is drawn at random',
  ttrl: 'of two answers given equally often the first is voted for',
}

test('the order of the trajectories of a group makes no difference', () => {
  const reversed = plain.map((group) => ({ ...group, trajectories: [...group.trajectories].reverse() }))
  const moved = methods.filter((name) => !areEqual(runs.get(name)!, runOf(name, reversed)))
  assert.deepEqual(moved.sort(), Object.keys(ordered).sort())
})

/** Methods that do not compare rewards with a mean of the group's own, but with something else. */
const absolute: Record<string, string> = {
  'r-lol': 'the reward itself',
  'a-lol': 'a value head',
  'a-lol-ref-free': 'a value head',
  'a-lol-seq': 'a value head',
  'a-lol-kl': 'a value head',
  ppo: 'a value head',
  vapo: 'a value head',
  'ma-rlhf': 'a value head',
  'ma-rlhf-macro-ratio': 'a value head',
  'uniform-redistribution': 'a value head',
  'fine-grained-rlhf': 'a value head',
  archer: 'a value head',
  bnpo: 'rewards are held to [0, 1]',
  'grpo-s': 'the reward of a demonstration',
  lcrl: 'bad answers are those below a threshold',
  'minimum-reward-grpo': 'the least part of the reward, of which one was raised',
  'uncertainty-weighted-grpo': 'the mean of each part is a loss',
  r3l: 'rewards of 1 are successes',
  'ui-s1': 'a turn matched an expert by a threshold',
  t1: 'degenerate replies have -1',
  'maxrl-grpo': 'divided by the mean',
  rest: 'a threshold',
  'turn-weighted-sft': 'the reward itself',
  luffy: 'the reward of a demonstration',
  visurf: 'the reward of a demonstration',
  srft: 'the reward of a demonstration',
  'prefix-rft': 'the reward of a demonstration',
  paw: 'what is predicted weighs less as rewards rise',
}

test('a constant added to the rewards of a group makes no difference to methods with a baseline by group', () => {
  const raised = plain.map((group) => ({
    ...group,
    trajectories: group.trajectories.map((one) => ({
      ...one,
      reward: one.reward + 0.5,
      outcome: { ...one.outcome, reward: one.outcome.reward + 0.5 },
      rewardParts: { ...one.rewardParts, task: one.rewardParts.task + 0.5 },
      turnRewards: one.turnRewards!.map((earned, turn) => earned + 0.5 * turn),
    })),
  }))
  const moved = methods.filter((name) => !areEqual(runs.get(name)!, runOf(name, raised)))
  assert.deepEqual(moved.sort(), Object.keys(absolute).sort())
})

/** Pairs that are one method by their defaults, and say so. */
const same = [
  // What is left out of a composed method is what grpo has there.
  ['composed', 'grpo'],
  // The clip of gspo-token differs once tokens of a sequence have advantages of their own.
  ['gspo', 'gspo-token'],
]

test('no two methods teach the same, but those that say so', () => {
  const pairs = methods.flatMap((name, i) =>
    methods.slice(i + 1).flatMap((other) => (areEqual(runs.get(name)!, runs.get(other)!) ? [[name, other]] : [])),
  )
  assert.deepEqual(pairs, same)
})

test('bounds the wrong way round, and options that exclude each other, are refused before a run begins', () => {
  const wrong: [string, Record<string, unknown>][] = [
    ['bnpo', { low: 1, high: 1 }],
    ['cispo', { low: 6 }],
    ['tis', { low: 3 }],
    ['mis', { low: 4 }],
    ['icepop', { low: 6 }],
    ['clip-cov-grpo', { lower: 6 }],
    ['adaptive-entropy-grpo', { low: 2 }],
    ['gkd', { temperature: 2 }],
    ['copsd', { support: 'tail' }],
  ]
  for (const [name, options] of wrong) assert.throws(() => algorithmByName(name, options), { code: 'usage' }, name)
})
