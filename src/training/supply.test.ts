import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compose } from '../algorithms/compose.js'
import { clippedLoss } from '../algorithms/clipped.js'
import { groupAdvantages } from '../algorithms/advantages.js'
import type { Group, Needs } from '../algorithms/types.js'
import { createTabularPolicy, createTestChat } from '../policy/testing.js'
import type { Policy, TrainSequence } from '../policy/types.js'
import { listTasks } from '../tasks/registry.js'
import { createRandom } from '../core/index.js'
import { parseConfig, type TrainConfigInput } from './config.js'
import { demonstrate } from './demonstrate.js'
import { DEFAULT_LIMITS } from './episode.js'
import { privilegedPrompts, shifted } from './privileged.js'
import { rollout } from './rollout.js'
import { createScorer } from './scoring.js'
import type { Reward } from '../rewards/types.js'
import { openSupply } from './supply.js'
import { teacherFolders } from './teachers.js'
import { climb, echo, openTestPolicy, TEST_CHARACTERS, TEST_CONFIG, TEST_TASKS } from './testing.js'

const tasks = TEST_TASKS.map((task) => ({
  task,
  languages: task.languages,
  difficulty: [0, 1] as [number, number],
  weight: 1,
}))

/** Differs within a group, whatever is said. */
const long: Reward = { name: 'long', score: ({ replies }) => replies.join('').length }

/** A policy that has learnt something, a step of its episodes, and what was supplied for them. */
async function supplied(needs: Needs, more: Partial<TrainConfigInput> = {}, teacher?: (folder: string) => Policy) {
  const { policy, chat } = await openTestPolicy({ valueHead: needs.values })
  const config = parseConfig({ ...TEST_CONFIG, ...more })
  const items = ['en', 'sw'].flatMap((language, i) =>
    TEST_TASKS.map((task) => ({
      task,
      problem: task.generate(i, { language, difficulty: 0, split: 'train' as const }),
      samples: 6,
      temperature: config.temperature,
    })),
  )
  const play = (): Promise<{ groups: Group[] }> =>
    rollout({ policy, chat, items, score: createScorer(long), limits: DEFAULT_LIMITS, seedPath: [5] })
  const algorithm = compose({
    name: 'test',
    advantage: groupAdvantages({ normalization: 'mean' }),
    loss: clippedLoss(),
    dynamicSampling: false,
    needs,
  })
  const step = async (batch: readonly TrainSequence[]): Promise<void> => {
    await policy.update(algorithm.weigh(batch), { loss: algorithm.loss, learningRate: 0.5 })
  }
  const initial = await policy.snapshot()
  const supply = await openSupply({
    policy,
    chat,
    needs,
    config,
    tasks,
    openTeacher: async (folder) => ({ policy: teacher?.(folder) ?? policy, chat }),
  })
  // One step of training before, so that policy and reference are two.
  const before = await play()
  await step(algorithm.learn(before.groups).sequences)
  const { groups } = await play()
  const demonstrations = await supply.demonstrate(groups, 1)
  const lesson = algorithm.learn(groups)
  const result = await supply.score(lesson, groups, demonstrations)
  return { ...result, policy, chat, initial, groups, lesson, demonstrations, supply, step }
}

const scoresOf = async (
  policy: Policy,
  sequences: readonly TrainSequence[],
  temperature = 1,
): Promise<Float32Array[]> => {
  const scores = await policy.score(
    sequences.map(({ tokens }) => tokens),
    { temperature, masks: sequences.map(({ mask }) => mask) },
  )
  return scores.map(({ logprobs }) => logprobs)
}

test('old scores, values and alternatives are those of the policy before the update, at the temperature of sampling', async () => {
  const { sequences, policy, groups } = await supplied(
    { old: true, values: true, alternatives: 3 },
    { temperature: 0.7 },
  )
  assert.deepEqual(
    sequences.map(({ oldLogprobs }) => oldLogprobs),
    await scoresOf(policy, sequences, 0.7),
  )
  assert.ok(groups.length > 0 && sequences.length > 20)
  for (const { tokens, mask, logprobs, oldLogprobs, entropy, values, alternatives } of sequences) {
    assert.equal(alternatives!.ids.length, tokens.length * 3)
    assert.equal(values!.length, tokens.length)
    mask.forEach((sampled, t) => {
      if (!sampled) return
      assert.ok(Math.abs(oldLogprobs![t] - logprobs[t]) < 1e-6, 'sampled from the same distribution')
      assert.ok(entropy![t] > 0)
      const best = alternatives!.logprobs[3 * t]
      assert.ok(best >= oldLogprobs![t] - 1e-6 && best >= alternatives!.logprobs[3 * t + 1])
    })
  }
})

