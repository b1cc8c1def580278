import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MyriadError } from '../core/index.js'
import { weighted, type Reward } from '../rewards/index.js'
import type { Completion, Policy, SampleRequest } from '../policy/types.js'
import type { Episode, Task, Turn } from '../tasks/types.js'
import type { ChatFormat } from '../text/types.js'
import { DEFAULT_LIMITS } from './episode.js'
import { rollout, type Rollout } from './rollout.js'
import { createScorer } from './scoring.js'
import { climb, echo, openTestPolicy } from './testing.js'

/** A policy that says what it is told to: for every request, the reply by episode id and turn. */
function scripted(base: Policy, chat: ChatFormat, script: (id: string, turn: number) => string): Policy {
  const turns = new Map<string, number>()
  const answer = (request: SampleRequest): Completion => {
    const turn = turns.get(request.id) ?? 0
    turns.set(request.id, turn + 1)
    const whole = [...chat.tokenizer.encode(script(request.id, turn)), chat.tokenizer.stopTokens[0]]
    const tokens = whole.slice(0, request.maxTokens)
    const stopReason = tokens.length === whole.length ? 'stop' : 'length'
    return { id: request.id, tokens, logprobs: tokens.map((_, i) => -1 - i), stopReason, version: 7 }
  }
  const sample: Policy['sample'] = async (requests, options) => {
    const queue = [...requests]
    for (let request = queue.shift(); request; request = queue.shift()) {
      const next = await options?.next?.(answer(request))
      if (next) queue.push(next)
    }
    return []
  }
  return new Proxy(base, { get: (target, key) => (key === 'sample' ? sample : Reflect.get(target, key)) })
}

const play = async (
  task: Task,
  options: {
    script?: (id: string, turn: number) => string
    contextLength?: number
    maxTurns?: number
    samples?: number
    turnRewards?: boolean
  } & {
    score?: Parameters<typeof rollout>[0]['score']
  } = {},
): Promise<Rollout & { chat: ChatFormat }> => {
  const { policy: base, chat } = await openTestPolicy({ contextLength: options.contextLength })
  const policy = options.script ? scripted(base, chat, options.script) : base
  const problem = echo.generate(1, { language: 'en', difficulty: 0.5, split: 'train' })
  const result = await rollout({
    policy,
    chat,
    items: [
      {
        task,
        problem: { ...problem, task: task.id },
        samples: options.samples ?? 2,
        temperature: 1,
        turnRewards: options.turnRewards,
      },
    ],
    score: options.score ?? (async ({ outcome }) => ({ reward: outcome.reward, parts: {}, languageConsistent: null })),
    limits: { turnTimeoutMs: 20, rewardTimeoutMs: 20, maxTurns: options.maxTurns },
    seedPath: [1],
  })
  return { ...result, chat }
}

const broken = (respond: Episode['respond'], maxTurns = 3): Task => ({
  ...climb,
  maxTurns,
  play: () => ({ messages: [{ role: 'user', content: 'a' }], respond, randomReply: () => '+' }),
})
const onward = (): Turn => ({ messages: [{ role: 'user', content: 'b' }], done: false })

test('tokens in, tokens out: an episode of three turns, token by token', async () => {
  const { groups, chat, sampledTokens } = await play(climb, { script: () => '+', samples: 1 })
  const [trajectory] = groups[0].trajectories
  const plus = chat.tokenizer.encode('+')[0]
  const end = chat.tokenizer.stopTokens[0]
  const prompt = chat.prompt([{ role: 'user', content: 'f' }])
  const world = (text: string): number[] => chat.continuation([{ role: 'user', content: text }], { closed: true })
  const expected = [...prompt, plus, end, ...world('g'), plus, end, ...world('h'), plus, end]
  assert.deepEqual(trajectory.tokens, expected)
  assert.deepEqual(
    [...trajectory.mask].flatMap((sampled, t) => (sampled ? [trajectory.tokens[t]] : [])),
    [plus, end, plus, end, plus, end],
  )
  assert.deepEqual(
    [...trajectory.logprobs].filter((logprob) => logprob !== 0),
    [-1, -2, -1, -2, -1, -2],
  )
  assert.equal(trajectory.outcome.success, true)
  assert.equal(trajectory.turns, 3)
  assert.equal(trajectory.version, 7)
  assert.equal(sampledTokens, 6)
  assert.deepEqual(
    trajectory.messages.map(({ role, content }) => role + content),
    ['userf', 'assistant+', 'userg', 'assistant+', 'userh', 'assistant+'],
  )
})

test('a reply cut off by its limit is closed by the chat format, not by a sampled token', async () => {
  const task = { ...climb, maxReplyTokens: 1 }
  const { groups, chat } = await play(task, { script: () => '+', samples: 1 })
  const [{ tokens, mask }] = groups[0].trajectories
  const at = mask.indexOf(1)
  assert.equal(tokens[at + 1], chat.tokenizer.stopTokens[0])
  assert.equal(mask[at + 1], 0)
})

