import { createRandom, MyriadError, type Random } from '../../core/index.js'
import type { Program, Value } from '../../engine/index.js'
import type { Completion, SampleRequest, StopReason } from '../types.js'
import { KeyValueCache } from './cache.js'
import { drawToken, hasFilters } from './filters.js'
import type { Replica } from './replica.js'

export interface SamplerOptions {
  slots: number
  /** Most tokens read by one prefill. */
  tokenBudget: number
  version: number
  /** Ids that end every reply. */
  stopTokens: readonly number[]
  /** Text of sampled ids; only asked for requests with stop strings. */
  decode: (tokens: readonly number[]) => string
  /** Follow-ups of completions that ended together, in their order. */
  next: (completions: Completion[]) => Promise<(SampleRequest | null)[]>
  aborted: () => boolean
}

/** One request in a slot. Its slot is its index in the list of active sequences. */
interface Sequence {
  request: SampleRequest
  random: Random
  stops: ReadonlySet<number>
  /** Tokens whose keys and values are cached. */
  cached: number
  tokens: number[]
  logprobs: number[]
  /** Has unread context; otherwise the last sampled token waits to be read. */
  reading: boolean
  ended?: StopReason
}

/**
 * Samples requests and their follow-ups with continuous batching: a finished sequence's slot goes to its follow-up, whose
 * context is already cached up to the new messages, or else to the next request waiting. Everything happens in an order
 * fixed by the requests alone.
 */
export async function sampleAll(
  replica: Replica,
  requests: readonly SampleRequest[],
  options: SamplerOptions,
): Promise<Completion[]> {
  const cache = new KeyValueCache(replica.config, options.slots)
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
      if (request && extendsContext(request, sequence)) follow(sequence, request, replica, options)
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
      while (active.length < options.slots && head < queue.length) active.push(begin(queue[head++], replica, options))
      await settle()
      const readers = active.filter((sequence) => sequence.reading)
      if (readers.length === 0 && (head >= queue.length || active.length >= options.slots)) break
      await read(replica, cache, active, readers, options)
    }
    if (active.length === 0) continue
    await decode(replica, cache, active, options)
    await settle()
  }
  return done
}

function begin(request: SampleRequest, replica: Replica, options: SamplerOptions): Sequence {
  const sequence: Sequence = {
    request,
    random: createRandom(request.seed),
    stops: new Set(),
    cached: 0,
    tokens: [],
    logprobs: [],
    reading: true,
  }
  check(request, replica)
  follow(sequence, request, replica, options)
  sequence.cached = 0
  return sequence
}

function follow(sequence: Sequence, request: SampleRequest, replica: Replica, options: SamplerOptions): void {
  check(request, replica)
  sequence.request = request
  sequence.random = createRandom(request.seed)
  sequence.stops = new Set([...options.stopTokens, ...(request.stopTokens ?? [])])
  sequence.tokens = []
  sequence.logprobs = []
  sequence.reading = true
  sequence.ended = undefined
  if (request.tokens.length >= replica.config.contextLength) {
    sequence.reading = false
    sequence.ended = 'context'
  } else if (request.maxTokens <= 0) {
    sequence.reading = false
    sequence.ended = 'length'
  }
}

function check(request: SampleRequest, replica: Replica): void {
  const { vocabularySize } = replica.config
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
  replica: Replica,
  cache: KeyValueCache,
  active: readonly Sequence[],
  readers: readonly Sequence[],
  options: SamplerOptions,
): Promise<void> {
  const slots = new Map(active.map((sequence, slot) => [sequence, slot]))
  const lengths = active.map((sequence) => sequence.cached)
  cache.resize(Math.max(...active.map(({ request, cached }) => Math.max(request.tokens.length, cached) + 1)), lengths)
  const rows = new Map<string, Sequence[]>()
  for (const reader of readers) {
    // A sequence with a cache has its own past; only fresh ones can share a row.
    const key = reader.cached > 0 ? `slot ${slots.get(reader)}` : reader.request.tokens.join()
    const row = rows.get(key)
    if (row) row.push(reader)
    else rows.set(key, [reader])
  }
  const unread = (row: readonly Sequence[]): number => row[0].request.tokens.length - row[0].cached
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
      const feeds = newTokens(
        replica,
        chunk.map(([first]) => first.request.tokens.slice(first.cached)),
        chunk.map(([first]) => first.cached),
        time,
      )
      if (withPast) {
        const longest = Math.max(...chunk.map(([first]) => first.cached))
        Object.assign(
          feeds,
          cache.gather(
            chunk.map(([first]) => slots.get(first) ?? 0),
            longest,
          ),
          pastMask(
            chunk.map(([first]) => first.cached),
            longest,
          ),
        )
      }
      const sequences = chunk.flat()
      const select = chunk.flatMap((row, r) => row.map(() => r * time + unread(row) - 1))
      const outputs = await draw(replica, feeds, sequences, select, withPast, options)
      chunk.forEach((row, r) => {
        const count = unread(row)
        for (const sequence of row) {
          cache.write(outputs, r, time, slots.get(sequence) ?? 0, sequence.cached, count)
          sequence.cached += count
          sequence.reading = false
        }
      })
    }
  }
}

