import {
  add,
  argmax,
  cast,
  chunkedLogprobs,
  clip,
  compile,
  createGraph,
  concat,
  cumsum,
  exp,
  expand,
  gather,
  grad,
  less,
  logSoftmax,
  minimum,
  mul,
  neg,
  recompute,
  reshape,
  slice,
  square,
  sub,
  sum,
  takeAlongAxis,
  where,
  type ChunkedLogprobsOptions,
  type CompileOptions,
  type Device,
  type Graph,
  type Program,
  type Tensor,
  type Value,
} from '../../engine/index.js'
import {
  adapterShapes,
  createAdapt,
  declareAdapter,
  declareInputs,
  declareParameters,
  decoder,
  headTable,
  logits,
  lookupOnly,
  softCap,
  virtualPast,
  type Adapt,
  type AdapterConfig,
  type DecoderConfig,
  type DecoderInputs,
} from '../../models/index.js'
import type { CompiledLoss } from '../types.js'
import { quantizedProducts, type Quantization } from './quantized.js'

/** How programs are compiled: the execution provider, its threads, and what is saved where memory is short. */
export interface Compute {
  device: Device
  threads: number
  /** Most tokens of one micro-batch. */
  tokenBudget: number
  /** Compute activations again in the backward pass instead of keeping them. */
  recompute: boolean
}

/** What is compiled: a model, perhaps with an adapter. */
export interface ProgramSpec extends Compute {
  config: DecoderConfig
  adapter?: AdapterConfig
}

/** How a sampling program reads the model's weights. */
export interface SamplingSpec extends ProgramSpec {
  /** In 8 or 4 bits instead of float32. */
  quantized?: Quantization
  /** Weights that never change, laid out for the kernels when the program is compiled. */
  constants?: Record<string, Value>
}

interface Trunk {
  weights: Record<string, Tensor>
  /** The adapter's weights; empty without one. */
  own: Record<string, Tensor>
  adapt: Adapt | undefined
  embedded: Tensor
  /** Keys and values of virtual tokens, where this graph computes them. */
  before: DecoderInputs['past']
  hidden: Tensor
  keys: Tensor[]
  values: Tensor[]
}

function trunk(
  graph: Graph,
  spec: ProgramSpec,
  options: { maskRows: 'batch' | 1; past?: boolean; training?: boolean; quantized?: Quantization },
): Trunk {
  const { config, adapter } = spec
  const { maskRows, past, training = false, quantized } = options
  const weights = declareParameters(graph, config)
  const own = adapter ? declareAdapter(graph, adapterShapes(config, adapter)) : {}
  const dropout =
    training && adapter?.kind === 'lora' && adapter.dropout ? { seed: graph.input('dropoutSeed', [1]) } : undefined
  const added =
    adapter?.kind === 'lora'
      ? createAdapt({ config, adapter, parameters: own, baseWeights: weights, dropout })
      : undefined
  const adapt = quantized ? quantizedProducts(graph, config, quantized, added) : added
  // Virtual tokens stand at the beginning of a cache; where there is none, they are computed.
  const before =
    adapter && adapter.kind !== 'lora' && !past
      ? virtualPast({ config, adapter, parameters: own, baseWeights: weights })
      : undefined
  const declared = declareInputs(graph, config, {
    maskRows,
    past,
    pastTime: config.slidingWindow === undefined ? 1 : 'time',
  })
  const inputs = before ? { ...declared, past: before } : declared
  const wrapLayer = (_: number, layer: (x: Tensor) => Tensor, x: Tensor): Tensor => recompute(layer, [x])
  const outputs = decoder(config, weights, inputs, { adapt, ...(training && spec.recompute ? { wrapLayer } : {}) })
  return { weights, own, adapt, embedded: inputs.embedded, before, ...outputs }
}

/**
 * Reads new tokens (after a cache or not), draws the next one of each row named in `select`, and returns the new keys
 * and values. The draw is the inverse of the cumulative distribution at a fed uniform number: one number a token
 * crosses the boundary, not a row of the vocabulary.
 */