test('empty, malformed and endless replies are ordinary', async () => {
  const replies: Record<string, string> = { '0.0': '', '0.1': '??', '0.2': '+'.repeat(1000) }
  const { groups, dropped } = await play(echo, { script: (id) => replies[id], samples: 3 })
  assert.deepEqual(dropped, [])
  const seen = groups[0].trajectories.map(({ outcome, stopReason }) => [outcome.wellFormed, stopReason])
  assert.deepEqual(seen, [
    [false, 'stop'],
    [false, 'stop'],
    [false, 'length'],
  ])
})

test('an episode that outgrows the context, or a limit on turns, ends truncated', async () => {
  const full = await play(climb, { script: () => '+', contextLength: 8 })
  assert.deepEqual(
    full.groups[0].trajectories.map(({ stopReason, outcome, turns }) => [stopReason, outcome.success, turns]),
    [
      ['context', false, 1],
      ['context', false, 1],
    ],
  )
  const prompt = await play(climb, { contextLength: 3 })
  assert.deepEqual(
    prompt.groups[0].trajectories.map(({ stopReason, turns, mask }) => [stopReason, turns, mask.includes(1)]),
    [
      ['context', 0, false],
      ['context', 0, false],
    ],
  )
  const short = await play(climb, { script: () => '+', maxTurns: 2, samples: 1 })
  assert.deepEqual(
    short.groups[0].trajectories.map(({ stopReason, turns }) => [stopReason, turns]),
    [['length', 2]],
  )
})

test('what turns earned is kept, one number a turn, unless it is not wanted', async () => {
  const paying = (rewards: readonly (number | undefined)[]): Task => {
    const play: Task['play'] = (problem) => {
      const episode = climb.play({ ...problem, task: 'climb' })
      let turn = 0
      return { ...episode, respond: (reply) => ({ ...(episode.respond(reply) as Turn), reward: rewards[turn++] }) }
    }
    return { ...climb, play }
  }
  const told = async (rewards: (number | undefined)[], turnRewards?: boolean) => {
    const { groups, dropped } = await play(paying(rewards), { script: () => '+', samples: 1, turnRewards })
    return { turnRewards: groups[0].trajectories[0]?.turnRewards, dropped }
  }
  assert.deepEqual((await told([0.25, undefined, 0.5])).turnRewards, [0.25, 0, 0.5])
  assert.equal((await told([undefined, undefined, undefined])).turnRewards, undefined)
  assert.equal((await told([0.25, 0, 0.5], false)).turnRewards, undefined)
  const [{ reason, message }] = (await told([0, Infinity, 0])).dropped
  assert.equal(reason, 'reward-not-finite')
  assert.match(message, /climb.*turn 2.*Infinity/)
})

test('a task that fails costs its trajectory and is counted, whatever way it fails', async () => {
  const reasons = async (task: Task): Promise<string[]> => {
    const { groups, dropped } = await play(task, { script: () => '+' })
    assert.deepEqual(groups[0].trajectories, [])
    return dropped.map(({ reason }) => reason)
  }
  const twice = (reason: string): string[] => [reason, reason]
  assert.deepEqual(
    await reasons({
      ...climb,
      play: () => {
        throw new Error('no')
      },
    }),
    twice('task-error'),
  )
  const throwing = (): Turn => {
    throw new Error('no')
  }
  assert.deepEqual(await reasons(broken(throwing)), twice('task-error'))
  assert.deepEqual(await reasons(broken(async () => throwing())), twice('task-error'))
  assert.deepEqual(await reasons(broken(() => new Promise(() => {}))), twice('task-timeout'))
  assert.deepEqual(await reasons(broken(onward)), twice('turn-limit'))
  assert.deepEqual(await reasons(broken(() => ({ messages: [], done: true }))), twice('task-error'))
  assert.deepEqual(await reasons(broken(() => undefined as unknown as Turn)), twice('task-error'))
  const outcome = { reward: NaN, success: true, wellFormed: true }
  assert.deepEqual(await reasons(broken(() => ({ messages: [], done: true, outcome }))), twice('reward-not-finite'))
})

test('a reward that fails costs its trajectory only', async () => {
  let calls = 0
  const { groups, dropped } = await play(echo, {
    script: () => 'a',
    samples: 4,
    score: async () => {
      calls++
      if (calls === 1) throw new Error('judge down')
      if (calls === 3) await new Promise(() => {})
      if (calls === 2) throw new MyriadError('reward', 'it answered NaN')
      return { reward: 1, parts: { judge: 1 }, languageConsistent: true }
    },
  })
  assert.deepEqual(dropped.map(({ reason }) => reason).sort(), ['reward-error', 'reward-error', 'reward-not-finite'])
  assert.match(dropped[0].message, /echo.*judge down/)
  assert.match(dropped[2].message, /echo.*within 20 ms/)
  assert.equal(groups[0].trajectories.length, 1)
})

