import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open } from '../../policy/local/testing.js'
import { FIRST_STEP } from '../compose.js'
import type { Objective } from '../objective.js'
import { preferenceObjectives } from './index.js'
import { groupOf } from './testing.js'

/** Methods of every kind of lesson: pairs, verdicts with mismatched rows, rankings, fresh replies, win rates. */
const taught: [string, object][] = [
  ['dpo', {}],
  ['dpo', { pairing: 'all', tail: 0.5, nll: 0.1 }],
  ['kto', { baseline: 'mismatched' }],
  ['plackett-luce-dpo', {}],
  ['simpo', {}],
  ['drpo', {}],
  ['nash', {}],
  ['pairwise-rl', {}],
]

for (const [name, given] of taught)
  test(`a model that learns by ${name} ${JSON.stringify(given)} comes to prefer what was rewarded`, async () => {
    const policy = await open()
    const reference = await policy.snapshot()
    const groups = [groupOf([0, 1, 0.4, 0.2], [4, 3, 4, 3]), groupOf([1, 0, 0.3], [3, 3, 4])]
    const replies = groups.flatMap(({ trajectories }) => trajectories)
    for (const reply of replies) {
      reply.tokens = reply.tokens.map((token) => token % 40)
      const [{ logprobs }] = await policy.score([reply.tokens])
      reply.logprobs = logprobs.map((logprob, t) => (reply.mask[t] ? logprob : 0))
    }
    const declared = preferenceObjectives.find(
      (each) => each.kind === 'method' && each.name === name,
    ) as Objective<'method'>
    const method = declared.make(declared.options.parse(given))
    /** How much likelier a token of the best reply is than one of the worst, in nats and over both groups. */
    const gap = async (): Promise<number> => {
      const scores = await policy.score(replies.map(({ tokens }) => tokens))
      const mean = (i: number): number =>
        scores[i].logprobs.reduce((sum, logprob, t) => sum + (replies[i].mask[t] ? logprob : 0), 0) /
        replies[i].mask.reduce((sum, sampled) => sum + sampled, 0)
      return mean(1) - mean(0) + mean(4) - mean(5)
    }
    const before = await gap()
    for (let step = 1; step <= 5; step++) {
      const { sequences } = method.learn(groups, { ...FIRST_STEP, step })
      const scores = method.needs.reference ? await reference.score(sequences.map(({ tokens }) => tokens)) : null
      const batch = sequences.map((sequence, i) =>
        scores ? { ...sequence, referenceLogprobs: scores[i].logprobs } : sequence,
      )
      const { applied } = await policy.update(method.weigh(batch), { loss: method.loss, learningRate: 0.002 })
      assert.ok(applied)
    }
    const after = await gap()
    assert.ok(after > before + 0.01, `from ${before} to ${after}`)
    await reference.close()
  })
