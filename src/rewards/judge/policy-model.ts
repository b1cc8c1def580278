import type { Completion, Policy, SampleRequest } from '../../policy/types.js'
import type { ChatFormat } from '../../text/types.js'
import { JudgeFailure, type JudgeModel } from './types.js'

interface Waiting {
  request: SampleRequest
  resolve: (completion: Completion) => void
  reject: (error: unknown) => void
}

/**
 * A policy as a judge. What is asked in one go is sampled in one go. A policy that learns judges as it is at the time, so its
 * version is part of its name.
 *
 * @example policyModel({ policy: await policy.snapshot(), chat, name: 'the model as it began' })
 */
export function policyModel(options: {
  policy: Policy
  chat: ChatFormat
  name: string
  close?: () => Promise<void>
}): JudgeModel {
  const { policy, chat, name } = options
  let waiting: Waiting[] = []
  let work = Promise.resolve()
  let count = 0

  const flush = async (): Promise<void> => {
    const batch = waiting
    waiting = []
    if (batch.length === 0) return
    try {
      const completions = await policy.sample(batch.map(({ request }) => request))
      const byId = new Map(completions.map((completion) => [completion.id, completion]))
      for (const { request, resolve, reject } of batch) {
        const completion = byId.get(request.id)
        if (completion) resolve(completion)
        else reject(new JudgeFailure('the policy left the question without an answer', { retryable: false }))
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  const room = (tokens: number): number => {
    const left = policy.contextLength - tokens
    if (left < 1)
      throw new JudgeFailure(`the question takes ${tokens} tokens, the judge reads ${policy.contextLength}`, {
        retryable: false,
      })
    return left
  }
  return {
    get name() {
      return `${name}@${policy.version}`
    },
    async complete({ messages, maxTokens, temperature, seed }) {
      const tokens = chat.prompt(messages)
      const request = {
        id: String(count++),
        tokens,
        maxTokens: Math.min(maxTokens, room(tokens.length)),
        temperature,
        seed,
      }
      const completion = await new Promise<Completion>((resolve, reject) => {
        waiting.push({ request, resolve, reject })
        if (waiting.length === 1) setImmediate(() => (work = work.then(flush)))
      })
      return {
        text: chat.tokenizer.decode(completion.tokens),
        inputTokens: tokens.length,
        outputTokens: completion.tokens.length,
      }
    },
    async likelihoods(messages, answers) {
      const prompt = chat.prompt(messages)
      const sequences = answers.map((answer) => [...prompt, ...chat.tokenizer.encode(answer)])
      room(Math.max(...sequences.map((sequence) => sequence.length)) - 1)
      const masks = sequences.map((sequence) => Uint8Array.from(sequence, (_, t) => (t >= prompt.length ? 1 : 0)))
      const scored = await policy.score(sequences, { masks })
      return scored.map(({ logprobs }) => logprobs.subarray(prompt.length).reduce((sum, value) => sum + value, 0))
    },
    close: options.close,
  }
}