test('what an episode samples does not depend on what is played beside it', async () => {
  const { policy, chat } = await openTestPolicy()
  const problem = climb.generate(1, { language: 'en', difficulty: 0, split: 'train' })
  const item = { task: climb, problem, samples: 3, temperature: 1 }
  const common = {
    policy,
    chat,
    score: async () => ({ reward: 0, parts: {}, languageConsistent: null }),
    limits: DEFAULT_LIMITS,
    seedPath: [3],
  }
  const alone = await rollout({ ...common, items: [item] })
  const beside = await rollout({ ...common, items: [item, { ...item, samples: 20 }] })
  assert.deepEqual(alone.groups[0], beside.groups[0])
  assert.notDeepEqual(beside.groups[0].trajectories[0].tokens, beside.groups[0].trajectories[1].tokens)
})

test('rewards that compare are given the whole group once its last episode has ended, without those that were dropped', async () => {
  const seen: string[][] = []
  const longest: Reward = {
    name: 'longest',
    groupwise: true,
    score: () => null,
    scoreAll: async (transcripts) => {
      const replies = transcripts.map((transcript) => transcript.replies[0])
      seen.push(replies)
      const most = Math.max(...replies.map(({ length }) => length))
      return replies.map((reply) => (reply === 'b' ? new Error('no verdict') : reply.length === most ? 1 : 0))
    },
  }
  const failing: Task = {
    ...echo,
    play: (problem) => {
      const episode = echo.play(problem)
      return {
        ...episode,
        respond: (reply) => {
          if (reply === 'd') throw new Error('no')
          return episode.respond(reply)
        },
      }
    },
  }
  const replies: Record<string, string> = { '0.0': 'aa', '0.1': 'b', '0.2': 'd', '0.3': 'a' }
  const score = createScorer(weighted({ longest: [longest, 2] }), async () => null)
  const { groups, dropped } = await play(failing, { script: (id) => replies[id], samples: 4, score })
  assert.deepEqual(seen, [['aa', 'b', 'a']])
  assert.deepEqual(
    groups[0].trajectories.map(({ reward, rewardParts }) => [reward, rewardParts]),
    [
      [2, { longest: 2 }],
      [0, { longest: 0 }],
    ],
  )
  assert.deepEqual(dropped.map(({ reason }) => reason).sort(), ['reward-error', 'task-error'])
})

test('a greedy reply beside the samples: its reward is the group’s, its tokens are counted, and nothing else changes', async () => {
  const { policy, chat } = await openTestPolicy()
  const problem = climb.generate(1, { language: 'en', difficulty: 0, split: 'train' })
  const temperatures: (number | undefined)[] = []
  const sample: Policy['sample'] = (requests, options) => {
    temperatures.push(...requests.map(({ temperature }) => temperature))
    return policy.sample(requests, options)
  }
  const watched = new Proxy(policy, { get: (target, key) => (key === 'sample' ? sample : Reflect.get(target, key)) })
  const seen: [number, number][] = []
  const playWith = (greedy: boolean, score: Parameters<typeof rollout>[0]['score']): Promise<Rollout> =>
    rollout({
      policy: watched,
      chat,
      items: [{ task: climb, problem, samples: 3, temperature: 1, greedy }],
      score,
      limits: DEFAULT_LIMITS,
      seedPath: [3],
      onEpisode: (done, total) => void seen.push([done, total]),
    })
  const length: Parameters<typeof rollout>[0]['score'] = async ({ replies }) => ({
    reward: replies.join('').length,
    parts: {},
    languageConsistent: null,
  })
  const [plain, beside] = [await playWith(false, length), await playWith(true, length)]
  assert.deepEqual(temperatures, [1, 1, 1, 1, 1, 1, 0])
  assert.deepEqual(seen.at(-1), [4, 4])
  assert.equal('greedyReward' in plain.groups[0], false)
  const { greedyReward, ...group } = beside.groups[0]
  assert.deepEqual(group, plain.groups[0])
  const greedy = await rollout({
    policy,
    chat,
    items: [{ task: climb, problem, samples: 1, temperature: 0 }],
    score: length,
    limits: DEFAULT_LIMITS,
    seedPath: [9],
  })
  assert.equal(greedyReward, greedy.groups[0].trajectories[0].reward)
  assert.equal(beside.sampledTokens, plain.sampledTokens + greedy.sampledTokens)
  // Dropped like any other.
  let calls = 0
  const broken = await playWith(true, async (transcript) => {
    if (++calls === 4) throw new Error('judge down')
    return length(transcript)
  })
  assert.equal(broken.dropped.length, 1)
  const { trajectories } = broken.groups[0]
  assert.equal(trajectories.length + Number('greedyReward' in broken.groups[0]), 3)
})
