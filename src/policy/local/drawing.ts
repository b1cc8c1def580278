/** One run of the model over some sequences: what it is fed, and the token it draws for each. */
import { MyriadError, type Random } from '../../core/index.js'
import type { Program, Value } from '../../engine/index.js'
import type { SampleRequest, StopReason } from '../types.js'
import { drawToken, hasFilters } from './filters.js'
import type { Replica } from './replica.js'

/** One request in a slot. Its slot is its index in the list of active sequences. */
export interface Sequence {
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

export interface DrawOptions {
  /** Text of sampled ids; only asked for requests with stop strings. */
  decode: (tokens: readonly number[]) => string
}

/** Feeds of new tokens: rows padded to `time`, each beginning at its offset. */
export function newTokens(
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

/** Hides what lies past each row's cached length. */
export function pastMask(lengths: readonly number[], capacity: number): Record<string, Value> {
  const data = new Float32Array(lengths.length * capacity)
  lengths.forEach((length, row) => data.fill(-1e9, row * capacity + length, (row + 1) * capacity))
  return { pastMask: { data, shape: [lengths.length, 1, 1, capacity] } }
}

/** Runs the program and appends one drawn token to each sequence. */
export async function draw(
  replica: Replica,
  feeds: Record<string, Value>,
  sequences: readonly Sequence[],
  select: readonly number[],
  withPast: boolean,
  options: DrawOptions,
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