test('the reference is the model the run began with, and speaks of the alternatives of the policy', async () => {
  const { sequences, initial, policy } = await supplied({ reference: 'initial', alternatives: 2 })
  const initially = await scoresOf(initial, sequences)
  assert.deepEqual(
    sequences.map(({ referenceLogprobs }) => referenceLogprobs),
    initially,
  )
  assert.notDeepEqual(initially, await scoresOf(policy, sequences))
  const [{ tokens, mask, alternatives, referenceAlternatives }] = sequences
  const [same] = await initial.score([tokens], { masks: [mask], alternatives: { count: 2, ids: [alternatives!.ids] } })
  assert.deepEqual(referenceAlternatives, same.alternatives!.logprobs)
})

test('a moving reference follows once when told to', async () => {
  const { supply, lesson, groups, sequences, initial, policy } = await supplied({ reference: { rate: 0.25 } })
  const initially = await scoresOf(initial, sequences)
  assert.deepEqual(
    sequences.map(({ referenceLogprobs }) => referenceLogprobs),
    initially,
    'it has not followed yet',
  )
  await supply.follow()
  const followed = await initial.snapshot()
  await followed.follow!(policy, 0.25)
  const again = await supply.score(lesson, groups, undefined)
  const expected = await scoresOf(followed, sequences)
  assert.deepEqual(
    again.sequences.map(({ referenceLogprobs }) => referenceLogprobs),
    expected,
  )
  assert.notDeepEqual(expected, initially)
})

test('teachers are chosen by language', async () => {
  const chat = createTestChat(TEST_CHARACTERS)
  const taught = async (language: string): Promise<Policy> => {
    const policy = createTabularPolicy({ chat, order: 2 })
    const tokens = chat.prompt([{ role: 'user', content: 'a' }])
    const all = [...tokens, language === 'sw' ? 7 : 8]
    const mask = Uint8Array.from(all, (_, t) => Number(t === tokens.length))
    const ones = new Float32Array(all.length).fill(1)
    const zeros = new Float32Array(all.length)
    for (let i = 0; i < 5; i++)
      await policy.update([{ tokens: all, mask, logprobs: zeros, advantages: ones, weights: ones }], {
        loss: clippedLoss(),
        learningRate: 1,
      })
    return policy
  }
  const models: Record<string, Policy> = { swahili: await taught('sw'), others: await taught('en') }
  const teachers = { sw: 'swahili', default: 'others' }
  const { sequences } = await supplied({ teacher: 'model', alternatives: 2 }, { teachers }, (folder) => models[folder])
  const swahili = await scoresOf(models.swahili, sequences)
  const others = await scoresOf(models.others, sequences)
  assert.notDeepEqual(swahili, others)
  assert.deepEqual(
    sequences.map(({ teacherLogprobs }) => teacherLogprobs),
    sequences.map(({ info }, i) => (info!.language === 'sw' ? swahili[i] : others[i])),
  )
  assert.ok(sequences.every(({ teacherAlternatives, tokens }) => teacherAlternatives!.length === 2 * tokens.length))
})

test('the base of a teacher is the reference where it is named, else the model the run began with', async () => {
  const { policy: base, chat } = await openTestPolicy()
  const ones = Float32Array.of(0, 0, 0, 0, 1, 1)
  const seen = { tokens: chat.prompt([{ role: 'user', content: 'ab' }]).concat(7), mask: Uint8Array.from(ones) }
  await base.update([{ ...seen, logprobs: new Float32Array(6), advantages: ones, weights: ones }], {
    loss: clippedLoss(),
    learningRate: 1,
  })
  const needs = { teacher: 'model', reference: 'teacher-base', alternatives: 2 } as const
  const opened: string[] = []
  const open = (folder: string, own?: Policy): Policy => (opened.push(folder), own ?? base)
  const named = await supplied(needs, { teacher: 't', teacherBase: 'b' }, open)
  assert.deepEqual(opened, ['t', 'b'])
  const expected = await scoresOf(base, named.sequences)
  assert.notDeepEqual(expected, await scoresOf(named.initial, named.sequences))
  assert.deepEqual(
    named.sequences.map(({ referenceLogprobs }) => referenceLogprobs),
    expected,
  )
  const plain = await supplied(needs, { teacher: 't' }, open)
  assert.deepEqual(
    plain.sequences.map(({ referenceLogprobs }) => referenceLogprobs),
    await scoresOf(plain.initial, plain.sequences),
  )
})

test('a teacher of a language teaches its regions too', () => {
  const languages = ['pt-BR', 'pt', 'en']
  const folders = teacherFolders({ teachers: { pt: 'a', default: 'b' } }, [{ languages }])
  assert.deepEqual([...folders.values()], ['a', 'a', 'b'])
})

