import { createRandom, deriveSeed, messageOf, MyriadError } from '../../core/index.js'
import { cacheKey, type JudgeCache } from './cache.js'
import { createRateLimiter, type RateLimits } from './rate-limit.js'
import { JudgeFailure, systemClock, type Clock, type JudgeAnswer, type JudgeModel, type JudgeRequest } from './types.js'

/** Prices of a million tokens, in whatever currency the budget is in. */
export interface JudgePrices {
  input: number
  output: number
}

export interface JudgeClientOptions {
  model: JudgeModel
  cache?: JudgeCache
  limits?: RateLimits
  /** Further tries after one that failed in a way that may pass; 4 unless given. */
  retries?: number
  /** Most time one request may take; 60,000 unless given. */
  timeoutMs?: number
  /** Most an endpoint may ask to wait before the request counts as failed; 60,000 unless given. */
  longestWaitMs?: number
  prices?: JudgePrices
  /** Once so many tokens, or so much money, are spent nothing more is asked. */
  budget?: { tokens?: number; cost?: number }
  clock?: Clock
}

/** What judging took so far. */
export interface JudgeUsage {
  /** Requests made to the model, those that failed included. */
  requests: number
  /** Answers that came from the cache. */
  cached: number
  /** Requests repeated, for whatever reason. */
  retried: number
  /** Questions that stayed without a verdict. */
  failed: number
  inputTokens: number
  outputTokens: number
  /** 0 without prices. */
  cost: number
}

export interface JudgeClient {
  readonly model: JudgeModel
  readonly usage: Readonly<JudgeUsage>
  /**
   * Asks until `read` understands the answer.
   *
   * @throws MyriadError 'runtime' when the tries are used up, the failure will not pass, or the budget is spent
   */
  ask<T>(request: JudgeRequest, read: (text: string) => T): Promise<T>
  close(): Promise<void>
}

/**
 * A judge with everything that stands between a reward and an endpoint: cache, rate limit, retries with exponential backoff
 * (an endpoint's Retry-After goes first), a word of correction after a malformed answer, counts, and a budget. The same question
 * asked twice at a time is asked once. Only answers that were understood are cached.
 *
 * @example const judge = createJudgeClient({ model, limits: { concurrency: 4 } })
 */
export function createJudgeClient(options: JudgeClientOptions): JudgeClient {
  const { model, cache, prices, budget = {}, clock = systemClock } = options
  const { retries = 4, timeoutMs = 60_000, longestWaitMs = 60_000 } = options
  const limiter = createRateLimiter(options.limits ?? {}, clock)
  const usage: JudgeUsage = {
    requests: 0,
    cached: 0,
    retried: 0,
    failed: 0,
    inputTokens: 0,
    outputTokens: 0,
    cost: 0,
  }
  const open = new Map<string, Promise<unknown>>()

  const requireBudget = (): void => {
    const tokens = usage.inputTokens + usage.outputTokens
    const spent =
      budget.tokens !== undefined && tokens >= budget.tokens
        ? `${tokens} of ${budget.tokens} tokens`
        : budget.cost !== undefined && usage.cost >= budget.cost
          ? `${usage.cost} of ${budget.cost}`
          : null
    if (spent !== null)
      throw new MyriadError('runtime', `the judge's budget is spent (${spent}); raise it or train without the judge`)
  }
  const count = ({ inputTokens, outputTokens }: JudgeAnswer): void => {
    usage.inputTokens += inputTokens
    usage.outputTokens += outputTokens
    if (prices) usage.cost = (usage.inputTokens * prices.input + usage.outputTokens * prices.output) / 1e6
  }
  const once = async (request: JudgeRequest): Promise<JudgeAnswer> => {
    const bytes = request.messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
    return limiter.run(Math.ceil(bytes / 4) + request.maxTokens, async () => {
      requireBudget()
      usage.requests++
      const answer = await withDeadline((signal) => model.complete(request, { signal }), timeoutMs)
      count(answer)
      return answer
    })
  }
  const asked = async <T>(request: JudgeRequest, key: string, read: (text: string) => T): Promise<T> => {
    const known = await cache?.get(key)
    if (known) {
      try {
        const value = read(known.text)
        usage.cached++
        return value
      } catch {
        // Written when verdicts were read another way: asked again.
      }
    }
    const random = createRandom(deriveSeed('judge', key))
    let current = request
    for (let attempt = 0; ; attempt++) {
      let answer: JudgeAnswer | null = null
      try {
        answer = await once(current)
        const value = read(answer.text)
        await cache?.set(key, answer)
        return value
      } catch (error) {
        const failure = error instanceof JudgeFailure ? error : null
        const wait = failure?.retryAfterMs ?? (answer ? 0 : 500 * 2 ** attempt * (0.5 + random.uniform()))
        if (!failure?.retryable || attempt >= retries || wait > longestWaitMs) {
          usage.failed++
          if (error instanceof MyriadError) throw error
          const tries = attempt > 0 ? ` after ${attempt + 1} tries` : ''
          throw new MyriadError('runtime', `judge ${model.name}${tries}: ${messageOf(error)}`, { cause: error })
        }
        usage.retried++
        if (wait > 0) await clock.sleep(Math.ceil(wait))
        current = answer ? corrected(request, answer.text, failure.message, attempt + 1) : current
      }
    }
  }
  return {
    model,
    usage,
    async ask<T>(request: JudgeRequest, read: (text: string) => T) {
      const key = cacheKey(model.name, request)
      const before = open.get(key)
      if (before) return (await before) as T
      const answer = asked(request, key, read)
      open.set(key, answer)
      try {
        return await answer
      } finally {
        open.delete(key)
      }
    },
    close: async () => model.close?.(),
  }
}

/** The question again, with what was wrong about the answer; another seed, as the same one would say the same. */
function corrected(request: JudgeRequest, answer: string, wrong: string, attempt: number): JudgeRequest {
  return {
    ...request,
    seed: request.seed + attempt,
    messages: [
      ...request.messages,
      { role: 'assistant', content: answer.slice(-2000) || '(nothing)' },
      { role: 'user', content: `${wrong}. Answer again, with the JSON object only.` },
    ],
  }
}

async function withDeadline<T>(act: (signal: AbortSignal) => Promise<T>, timeoutMs: number): Promise<T> {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new JudgeFailure(`no answer within ${timeoutMs} ms`, { retryable: true }))
      controller.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([act(controller.signal), deadline])
  } finally {
    clearTimeout(timer)
  }
}
