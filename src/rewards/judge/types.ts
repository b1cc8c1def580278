import type { Message } from '../../text/types.js'

/** What a judge is asked. */
export interface JudgeRequest {
  messages: readonly Message[]
  /** Most tokens of the answer. */
  maxTokens: number
  /** 0 is greedy. */
  temperature: number
  seed: number
  /** JSON schema that the endpoint is asked to keep to; what comes back is checked all the same. */
  schema?: Readonly<Record<string, unknown>>
}

/** What a judge said, and what it took. */
export interface JudgeAnswer {
  text: string
  inputTokens: number
  outputTokens: number
}

/** A language model that judges: a local policy, an endpoint, or anything else that answers messages. */
export interface JudgeModel {
  /** Names model and weights: part of the key of cached answers. */
  readonly name: string
  complete(request: JudgeRequest, options?: { signal?: AbortSignal }): Promise<JudgeAnswer>
  /** Logprobs in nats of each option as the whole answer, where the model can tell: [options]. */
  likelihoods?(messages: readonly Message[], options: readonly string[]): Promise<number[]>
  close?(): Promise<void>
}

/** Why a model did not answer, and whether it is worth asking again. */
export class JudgeFailure extends Error {
  readonly retryable: boolean
  /** What the endpoint asked to wait. */
  readonly retryAfterMs?: number
  constructor(message: string, options: { retryable: boolean; retryAfterMs?: number; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.name = 'JudgeFailure'
    this.retryable = options.retryable
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Time as the judge sees it: an argument, so that tests need not wait. */
export interface Clock {
  now(): number
  sleep(milliseconds: number): Promise<void>
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
}
