import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createRandom, deriveSeed, MyriadError, type Random } from '../core/index.js'
import type { ChatFormat, Message, Tokenizer } from '../text/types.js'
import { lossTokens, alternativesOf } from './loss-tokens.js'
import type {
  Completion,
  Policy,
  SampleOptions,
  SampleRequest,
  ScoreOptions,
  ScoreResult,
  StopReason,
  TrainSequence,
  UpdateOptions,
  UpdateResult,
} from './types.js'

const SPECIALS = ['<pad>', '<end>', '<system>', '<user>', '<assistant>', '<tool>']
const END = 1

/**
 * A chat format with one token per character, for tests: role token, text, <end>. Characters outside the given ones
 * become the last of them.
 */
export function createTestChat(characters: string): ChatFormat {
  const letters = [...characters]
  const ids = new Map(letters.map((letter, i) => [letter, SPECIALS.length + i]))
  const unknown = SPECIALS.length + letters.length - 1
  const tokenizer: Tokenizer = {
    vocabularySize: SPECIALS.length + letters.length,
    stopTokens: [END],
    padToken: 0,
    encode: (text) => [...text].map((letter) => ids.get(letter) ?? unknown),
    decode: (tokens) => tokens.map((token) => letters[token - SPECIALS.length] ?? '').join(''),
  }
  const render = (messages: readonly Message[]): number[] => [
    ...messages.flatMap(({ role, content }) => [SPECIALS.indexOf(`<${role}>`), ...tokenizer.encode(content), END]),
    SPECIALS.indexOf('<assistant>'),
  ]
  return {
    tokenizer,
    prompt: render,
    continuation: (messages, { closed }) => [...(closed ? [] : [END]), ...render(messages)],
  }
}

export interface TabularPolicyOptions {
  chat: ChatFormat
  /** 256 unless given. */
  contextLength?: number
  /** The next token depends on this many tokens before it (2). */
  order?: number
  /** Rows of the table that contexts are hashed to (4096). */
  rows?: number
  /** Sleep this long in every update, so that a test can interrupt it (0). */
  updateDelayMs?: number
  /** Have a value head: one number a row (false). */
  valueHead?: boolean
}

/**
 * A policy without a neural network, for tests of everything above the policy: a table of logits indexed by the last few
 * tokens, trained by the gradient of any loss with Adam. It keeps the whole contract of `Policy` in plain float64.
 */
export function createTabularPolicy(options: TabularPolicyOptions): Policy {
  return new TabularPolicy(options, new Map(), 0)
}

/** One touched row: logits, with a value head its value after them, and Adam's two moments. */
interface Row {
  logits: Float64Array
  first: Float64Array
  second: Float64Array
}

class TabularPolicy implements Policy {
  readonly vocabularySize: number
  readonly contextLength: number
  version: number
  private readonly options: TabularPolicyOptions
  private table: Map<number, Row>

  constructor(options: TabularPolicyOptions, table: Map<number, Row>, version: number) {
    this.options = options
    this.vocabularySize = options.chat.tokenizer.vocabularySize
    this.contextLength = options.contextLength ?? 256
    this.table = table
    this.version = version
  }

  async sample(requests: readonly SampleRequest[], options: SampleOptions = {}): Promise<Completion[]> {
    const finished: Completion[] = []
    let active = requests.map((request) => this.begin(request))
    while (active.length > 0) {
      options.signal?.throwIfAborted()
      for (const run of active) this.step(run)
      const ended = active.filter((run) => run.stopReason !== null)
      active = active.filter((run) => run.stopReason === null)
      const completions = ended.map((run) => this.completion(run))
      finished.push(...completions)
      const { next } = options
      if (!next || completions.length === 0) continue
      const followers = await Promise.all(completions.map((completion) => next(completion)))
      active.push(...followers.flatMap((request) => (request ? [this.begin(request)] : [])))
    }
    return finished
  }

  async score(sequences: readonly (readonly number[])[], options: ScoreOptions = {}): Promise<ScoreResult[]> {
    if (options.values) this.requireValueHead()
    const { alternatives, masks, temperature = 1 } = options
    const given = typeof alternatives === 'object' ? alternatives : undefined
    const count = given ? given.count : ((alternatives as number | undefined) ?? 0)
    return sequences.map((tokens, i) => {
      const result: ScoreResult = {
        logprobs: new Float32Array(tokens.length),
        entropy: new Float32Array(tokens.length),
        ...(options.values && { values: new Float32Array(tokens.length) }),
        ...(count > 0 && {
          alternatives: {
            count,
            ids: given?.ids[i] ?? new Int32Array(tokens.length * count).fill(-1),
            logprobs: new Float32Array(tokens.length * count),
          },
        }),
      }
      for (let t = 1; t < tokens.length; t++) {
        if (masks && !masks[i][t]) continue
        const all = this.logprobsAt(tokens, t, temperature)
        result.logprobs[t] = all[tokens[t]]
        result.entropy[t] = entropyOf(all)
        if (result.values) result.values[t] = this.valueAt(tokens, t)
        const listed = result.alternatives
        if (!listed) continue
        if (!given) listed.ids.set([...all.keys()].sort((x, y) => all[y] - all[x] || x - y).slice(0, count), t * count)
        for (let k = t * count; k < (t + 1) * count; k++)
          if (listed.ids[k] >= 0) listed.logprobs[k] = all[listed.ids[k]]
      }
      return result
    })
  }

