import { systemClock, type Clock } from './types.js'

export interface RateLimits {
  requestsPerMinute?: number
  tokensPerMinute?: number
  /** Requests under way at a time. */
  concurrency?: number
}

/** A bucket that fills at a steady rate up to a minute's worth. */
interface Bucket {
  capacity: number
  level: number
  at: number
}

export interface RateLimiter {
  /** Runs it when its turn has come; turns are in order of asking. `tokens` is a guess of what it will take. */
  run<T>(tokens: number, act: () => Promise<T>): Promise<T>
}

/**
 * Keeps to a rate of requests and tokens (token buckets of one minute) and to a number of requests under way.
 *
 * @example const limiter = createRateLimiter({ requestsPerMinute: 60, concurrency: 4 })
 */
export function createRateLimiter(limits: RateLimits, clock: Clock = systemClock): RateLimiter {
  const bucket = (perMinute: number | undefined): Bucket | null =>
    perMinute === undefined ? null : { capacity: perMinute, level: perMinute, at: clock.now() }
  const requests = bucket(limits.requestsPerMinute)
  const tokens = bucket(limits.tokensPerMinute)
  const most = limits.concurrency ?? Infinity
  const waiting: (() => void)[] = []
  let running = 0
  let turn = Promise.resolve()

  const enter = async (): Promise<void> => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
  }
  const leave = (): void => {
    const next = waiting.shift()
    // Whoever waits takes over the place.
    if (next) next()
    else running--
  }
  const take = async (from: Bucket | null, amount: number): Promise<void> => {
    if (from === null) return
    // What is larger than a minute's worth waits for a full bucket and leaves a debt.
    const needed = Math.min(amount, from.capacity)
    for (;;) {
      const now = clock.now()
      from.level = Math.min(from.capacity, from.level + ((now - from.at) * from.capacity) / 60_000)
      from.at = now
      if (from.level >= needed - 1e-9) break
      await clock.sleep(Math.max(1, Math.ceil(((needed - from.level) * 60_000) / from.capacity)))
    }
    from.level -= amount
  }
  return {
    async run(amount, act) {
      await enter()
      try {
        const mine = turn.then(async () => {
          await take(requests, 1)
          await take(tokens, amount)
        })
        turn = mine.catch(() => undefined)
        await mine
        return await act()
      } finally {
        leave()
      }
    },
  }
}