test('a teacher that is missing, or of another vocabulary, is refused', async () => {
  const { policy, chat } = await openTestPolicy()
  const open = (more: Partial<TrainConfigInput>, characters: string) =>
    openSupply({
      policy,
      chat,
      needs: { teacher: 'model' },
      config: parseConfig({ ...TEST_CONFIG, ...more }),
      tasks,
      openTeacher: async () => {
        const other = createTestChat(characters)
        return { policy: createTabularPolicy({ chat: other }), chat: other }
      },
    })
  const refuse = (promise: Promise<unknown>, message: RegExp): Promise<void> =>
    assert.rejects(promise, { code: 'usage', message })
  await refuse(open({}, TEST_CHARACTERS), /teacher: .*give the folder/)
  await refuse(open({ teachers: { sw: 'x' } }, TEST_CHARACTERS), /teachers: there is none for "en"/)
  await refuse(open({ teacher: 'x' }, `${TEST_CHARACTERS}z`), /x has another vocabulary.*17 tokens instead of 16/)
  await refuse(open({ teacher: 'x' }, [...TEST_CHARACTERS].reverse().join('')), /token 6 is "\?" instead of "a"/)
  await (await open({ teacher: 'x' }, TEST_CHARACTERS)).close()
})

test('a privileged teacher reads the same replies after a prompt that holds the solution; scores come back in place', async () => {
  const { sequences, initial, chat, demonstrations, lesson, metrics } = await supplied({
    teacher: 'privileged',
    alternatives: 2,
  })
  assert.equal(metrics.privileged, 1)
  for (const [i, sequence] of sequences.entries()) {
    const { opening, replies } = demonstrations![lesson.origins[i].group]!
    const told = chat.prompt([{ role: 'user', content: `${opening[0].content}\n\n${replies.join('\n')}` }])
    const start = chat.prompt(opening).length
    const tokens = [...told, ...sequence.tokens.slice(start)]
    const ids = new Int32Array(tokens.length * 2)
    ids.set(sequence.alternatives!.ids.subarray(start * 2), told.length * 2)
    const [score] = await initial.score([tokens], { alternatives: { count: 2, ids: [ids] } })
    sequence.mask.forEach((sampled, t) => {
      const there = t - start + told.length
      assert.equal(sequence.teacherLogprobs![t], sampled ? score.logprobs[there] : 0)
      if (sampled) assert.equal(sequence.teacherAlternatives![2 * t + 1], score.alternatives!.logprobs[2 * there + 1])
    })
  }
})

test('a teacher that is told a sibling reads what it said, as the solution or in a place of its own', async () => {
  for (const teacherPrompt of [undefined, '{sibling}?{solution}+{prompt}']) {
    const { initial, chat, demonstrations, lesson, groups, supply } = await supplied(
      { teacher: 'privileged' },
      teacherPrompt ? { teacherPrompt } : {},
    )
    const siblings = lesson.origins.map(({ trajectory }, i) => (i === 0 ? null : (trajectory + 1) % 6))
    const { sequences, metrics } = await supply.score({ ...lesson, siblings }, groups, demonstrations)
    assert.ok(Math.abs(metrics.privileged - (sequences.length - 1) / sequences.length) < 1e-9)
    for (const [i, sequence] of sequences.entries()) {
      const { group } = lesson.origins[i]
      const { opening, replies } = demonstrations![group]!
      const named = siblings[i]
      const said = (named === null ? [] : groups[group].trajectories[named].messages)
        .flatMap(({ role, content }) => (role === 'assistant' ? [content.trim()] : []))
        .join('\n')
      const content = teacherPrompt
        ? `${said}?${replies.join('\n')}+${opening[0].content}`
        : `${opening[0].content}\n\n${said}`
      const plain = chat.prompt(opening)
      const told = named === null ? plain : chat.prompt([{ role: 'user', content }])
      const [score] = await initial.score([[...told, ...sequence.tokens.slice(plain.length)]])
      sequence.mask.forEach((sampled, t) =>
        assert.equal(sequence.teacherLogprobs![t], sampled ? score.logprobs[t - plain.length + told.length] : 0),
      )
    }
  }
})

test('a template with a place for a sibling is given one that succeeded, or nothing is told', async () => {
  const { initial, lesson, chat, supply, ...played } = await supplied(
    { teacher: 'privileged' },
    { teacherPrompt: '{sibling}{prompt}' },
  )
  // In the first group the third try has succeeded, in the others none.
  const groups = played.groups.map(({ problem, trajectories }, g) => ({
    problem,
    trajectories: trajectories.map((one, i) => ({ ...one, outcome: { ...one.outcome, success: g === 0 && i === 2 } })),
  }))
  const { sequences, metrics } = await supply.score(lesson, groups, undefined)
  let told = 0
  for (const [i, { group, trajectory }] of lesson.origins.entries()) {
    const { trajectories } = groups[group]
    const right = trajectories.find(({ outcome }, j) => outcome.success && j !== trajectory)
    if (right) told++
    const plain = chat.prompt(trajectories[0].messages.slice(0, 1))
    const content = right?.messages.flatMap(({ role, content: text }) => (role === 'assistant' ? [text.trim()] : []))
    const prompt = right
      ? chat.prompt([{ role: 'user', content: content!.join('\n') + right.messages[0].content }])
      : plain
    const [score] = await initial.score([[...prompt, ...sequences[i].tokens.slice(plain.length)]])
    const last = sequences[i].mask.lastIndexOf(1)
    assert.equal(sequences[i].teacherLogprobs![last], score.logprobs[last - plain.length + prompt.length])
  }
  assert.equal(told, 5)
  assert.ok(Math.abs(metrics.privileged - told / sequences.length) < 1e-9)
})

