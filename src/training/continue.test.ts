import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Group, LearnContext } from '../algorithms/types.js'
import { MyriadError } from '../core/index.js'
import { parseConfig } from './config.js'
import { playContinuations } from './continue.js'
import { demonstrate, type Demonstration } from './demonstrate.js'
import { DEFAULT_LIMITS } from './episode.js'
import { countDropped, type Rollout } from './rollout.js'
import { createScorer, type Scorer } from './scoring.js'
import { climb, openTestPolicy, TEST_CONFIG } from './testing.js'

const context: LearnContext = { step: 2, seed: 1, state: null }
const byTask = createScorer({ name: 'task', score: ({ outcome }) => outcome.reward }, async () => null)

/** Two problems of three turns, of which the first is shown; each turn of the expert is "+" and the stop token. */
async function continued(lengths: (index: number) => number, score: Scorer = byTask) {
  const { policy, chat } = await openTestPolicy()
  const problems = [1, 2].map((seed) => climb.generate(seed, { language: 'en', difficulty: 0, split: 'train' }))
  const { contextLength } = policy
  const shown = (await demonstrate(climb, problems[0], {
    chat,
    contextLength,
    limits: DEFAULT_LIMITS,
    seed: 1,
    afterSpace: false,
  })) as Demonstration
  const groups: Group[] = problems.map((problem) => ({ problem, trajectories: [] }))
  const play: Rollout = { groups, dropped: [], sampledTokens: 100 }
  const asked: unknown[] = []
  const taught = await playContinuations(
    groups,
    [shown, null],
    {
      needs: { continuations: 6 },
      prefixLength: (length, given, group, index) => {
        asked.push([length, given, group])
        return lengths(index)
      },
    },
    context,
    {
      policy,
      chat,
      tasks: [{ task: climb, languages: climb.languages, difficulty: [0, 1], weight: 1 }],
      score,
      config: parseConfig(TEST_CONFIG),
      step: 2,
    },
    play,
  )
  return { taught, play, shown, asked, chat, policy }
}

test('continuations begin as the demonstration does, by as many tokens as the method says, and go on by themselves', async () => {
  const { taught, play, shown, asked, chat, policy } = await continued((index) => index)
  assert.equal(taught[1].continuations, undefined)
  const continuations = taught[0].continuations!
  assert.equal(continuations.length, 6)
  assert.deepEqual(asked[0], [6, context, 0])
  let sampled = 0
  for (const [index, { tokens, mask, given, logprobs, messages }] of continuations.entries()) {
    const places = [...shown.mask.keys()].filter((t) => shown.mask[t])
    const end = index === 0 ? 0 : places[index - 1] + 1
    assert.deepEqual(tokens.slice(0, end), shown.tokens.slice(0, end))
    assert.deepEqual(
      [...(given ?? [])].flatMap((one, t) => (one ? [t] : [])),
      places.slice(0, index),
    )
    assert.ok(mask.every((own, t) => !(own && given?.[t])))
    assert.equal(mask.indexOf(1), places[index], 'the policy speaks where the expert stopped')
    // What was sampled has the probability that the policy gives it after the prefix.
    const [scored] = await policy.score([tokens], { masks: [mask] })
    logprobs.forEach((logprob, t) => assert.ok(Math.abs(logprob - (mask[t] ? scored.logprobs[t] : 0)) < 1e-6))
    sampled += mask.reduce((sum, own) => sum + own, 0)
    // A reply that was begun for it is one reply.
    const first = messages.find(({ role }) => role === 'assistant')!.content
    if (index > 0) assert.ok(first.startsWith('+'), first)
    if (index === 1) assert.ok(chat.tokenizer.decode(tokens).includes(first))
  }
  assert.equal(play.sampledTokens, 100 + sampled)
})

test('something is always left to the policy, and what fails is dropped and counted', async () => {
  const whole = await continued(() => 100)
  assert.ok(whole.taught[0].continuations!.every(({ mask }) => mask.reduce((sum, own) => sum + own, 0) > 0))
  const failing = await continued(
    () => 3,
    async () => {
      throw new MyriadError('runtime', 'judge down')
    },
  )
  assert.deepEqual(failing.taught[0].continuations, [])
  assert.deepEqual(countDropped(failing.play.dropped), { 'reward-error': 6 })
})
