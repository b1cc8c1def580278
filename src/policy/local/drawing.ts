/** One run of the model over some sequences: what it is fed, and the token it draws for each. */
import { MyriadError, type Random } from '../../core/index.js'
import type { Program, Value } from '../../engine/index.js'
import type { SampleRequest, StopReason } from '../types.js'
import { drawToken, hasFilters } from './filters.js'
import { newMask, pastMask, pastWindowMask, readBy } from './masks.js'
import type { View } from './view.js'

/** One request in a slot. Its slot is its index in the list of active sequences. */
export interface Sequence {
  request: SampleRequest
  random: Random
  stops: ReadonlySet<number>
  /** Tokens whose keys and values are cached, the virtual ones of an adapter among them. */
  cached: number
  tokens: number[]
  logprobs: number[]
  /** Has unread context; otherwise the last sampled token waits to be read. */
  reading: boolean
  ended?: StopReason
}

export interface DrawOptions {
  /** Text of sampled ids; only asked for requests with stop strings. */
  decode: (tokens: readonly number[]) => string
}

/**
 * Feeds of a run: new tokens, one row a sequence padded to `time`, each beginning at its offset, and what they see of
 * `capacity` cached ones.
 */
export function newTokens(
  view: View,
  rows: readonly (readonly number[])[],
  offsets: readonly number[],
  time: number,
  capacity?: number,
): Record<string, Value> {
  const { slidingWindow } = view.config
  const tokens = new Int32Array(rows.length * time)
  const positions = new Int32Array(rows.length * time)
  rows.forEach((row, r) =>
    row.forEach((token, t) => {
      tokens[r * time + t] = token
      positions[r * time + t] = offsets[r] + t
    }),
  )
  const feeds: Record<string, Value> = { ...view.tokens(tokens, positions, [rows.length, time]), mask: newMask(time) }
  if (slidingWindow === undefined) {
    if (capacity !== undefined) feeds.pastMask = pastMask(offsets, capacity)
    return feeds
  }
  feeds.localMask = newMask(time, slidingWindow)
  if (capacity !== undefined) {
    feeds.pastMask = pastWindowMask(offsets, capacity, time, Infinity)
    feeds.pastLocalMask = pastWindowMask(offsets, capacity, time, slidingWindow)
  }
  return feeds
}

/** Runs the program and appends one drawn token to each sequence. */
export async function draw(
  view: View,
  feeds: Record<string, Value>,
  sequences: readonly Sequence[],
  select: readonly number[],
  withPast: boolean,
  options: DrawOptions,
): Promise<Record<string, Value>> {
  const filtered = sequences.some((sequence) => hasFilters(sequence.request))
  const program: Program = filtered ? await view.logits(withPast) : await view.extend(withPast)
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
  const outputs = await program.run(readBy(program, feeds))
  sequences.forEach((sequence, i) => {
    const { token, logprob } = filtered
      ? drawToken(
          (outputs.logits.data as Float32Array).subarray(
            i * view.config.vocabularySize,
            (i + 1) * view.config.vocabularySize,
          ),
          { ...sequence.request, temperature: temperatures[i] },
          sequence.random,
        )
      : { token: (outputs.token.data as Int32Array)[i], logprob: (outputs.logprob.data as Float32Array)[i] }
    if (!Number.isFinite(logprob))
      throw new MyriadError('numeric', `sampling request "${sequence.request.id}": the model's logprob is ${logprob}`)
    sequence.tokens.push(token)
    sequence.logprobs.push(logprob)
    sequence.ended = endOf(sequence, view.contextLength, options)
  })
  return outputs
}

function endOf(sequence: Sequence, contextLength: number, options: DrawOptions): StopReason | undefined {
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