export function extendProgram(spec: SamplingSpec, withPast: boolean): Promise<Program> {
  const { graph, scoresOf, hidden, outputs } = extendGraph(spec, withPast)
  const column = (name: string): Tensor => reshape(graph.input(name, ['wanted']), ['wanted', 1])
  const inverseTemperature = column('inverseTemperature')
  // Scaling the hidden states scales the logits, at a fraction of the work; but a soft cap comes before the temperature.
  const scores =
    spec.config.logitSoftCap === undefined
      ? scoresOf(mul(hidden, inverseTemperature))
      : mul(scoresOf(hidden), inverseTemperature)
  const greedy = graph.input('greedy', ['wanted'], 'bool')
  const logprobs = logSoftmax(scores, { axis: -1 })
  const cumulative = cumsum(exp(logprobs), { axis: -1 })
  const total = slice(cumulative, { axis: -1, start: spec.config.vocabularySize - 1, end: spec.config.vocabularySize })
  const below = cast(less(cumulative, mul(column('uniform'), total)), 'float32')
  const drawn = cast(sum(below, { axes: [-1] }), 'int64')
  const token = where(greedy, argmax(scores, { axis: -1 }), drawn)
  const logprob = takeAlongAxis(logprobs, reshape(token, ['wanted', 1]), { axis: 1 })
  return compile(graph, {
    outputs: { ...outputs, token: cast(token, 'int32'), logprob: reshape(logprob, ['wanted']) },
    ...session(spec),
    // Decoding multiplies a few rows, reading a prompt many.
    fewRows: withPast,
    constants: spec.constants,
  })
}

/** As {@link extendProgram}, but returns the logits [wanted, vocabulary], for draws with filters. */
export function logitsProgram(spec: SamplingSpec, withPast: boolean): Promise<Program> {
  const { graph, scoresOf, hidden, outputs } = extendGraph(spec, withPast)
  return compile(graph, {
    outputs: { ...outputs, logits: scoresOf(hidden) },
    ...session(spec),
    fewRows: withPast,
    constants: spec.constants,
  })
}

function session({ device, threads }: Compute): Pick<CompileOptions, 'device' | 'threads' | 'inline'> {
  return { device, threads, inline: true }
}

function extendGraph(
  spec: SamplingSpec,
  withPast: boolean,
): { graph: Graph; hidden: Tensor; scoresOf: (hidden: Tensor) => Tensor; outputs: Record<string, Tensor> } {
  const graph = createGraph()
  const { weights, before, hidden, keys, values, adapt } = trunk(graph, spec, {
    maskRows: 1,
    past: withPast,
    quantized: spec.quantized,
  })
  const outputs: Record<string, Tensor> = {}
  // A cache begins with the virtual tokens.
  const cached = (first: Tensor | undefined, made: Tensor): Tensor => {
    if (!first) return made
    const [, ...rest] = first.shape
    return concat([expand(first, [made.shape[0], ...rest]), made], { axis: 2 })
  }
  keys.forEach((key, i) => (outputs[`key.${i}`] = cached(before?.keys[i], key)))
  values.forEach((value, i) => (outputs[`value.${i}`] = cached(before?.values[i], value)))
  return {
    graph,
    hidden: gather(hidden, graph.input('select', ['wanted'], 'int32'), { axis: 0 }),
    scoresOf: (rows) => logits(spec.config, weights, rows, adapt),
    outputs,
  }
}

/**
 * Rows of the vocabulary projection that are computed together. Fewer multiply slowly, more hold more scores at once; with
 * the gradient of the table each chunk adds to all of it, so they are larger then.
 */
const chunkRows = { frozen: 256, trained: 512 }