  async update(batch: readonly TrainSequence[], options: UpdateOptions): Promise<UpdateResult> {
    if (this.options.updateDelayMs) await new Promise((resolve) => setTimeout(resolve, this.options.updateDelayMs))
    const { loss, temperature = 1 } = options
    const { reads } = loss
    const count = reads?.alternatives ? alternativesOf(batch, loss) : 0
    const scored = await this.score(
      batch.map(({ tokens }) => tokens),
      {
        temperature,
        masks: batch.map(({ mask }) => mask),
        values: reads?.values,
        ...(count > 0 && {
          alternatives: {
            count,
            ids: batch.map(
              ({ tokens, alternatives }) => alternatives?.ids ?? new Int32Array(tokens.length * count).fill(-1),
            ),
          },
        }),
      },
    )
    const result = loss.evaluate(lossTokens(batch, scored, loss))
    if (result.valueGradient) this.requireValueHead()
    const places = batch.flatMap((sequence) =>
      [...sequence.mask].flatMap((trainable, t) => (trainable ? [{ sequence, t }] : [])),
    )
    const gradients = new Map<number, Float64Array>()
    places.forEach(({ sequence, t }, i) => {
      const row = this.rowIndex(sequence.tokens, t)
      const gradient = gradients.get(row) ?? new Float64Array(this.width)
      gradients.set(row, gradient)
      const all = this.logprobsAt(sequence.tokens, t, temperature)
      const teach = (id: number, slope: number): void => {
        all.forEach((logprob, token) => {
          gradient[token] += (slope * ((token === id ? 1 : 0) - Math.exp(logprob))) / temperature
        })
      }
      teach(sequence.tokens[t], result.gradient[i])
      for (let k = 0; result.alternativesGradient && k < count; k++) {
        const id = sequence.alternatives!.ids[t * count + k]
        if (id >= 0) teach(id, result.alternativesGradient[i * count + k])
      }
      if (result.entropyGradient) {
        const entropy = entropyOf(all)
        const slope = result.entropyGradient[i]
        all.forEach((logprob, token) => {
          gradient[token] -= (slope * Math.exp(logprob) * (logprob + entropy)) / temperature
        })
      }
      if (result.valueGradient) gradient[this.vocabularySize] += result.valueGradient[i]
    })
    let squares = 0
    for (const gradient of gradients.values()) for (const value of gradient) squares += value * value
    const gradientNorm = Math.sqrt(squares)
    const report = { loss: result.value, gradientNorm, trainedTokens: places.length, metrics: result.metrics }
    if (!Number.isFinite(gradientNorm)) return { applied: false, ...report }
    const scale = Math.min(1, (options.clipNorm ?? 1) / (gradientNorm || 1))
    this.version++
    for (const [index, gradient] of gradients) this.adam(this.row(index), gradient, scale, options.learningRate)
    return { applied: true, ...report }
  }

  async follow(other: Policy, rate: number): Promise<void> {
    if (!(other instanceof TabularPolicy)) throw new MyriadError('usage', 'a tabular policy follows a tabular policy')
    for (const index of new Set([...this.table.keys(), ...other.table.keys()])) {
      const towards = other.table.get(index)?.logits
      const { logits } = this.row(index)
      logits.forEach((value, i) => (logits[i] = (1 - rate) * value + rate * (towards?.[i] ?? 0)))
    }
  }

  async snapshot(): Promise<Policy> {
    const copy = new Map([...this.table].map(([index, row]) => [index, structuredClone(row)]))
    return new TabularPolicy(this.options, copy, this.version)
  }

  async save(folder: string, options: { optimizer?: boolean } = {}): Promise<void> {
    const temporary = join(dirname(folder), `.saving-${process.pid}`)
    await rm(temporary, { recursive: true, force: true })
    await mkdir(temporary, { recursive: true })
    const rows = [...this.table].map(([index, { logits, first, second }]) => [
      index,
      [...logits],
      ...(options.optimizer ? [[...first], [...second]] : []),
    ])
    await writeFile(join(temporary, 'table.json'), JSON.stringify({ version: this.version, rows }))
    await rm(folder, { recursive: true, force: true })
    await rename(temporary, folder)
  }

  async load(folder: string): Promise<void> {
    const saved = JSON.parse(await readFile(join(folder, 'table.json'), 'utf8')) as {
      version: number
      rows: [number, number[], number[], number[]][]
    }
    this.version = saved.version
    this.table = new Map(
      saved.rows.map(([index, logits, first, second]) => [
        index,
        { logits: Float64Array.from(logits), first: Float64Array.from(first), second: Float64Array.from(second) },
      ]),
    )
  }

  async close(): Promise<void> {}

