import { createRandom, MyriadError } from '../../core/index.js'
import type { Completion, SampleRequest } from '../types.js'
import type { KeyValueCache } from './cache.js'
import { draw, newTokens, type DrawOptions, type Sequence } from './drawing.js'
import type { View } from './view.js'

export interface SamplerOptions extends DrawOptions {
  /** Most tokens read by one prefill. */
  tokenBudget: number
  version: number
  /** Ids that end every reply. */
  stopTokens: readonly number[]
  /** Follow-ups of completions that ended together, in their order. */
  next: (completions: Completion[]) => Promise<(SampleRequest | null)[]>
  aborted: () => boolean
}

/**
 * Samples requests and their follow-ups with continuous batching: a finished sequence's slot goes to its follow-up, whose
 * context is already cached up to the new messages, or else to the next request waiting. Everything happens in an order
 * fixed by the requests alone.
 */
export async function sampleAll(
  view: View,
  cache: KeyValueCache,
  requests: readonly SampleRequest[],
  options: SamplerOptions,
): Promise<Completion[]> {
  cache.reset()
  const queue = requests.map((request) => request)
  const active: Sequence[] = []
  const done: Completion[] = []
  let head = 0

  const settle = async (): Promise<void> => {
    const ended = active.filter((sequence) => sequence.ended !== undefined)
    if (ended.length === 0) return
    const completions = ended.map((sequence) => completionOf(sequence, options.version))
    done.push(...completions)
    const followUps = await options.next(completions)
    const leaving = new Set<Sequence>()
    ended.forEach((sequence, i) => {
      const request = followUps[i]
      if (request && extendsContext(request, sequence)) follow(sequence, request, view, options)
      else {
        if (request) queue.push(request)
        leaving.add(sequence)
      }
    })
    for (const sequence of leaving) {
      const slot = active.indexOf(sequence)
      const last = active.length - 1
      if (slot !== last) {
        cache.move(last, slot, active[last].cached)
        active[slot] = active[last]
      }
      active.pop()
    }
  }

  while (head < queue.length || active.length > 0) {
    if (options.aborted()) throw new MyriadError('runtime', 'sampling was interrupted')
    for (;;) {
      while (active.length < cache.slots && head < queue.length) active.push(begin(queue[head++], view, options))
      await settle()
      const readers = active.filter((sequence) => sequence.reading)
      if (readers.length === 0 && (head >= queue.length || active.length >= cache.slots)) break
      await read(view, cache, active, readers, options)
    }
    if (active.length === 0) continue
    await decode(view, cache, active, options)
    await settle()
  }
  return done
}

function begin(request: SampleRequest, view: View, options: SamplerOptions): Sequence {
  const sequence: Sequence = {
    request,
    random: createRandom(request.seed),
    stops: new Set(),
    cached: 0,
    tokens: [],
    logprobs: [],
    reading: true,
  }
  check(request, view)
  follow(sequence, request, view, options)
  sequence.cached = 0
  return sequence
}

function follow(sequence: Sequence, request: SampleRequest, view: View, options: SamplerOptions): void {
  check(request, view)
  sequence.request = request
  sequence.random = createRandom(request.seed)
  sequence.stops = new Set([...options.stopTokens, ...(request.stopTokens ?? [])])
  sequence.tokens = []
  sequence.logprobs = []
  sequence.reading = true
  sequence.ended = undefined
  if (request.tokens.length >= view.contextLength) {
    sequence.reading = false
    sequence.ended = 'context'
  } else if (request.maxTokens <= 0) {
    sequence.reading = false
    sequence.ended = 'length'
  }
}

function check(request: SampleRequest, view: View): void {
  const { vocabularySize } = view.config
  if (request.tokens.length === 0)
    throw new MyriadError('usage', `request "${request.id}" has no tokens: a context needs at least one`)
  const bad = request.tokens.find((token) => !(token >= 0 && token < vocabularySize))
  if (bad !== undefined)
    throw new MyriadError(
      'usage',
      `request "${request.id}": token ${bad} is outside the vocabulary of ${vocabularySize}`,
    )
  if (request.allowedTokens?.length === 0)
    throw new MyriadError('usage', `request "${request.id}": allowedTokens is empty, no token could be sampled`)
}