test('nothing is told where there is no solution, no room, or another prompt', () => {
  const chat = createTestChat(TEST_CHARACTERS)
  const opening = [{ role: 'user' as const, content: 'a' }]
  const prompt = chat.prompt(opening)
  const tokens = [...prompt, 6, 1]
  const mask = Uint8Array.from(tokens, (_, t) => Number(t >= prompt.length))
  const zeros = new Float32Array(tokens.length)
  const sequence = { tokens, mask, logprobs: zeros, advantages: zeros, weights: zeros }
  const shown = { opening, solution: ['$&b'], sibling: ['c', ' d '] }
  const options = { chat, contextLength: 100, template: '{solution}{prompt}' }
  const shiftOf = (more: object, of: typeof shown | null = shown): number | null =>
    privilegedPrompts([sequence], [of], { ...options, ...more })[0].shift
  assert.equal(shiftOf({}), 3)
  assert.equal(shiftOf({}, null), null)
  assert.equal(shiftOf({ contextLength: tokens.length + 2 }), null)
  assert.equal(shiftOf({}, { ...shown, opening: [{ role: 'user', content: 'b' }] }), null)
  const [told] = privilegedPrompts([sequence], [shown], options)
  assert.deepEqual(told.sequence.tokens, [...chat.prompt([{ role: 'user', content: '$&ba' }]), 6, 1])
  assert.deepEqual([...told.sequence.mask], [0, 0, 0, ...mask])
  const [both] = privilegedPrompts([sequence], [shown], { ...options, template: '{sibling}{prompt}' })
  assert.deepEqual(both.sequence.tokens, [...chat.prompt([{ role: 'user', content: 'c\nda' }]), 6, 1])
  const back = shifted({ logprobs: Float32Array.of(0, 0, 0, 1, 2, 3), entropy: new Float32Array(6) }, 3, 3)
  assert.deepEqual([...back.logprobs], [1, 2, 3])
})

test('demonstrations are episodes in tokens: what the expert says, with the token that ends it, is what is learnt', async () => {
  const { chat } = await openTestPolicy()
  const options = { chat, contextLength: 100, limits: DEFAULT_LIMITS, seed: 1, afterSpace: false }
  const problem = climb.generate(1, { language: 'en', difficulty: 0, split: 'train' })
  const shown = (await demonstrate(climb, problem, options))!
  const [plus, end] = [chat.tokenizer.encode('+')[0], 1]
  const turn = (content: string): number[] => chat.prompt([{ role: 'user', content }])
  const reply = [plus, end]
  assert.deepEqual(shown.tokens, [...turn('f'), ...reply, ...turn('g'), ...reply, ...turn('h'), ...reply])
  assert.deepEqual(
    shown.tokens.filter((_, t) => shown.mask[t]),
    [...reply, ...reply, ...reply],
  )
  assert.equal(await demonstrate(climb, problem, { ...options, contextLength: shown.tokens.length - 1 }), null)
  const mute = { ...climb, play: () => ({ ...climb.play(problem), expertReply: undefined }) }
  assert.equal(await demonstrate(mute, problem, options), null)
  const wrong = { ...echo, play: (of: typeof problem) => ({ ...echo.play(of), expertReply: () => 'h' }) }
  const asked = echo.generate(1, { language: 'en', difficulty: 0, split: 'train' })
  assert.equal(await demonstrate(wrong, asked, options), null, 'an expert that fails shows nothing')
})

test('every built-in task can show how it is done', async () => {
  for (const task of listTasks()) {
    let solved = 0
    for (let seed = 0; seed < 5; seed++) {
      const problem = task.generate(seed, { language: task.languages[0], difficulty: 0.3, split: 'train' })
      const episode = task.play(problem)
      const random = createRandom(seed)
      for (let turn = 0; turn < task.maxTurns; turn++) {
        const answer = await episode.respond(episode.expertReply!(random))
        if (!answer.done) continue
        if (answer.outcome?.success) solved++
        break
      }
    }
    assert.ok(solved >= 3, `${task.id}: ${solved} of 5`)
  }
})