function selectedHead(
  graph: Graph,
  spec: ProgramSpec,
  training: boolean,
): Trunk & {
  rows: Tensor
  head: Pick<ChunkedLogprobsOptions, 'hidden' | 'table' | 'targets' | 'chunks' | 'transform'>
} {
  const { config, tokenBudget } = spec
  const parts = trunk(graph, spec, { maskRows: 'batch', training })
  const rows = gather(parts.hidden, graph.input('select', ['wanted'], 'int32'), { axis: 0 })
  const inverseTemperature = graph.input('inverseTemperature', [1])
  const cap = config.logitSoftCap
  const scaled = cap === undefined ? mul(rows, inverseTemperature) : rows
  return {
    ...parts,
    rows: scaled,
    head: {
      hidden: scaled,
      table: parts.weights[headTable(config)],
      targets: graph.input('targets', ['wanted'], 'int32'),
      chunks: Math.max(1, Math.round(tokenBudget / chunkRows[training && !spec.adapter ? 'trained' : 'frozen'])),
      transform: cap === undefined ? undefined : (scores) => mul(softCap(scores, cap), inverseTemperature),
    },
  }
}

/** Logprobs and entropies of chosen tokens of packed rows. */
export function scoreProgram(spec: ProgramSpec): Promise<Program> {
  const graph = createGraph()
  const { head } = selectedHead(graph, spec, false)
  const { logprobs, entropy } = chunkedLogprobs({ ...head, entropy: true })
  return compile(graph, { outputs: { logprobs, entropy: entropy! }, ...session(spec) })
}

/**
 * Forward and backward: logprobs, and the gradient of the loss at every weight that is trained. For all weights that
 * includes `embedded`, the gradient at the looked-up embeddings; an adapter leaves these alone.
 */
export function trainProgram(spec: ProgramSpec, loss: CompiledLoss): Promise<Program> {
  const { config, adapter } = spec
  const graph = createGraph()
  const { weights, own, embedded, rows, head } = selectedHead(graph, spec, true)
  const table = headTable(config)
  const tokens = Object.fromEntries(readBy(loss).map((name) => [name, graph.input(name, ['wanted'])]))
  const { logprobs, hiddenGradient, tableGradient } = chunkedLogprobs({
    ...head,
    tokens,
    loss: (chunk, fed) =>
      mul(
        fed.weights,
        tokenLoss(loss, chunk, (name) => fed[name]),
      ),
    tableGradient: !adapter,
  })
  const outputs: Record<string, Tensor> = { logprobs }
  const looked = lookupOnly(config)
  const trained = adapter
    ? own
    : Object.fromEntries(Object.entries(weights).filter(([name]) => name !== table && !looked.includes(name)))
  const names = Object.keys(trained)
  const wanted = [...(adapter ? [] : [embedded]), ...Object.values(trained)]
  const gradients = grad(rows, wanted, { seed: hiddenGradient! })
  if (!adapter) {
    outputs.embedded = gradients.shift()!
    outputs[table] = tableGradient!
  }
  names.forEach((name, i) => (outputs[name] = gradients[i]))
  return compile(graph, { outputs, ...session(spec) })
}

/** The arrays a loss reads, one number a token. */
function readBy(loss: CompiledLoss): string[] {
  if (loss.kind === 'linear') return ['weights', 'advantages']
  return ['weights', 'advantages', 'oldLogprobs', ...(loss.klCoefficient === 0 ? [] : ['referenceLogprobs'])]
}

/** The compiled counterpart of src/algorithms: a token's loss before its aggregation weight. */
function tokenLoss(loss: CompiledLoss, logprobs: Tensor, wanted: (name: string) => Tensor): Tensor {
  const advantages = wanted('advantages')
  if (loss.kind === 'linear') return neg(mul(advantages, logprobs))
  // Clamped with gradient 0 outside, as the pure function is: see LOG_RATIO_LIMIT there.
  const clampedExp = (x: Tensor): Tensor => exp(clip(x, { min: -20, max: 20 }))
  const ratio = clampedExp(sub(logprobs, wanted('oldLogprobs')))
  const clipped = clip(ratio, { min: 1 - loss.clipLow, max: 1 + loss.clipHigh })
  const policy = neg(minimum(mul(ratio, advantages), mul(clipped, advantages)))
  if (loss.klCoefficient === 0) return policy
  const difference = sub(wanted('referenceLogprobs'), logprobs)
  const estimate = {
    k1: () => neg(difference),
    k2: () => mul(square(difference), 0.5),
    k3: () => sub(sub(clampedExp(difference), difference), 1),
  }[loss.klEstimator]()
  return add(policy, mul(estimate, loss.klCoefficient))
}