/** Does a follow-up begin with everything its slot has seen? Then its cache serves on. */
function extendsContext(request: SampleRequest, sequence: Sequence): boolean {
  const before = sequence.request.tokens
  if (request.tokens.length <= before.length + sequence.tokens.length) return false
  return (
    before.every((token, i) => request.tokens[i] === token) &&
    sequence.tokens.every((token, i) => request.tokens[before.length + i] === token)
  )
}

function completionOf(sequence: Sequence, version: number): Completion {
  const { request, tokens, logprobs, ended } = sequence
  return { id: request.id, tokens, logprobs, stopReason: ended ?? 'length', version }
}

/** Reads what readers have not read yet, and draws the first token of each. Equal fresh contexts are read once. */
async function read(
  view: View,
  cache: KeyValueCache,
  active: readonly Sequence[],
  readers: readonly Sequence[],
  options: SamplerOptions,
): Promise<void> {
  const slots = new Map(active.map((sequence, slot) => [sequence, slot]))
  const lengths = active.map((sequence) => sequence.cached)
  const before = view.virtualTokens
  const needed = active.map(({ request, cached }) => Math.max(before + request.tokens.length, cached) + 1)
  cache.resize(Math.max(...needed), lengths)
  const rows = new Map<string, Sequence[]>()
  for (const reader of readers) {
    // A sequence with a cache has its own past; only fresh ones can share a row.
    const key = reader.cached > 0 ? `slot ${slots.get(reader)}` : reader.request.tokens.join()
    const row = rows.get(key)
    if (row) row.push(reader)
    else rows.set(key, [reader])
  }
  const seen = ({ cached }: Sequence): number => (cached === 0 ? 0 : cached - before)
  const unread = (row: readonly Sequence[]): number => row[0].request.tokens.length - seen(row[0])
  const sorted = [...rows.values()].sort((a, b) => unread(a) - unread(b))
  // Split before anything is read: reading a fresh context gives it a past.
  const fresh = sorted.filter((row) => row[0].cached === 0)
  const continued = sorted.filter((row) => row[0].cached > 0)
  for (const kind of [fresh, continued]) {
    const withPast = kind === continued
    for (let start = 0; start < kind.length;) {
      let end = start + 1
      while (end < kind.length && (end + 1 - start) * unread(kind[end]) <= options.tokenBudget) end++
      const chunk = kind.slice(start, end)
      start = end
      const time = unread(chunk[chunk.length - 1])
      const offsets = chunk.map(([first]) => before + seen(first))
      const longest = withPast ? Math.max(...offsets) : undefined
      const unseen = chunk.map(([first]) => first.request.tokens.slice(seen(first)))
      const feeds = newTokens(view, unseen, offsets, time, longest)
      if (longest !== undefined)
        Object.assign(
          feeds,
          cache.gather(
            chunk.map(([first]) => slots.get(first) ?? 0),
            longest,
          ),
        )
      const sequences = chunk.flat()
      const select = chunk.flatMap((row, r) => row.map(() => r * time + unread(row) - 1))
      const outputs = await draw(view, feeds, sequences, select, withPast, options)
      // Without a past, the keys and values of virtual tokens come before those of the new ones.
      const virtual = withPast ? 0 : before
      chunk.forEach((row, r) => {
        const count = virtual + unread(row)
        for (const sequence of row) {
          cache.write(outputs, r, virtual + time, slots.get(sequence) ?? 0, sequence.cached, count)
          sequence.cached += count
          sequence.reading = false
        }
      })
    }
  }
}

/** One decoding step of every active sequence: reads the last sampled token and draws the next. */
async function decode(
  view: View,
  cache: KeyValueCache,
  active: readonly Sequence[],
  options: SamplerOptions,
): Promise<void> {
  const cached = active.map((sequence) => sequence.cached)
  cache.resize(Math.max(...cached) + 1, cached)
  const last = active.map((sequence) => [sequence.tokens[sequence.tokens.length - 1]])
  const feeds = {
    ...newTokens(view, last, cached, 1, cache.capacity),
    ...cache.front(active.length),
  }
  const select = active.map((_, i) => i)
  const outputs = await draw(view, feeds, active, select, true, options)
  active.forEach((sequence, slot) => {
    cache.write(outputs, slot, 1, slot, sequence.cached, 1)
    sequence.cached += 1
  })
}
