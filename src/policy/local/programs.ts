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
  matmul,
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
import type { ClippedLossSpec } from '../types.js'
import { arraysOf, type ReplicaLoss } from './lessons.js'
import { quantizedProducts, type Quantization } from './quantized.js'
import { valueHeadBias, valueHeadShapes, valueHeadWeight } from './value-head.js'

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
 * the gradient of the table each chunk adds to all of it, so they are larger then; but slopes at all scores are one array more.
 */
const chunkRows = { frozen: 256, trained: 512 }

const chunksOf = (tokenBudget: number, rowsPerChunk: number): number =>
  Math.max(1, Math.round(tokenBudget / rowsPerChunk))

/** Fewest places that the most probable alternatives can be asked of: ONNX Runtime's TopK crashes on an empty chunk. */
export function fewestPlaces(tokenBudget: number): number {
  return chunksOf(tokenBudget, chunkRows.frozen)
}

function selectedHead(
  graph: Graph,
  spec: ProgramSpec,
  { training, rowsPerChunk }: { training: boolean; rowsPerChunk: number },
): Trunk & {
  /** Hidden states that wanted tokens are predicted from: [wanted, hidden]. */
  rows: Tensor
  /** What they are scaled by before the projection; undefined where the temperature comes after it. */
  rowScale: Tensor | undefined
  head: Pick<ChunkedLogprobsOptions, 'hidden' | 'table' | 'targets' | 'chunks' | 'transform'>
} {
  const { config, tokenBudget } = spec
  const parts = trunk(graph, spec, { maskRows: 'batch', training })
  const rows = gather(parts.hidden, graph.input('select', ['wanted'], 'int32'), { axis: 0 })
  const inverseTemperature = graph.input('inverseTemperature', [1])
  const cap = config.logitSoftCap
  const rowScale = cap === undefined ? inverseTemperature : undefined
  return {
    ...parts,
    rows,
    rowScale,
    head: {
      hidden: rowScale ? mul(rows, rowScale) : rows,
      table: parts.weights[headTable(config)],
      targets: graph.input('targets', ['wanted'], 'int32'),
      chunks: chunksOf(tokenBudget, rowsPerChunk),
      transform: cap === undefined ? undefined : (scores) => mul(softCap(scores, cap), inverseTemperature),
    },
  }
}

/** What a score tells beside logprobs and entropies. */
export interface ScoreWants {
  /** So many of the most probable ids of each place, or ids that are fed. */
  alternatives?: number | 'given'
  values?: boolean
}

/** Logprobs and entropies of chosen tokens of packed rows, and what else is wanted. */
export function scoreProgram(spec: ProgramSpec, wants: ScoreWants): Promise<Program> {
  const graph = createGraph()
  const { rows, head } = selectedHead(graph, spec, { training: false, rowsPerChunk: chunkRows.frozen })
  const given = wants.alternatives === 'given' ? givenAlternatives(graph) : undefined
  const alternatives = typeof wants.alternatives === 'number' ? { count: wants.alternatives } : given
  const scored = chunkedLogprobs({ ...head, entropy: true, alternatives })
  const outputs: Record<string, Tensor> = { logprobs: scored.logprobs, entropy: scored.entropy! }
  if (scored.alternatives) outputs.alternativeLogprobs = scored.alternatives.logprobs
  if (scored.alternatives && !given) outputs.alternatives = cast(scored.alternatives.ids, 'int32')
  if (wants.values) outputs.values = valueHead(graph, spec.config, rows).values
  return compile(graph, { outputs, ...session(spec) })
}

function givenAlternatives(graph: Graph): { ids: Tensor } {
  return { ids: graph.input('alternatives', ['wanted', 'count'], 'int32') }
}

/** What the head says of hidden states [wanted, hidden]: [wanted]; and its weights. */
function valueHead(
  graph: Graph,
  { hiddenSize }: DecoderConfig,
  rows: Tensor,
): { values: Tensor; weights: Record<string, Tensor> } {
  const weights = Object.fromEntries(
    Object.entries(valueHeadShapes(hiddenSize)).map(([name, shape]) => [name, graph.parameter(name, shape)]),
  )
  const product = reshape(matmul(rows, reshape(weights[valueHeadWeight], [hiddenSize, 1])), ['wanted'])
  return { values: add(product, weights[valueHeadBias]), weights }
}