/** One decoding step of every active sequence: reads the last sampled token and draws the next. */
async function decode(
  replica: Replica,
  cache: KeyValueCache,
  active: readonly Sequence[],
  options: SamplerOptions,
): Promise<void> {
  const cached = active.map((sequence) => sequence.cached)
  cache.resize(Math.max(...cached) + 1, cached)
  const last = active.map((sequence) => [sequence.tokens[sequence.tokens.length - 1]])
  const feeds = {
    ...newTokens(replica, last, cached, 1),
    ...cache.front(active.length),
    ...pastMask(cached, cache.capacity),
  }
  const select = active.map((_, i) => i)
  const outputs = await draw(replica, feeds, active, select, true, options)
  active.forEach((sequence, slot) => {
    cache.write(outputs, slot, 1, slot, sequence.cached, 1)
    sequence.cached += 1
  })
}

function newTokens(
  replica: Replica,
  rows: readonly (readonly number[])[],
  offsets: readonly number[],
  time: number,
): Record<string, Value> {
  const { hiddenSize, headDimension } = replica.config
  const tokens = new Int32Array(rows.length * time)
  const positions = new Int32Array(rows.length * time)
  rows.forEach((row, r) =>
    row.forEach((token, t) => {
      tokens[r * time + t] = token
      positions[r * time + t] = offsets[r] + t
    }),
  )
  const embedded = new Float32Array(tokens.length * hiddenSize)
  replica.embed(tokens, embedded)
  const cos = new Float32Array((tokens.length * headDimension) / 2)
  const sin = new Float32Array(cos.length)
  replica.rotate(positions, cos, sin)
  const mask = new Float32Array(time * time)
  for (let i = 0; i < time; i++) mask.fill(-1e9, i * time + i + 1, (i + 1) * time)
  const shape = [rows.length, time]
  return {
    embedded: { data: embedded, shape: [...shape, hiddenSize] },
    cos: { data: cos, shape: [...shape, headDimension / 2] },
    sin: { data: sin, shape: [...shape, headDimension / 2] },
    mask: { data: mask, shape: [1, 1, time, time] },
  }
}

function pastMask(lengths: readonly number[], capacity: number): Record<string, Value> {
  const data = new Float32Array(lengths.length * capacity)
  lengths.forEach((length, row) => data.fill(-1e9, row * capacity + length, (row + 1) * capacity))
  return { pastMask: { data, shape: [lengths.length, 1, 1, capacity] } }
}

/** Runs the program and appends one drawn token to each sequence. */
async function draw(
  replica: Replica,
  feeds: Record<string, Value>,
  sequences: readonly Sequence[],
  select: readonly number[],
  withPast: boolean,
  options: SamplerOptions,
): Promise<Record<string, Value>> {
  const filtered = sequences.some((sequence) => hasFilters(sequence.request))
  const program: Program = filtered ? await replica.logits(withPast) : await replica.extend(withPast)
  const shape = [sequences.length]
  feeds.select = { data: Int32Array.from(select), shape }
  const temperatures = sequences.map((sequence) => sequence.request.temperature ?? 1)
  if (!filtered) {
    const uniform = Float32Array.from(sequences, (sequence, i) =>
      temperatures[i] === 0 ? 0.5 : sequence.random.uniform(),
    )
    feeds.uniform = { data: uniform, shape }
    feeds.inverseTemperature = { data: Float32Array.from(temperatures, (t) => (t === 0 ? 1 : 1 / t)), shape }
    feeds.greedy = { data: Uint8Array.from(temperatures, (t) => (t === 0 ? 1 : 0)), shape }
  }
  const outputs = await program.run(feeds)
  sequences.forEach((sequence, i) => {
    const { token, logprob } = filtered
      ? drawToken(
          (outputs.logits.data as Float32Array).subarray(
            i * replica.config.vocabularySize,
            (i + 1) * replica.config.vocabularySize,
          ),
          { ...sequence.request, temperature: temperatures[i] },
          sequence.random,
        )
      : { token: (outputs.token.data as Int32Array)[i], logprob: (outputs.logprob.data as Float32Array)[i] }
    if (!Number.isFinite(logprob))
      throw new MyriadError('numeric', `sampling request "${sequence.request.id}": the model's logprob is ${logprob}`)
    sequence.tokens.push(token)
    sequence.logprobs.push(logprob)
    sequence.ended = endOf(sequence, replica.config.contextLength, options)
  })
  return outputs
}

function endOf(sequence: Sequence, contextLength: number, options: SamplerOptions): StopReason | undefined {
  const { request, tokens } = sequence
  if (sequence.stops.has(tokens[tokens.length - 1])) return 'stop'
  if (request.stopStrings?.length) {
    const text = options.decode(tokens)
    if (request.stopStrings.some((stop) => text.includes(stop))) return 'stop'
  }
  if (tokens.length >= request.maxTokens) return 'length'
  if (request.tokens.length + tokens.length >= contextLength) return 'context'
  return undefined
}