  private rowIndex(tokens: readonly number[], t: number): number {
    const order = this.options.order ?? 2
    const rows = this.options.rows ?? 4096
    let index = 0
    for (let i = Math.max(0, t - order); i < t; i++) index = (index * 131 + tokens[i] + 1) % 2147483647
    return index % rows
  }

  private row(index: number): Row {
    let row = this.table.get(index)
    if (!row) {
      const empty = (): Float64Array => new Float64Array(this.width)
      row = { logits: empty(), first: empty(), second: empty() }
      this.table.set(index, row)
    }
    return row
  }

  private logprobsAt(tokens: readonly number[], t: number, temperature: number): Float64Array {
    const logits = this.table.get(this.rowIndex(tokens, t))?.logits ?? new Float64Array(this.vocabularySize)
    return logSoftmax(logits.slice(0, this.vocabularySize).map((logit) => logit / temperature))
  }

  private valueAt(tokens: readonly number[], t: number): number {
    return this.table.get(this.rowIndex(tokens, t))?.logits[this.vocabularySize] ?? 0
  }

  /** Numbers in a row. */
  private get width(): number {
    return this.vocabularySize + (this.options.valueHead ? 1 : 0)
  }

  private requireValueHead(): void {
    if (!this.options.valueHead)
      throw new MyriadError('usage', 'this policy has no value head: make it with valueHead: true')
  }

  private adam(row: Row, gradient: Float64Array, scale: number, learningRate: number): void {
    const [beta1, beta2] = [0.9, 0.95]
    const [bias1, bias2] = [1 - beta1 ** this.version, 1 - beta2 ** this.version]
    for (let i = 0; i < gradient.length; i++) {
      const g = gradient[i] * scale
      row.first[i] = beta1 * row.first[i] + (1 - beta1) * g
      row.second[i] = beta2 * row.second[i] + (1 - beta2) * g * g
      row.logits[i] -= (learningRate * (row.first[i] / bias1)) / (Math.sqrt(row.second[i] / bias2) + 1e-8)
    }
  }

  private begin(request: SampleRequest): Run {
    if (request.tokens.length > this.contextLength) {
      throw new MyriadError(
        'runtime',
        `request ${request.id}: ${request.tokens.length} tokens, the context holds fewer`,
      )
    }
    const stopReason =
      request.maxTokens <= 0 ? 'length' : request.tokens.length >= this.contextLength ? 'context' : null
    const random = createRandom(deriveSeed(request.seed))
    return { request, random, all: [...request.tokens], tokens: [], logprobs: [], stopReason }
  }

  private step(run: Run): void {
    if (run.stopReason) return
    const { request } = run
    const temperature = request.temperature ?? 1
    const logprobs = this.logprobsAt(run.all, run.all.length, temperature || 1)
    const token = choose(logprobs, request, run.random)
    run.all.push(token)
    run.tokens.push(token)
    run.logprobs.push(logprobs[token])
    const { tokenizer } = this.options.chat
    const text = request.stopStrings?.length ? tokenizer.decode(run.tokens) : ''
    if (tokenizer.stopTokens.includes(token) || request.stopTokens?.includes(token)) run.stopReason = 'stop'
    else if (request.stopStrings?.some((stop) => text.includes(stop))) run.stopReason = 'stop'
    else if (run.tokens.length >= request.maxTokens) run.stopReason = 'length'
    else if (run.all.length >= this.contextLength) run.stopReason = 'context'
  }

  private completion({ request, tokens, logprobs, stopReason }: Run): Completion {
    return { id: request.id, tokens, logprobs, stopReason: stopReason!, version: this.version }
  }
}

interface Run {
  request: SampleRequest
  random: Random
  all: number[]
  tokens: number[]
  logprobs: number[]
  stopReason: StopReason | null
}

function logSoftmax(logits: Float64Array): Float64Array {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity)
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0)) + max
  return logits.map((logit) => logit - total)
}

function entropyOf(logprobs: Float64Array): number {
  return -logprobs.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0)
}

/** One token by the request's rules: greedy at temperature 0, else among what allowedTokens, top-k, top-p and min-p leave. */
function choose(logprobs: Float64Array, request: SampleRequest, random: Random): number {
  const allowed = request.allowedTokens ?? logprobs.keys()
  let ranked = [...allowed].sort((a, b) => logprobs[b] - logprobs[a] || a - b)
  if (request.temperature === 0) return ranked[0]
  if (request.topK) ranked = ranked.slice(0, request.topK)
  if (request.minP) ranked = ranked.filter((token) => Math.exp(logprobs[token] - logprobs[ranked[0]]) >= request.minP!)
  const total = ranked.reduce((sum, token) => sum + Math.exp(logprobs[token]), 0)
  if (request.topP !== undefined && request.topP < 1) {
    let mass = 0
    const end = ranked.findIndex((token) => (mass += Math.exp(logprobs[token]) / total) >= request.topP!)
    ranked = ranked.slice(0, end < 0 ? ranked.length : end + 1)
  }
  let rest = random.uniform() * ranked.reduce((sum, token) => sum + Math.exp(logprobs[token]), 0)
  for (const token of ranked) if ((rest -= Math.exp(logprobs[token])) <= 0) return token
  return ranked[ranked.length - 1]
}