/**
 * Forward and backward: logprobs, and the gradient of the loss at every weight that is trained. For all weights that
 * includes `embedded`, the gradient at the looked-up embeddings; an adapter leaves these alone.
 */
export function trainProgram(spec: ProgramSpec, loss: ReplicaLoss): Promise<Program> {
  const { config, adapter } = spec
  const graph = createGraph()
  const dense = loss.kind === 'weighted' && (loss.entropy || loss.alternatives)
  const { weights, own, embedded, rows, rowScale, head } = selectedHead(graph, spec, {
    training: true,
    rowsPerChunk: adapter || dense ? chunkRows.frozen : chunkRows.trained,
  })
  const table = headTable(config)
  const tokens = Object.fromEntries(arraysOf(loss).map((name) => [name, graph.input(name, ['wanted'])]))
  const { entropySlopes, valueSlopes, ...read } = tokens
  const withAlternatives = loss.kind === 'weighted' && loss.alternatives
  const { logprobs, hiddenGradient, tableGradient } = chunkedLogprobs({
    ...head,
    tokens: read,
    loss: (chunk, fed) => tokenLoss(loss, chunk, fed),
    tableGradient: !adapter,
    entropySlopes,
    ...(withAlternatives && {
      alternatives: givenAlternatives(graph),
      alternativeSlopes: graph.input('alternativeSlopes', ['wanted', 'count']),
    }),
  })
  const outputs: Record<string, Tensor> = { logprobs }
  let seed = rowScale ? mul(hiddenGradient!, rowScale) : hiddenGradient!
  if (valueSlopes) {
    const { values, weights: headWeights } = valueHead(graph, config, rows)
    const [atRows, ...atHead] = grad(values, [rows, ...Object.values(headWeights)], { seed: valueSlopes })
    seed = add(seed, atRows)
    Object.keys(headWeights).forEach((name, i) => (outputs[name] = atHead[i]))
  }
  const looked = lookupOnly(config)
  const trained = adapter
    ? own
    : Object.fromEntries(Object.entries(weights).filter(([name]) => name !== table && !looked.includes(name)))
  const names = Object.keys(trained)
  const wanted = [...(adapter ? [] : [embedded]), ...Object.values(trained)]
  const gradients = grad(rows, wanted, { seed })
  if (!adapter) {
    outputs.embedded = gradients.shift()!
    outputs[table] = tableGradient!
  }
  names.forEach((name, i) => (outputs[name] = gradients[i]))
  return compile(graph, { outputs, ...session(spec) })
}

/** The compiled counterpart of src/algorithms: the losses of tokens. */
function tokenLoss(loss: ReplicaLoss, logprobs: Tensor, fed: Record<string, Tensor>): Tensor {
  if (loss.kind === 'weighted') return mul(fed.slopes, logprobs)
  if (loss.kind === 'linear') return mul(fed.weights, neg(mul(fed.advantages, logprobs)))
  return mul(fed.weights, clippedLoss(loss, logprobs, fed))
}

function clippedLoss(loss: ClippedLossSpec, logprobs: Tensor, fed: Record<string, Tensor>): Tensor {
  const { advantages } = fed
  // Clamped with gradient 0 outside, as the pure function is: see LOG_RATIO_LIMIT there.
  const clampedExp = (x: Tensor): Tensor => exp(clip(x, { min: -20, max: 20 }))
  const ratio = clampedExp(sub(logprobs, fed.oldLogprobs))
  const clipped = clip(ratio, { min: 1 - loss.clipLow, max: 1 + loss.clipHigh })
  const policy = neg(minimum(mul(ratio, advantages), mul(clipped, advantages)))
  if (loss.klCoefficient === 0) return policy
  const difference = sub(fed.referenceLogprobs, logprobs)
  const estimate = {
    k1: () => neg(difference),
    k2: () => mul(square(difference), 0.5),
    k3: () => sub(sub(clampedExp(difference), difference), 1),
  }[loss.klEstimator]()
  return add(policy, mul(estimate, loss.klCoefficient))
}
