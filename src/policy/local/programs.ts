import {
  add,
  argmax,
  cast,
  clip,
  compile,
  createGraph,
  cumsum,
  exp,
  gather,
  grad,
  less,
  logSoftmax,
  minimum,
  mul,
  neg,
  reshape,
  selectedLogprobs,
  slice,
  square,
  sub,
  sum,
  takeAlongAxis,
  where,
  type Device,
  type Graph,
  type Program,
  type Tensor,
} from '../../engine/index.js'
import { declareParameters, decoder, logits, type DecoderConfig } from '../../models/index.js'
import type { CompiledLoss } from '../types.js'

/** How programs are compiled: the execution provider and its threads. */
export interface Compute {
  device: Device
  threads: number
}

interface Trunk {
  weights: Record<string, Tensor>
  embedded: Tensor
  hidden: Tensor
  keys: Tensor[]
  values: Tensor[]
}

function trunk(graph: Graph, config: DecoderConfig, maskRows: 'batch' | 1, withPast = false): Trunk {
  const weights = declareParameters(graph, config)
  const half = config.headDimension / 2
  const embedded = graph.input('embedded', ['batch', 'time', config.hiddenSize])
  const cache = (kind: string, layer: number): Tensor =>
    graph.input(`${kind}.${layer}`, ['batch', config.keyValueHeads, 'cache', config.headDimension])
  const layers = Array.from({ length: config.layers }, (_, i) => i)
  const outputs = decoder(config, weights, {
    embedded,
    cos: graph.input('cos', ['batch', 'time', half]),
    sin: graph.input('sin', ['batch', 'time', half]),
    mask: graph.input('mask', [maskRows, 1, 'time', 'time']),
    past: withPast
      ? {
          keys: layers.map((i) => cache('pastKey', i)),
          values: layers.map((i) => cache('pastValue', i)),
          mask: graph.input('pastMask', ['batch', 1, 1, 'cache']),
        }
      : undefined,
  })
  return { weights, embedded, ...outputs }
}

/**
 * Reads new tokens (after a cache or not), draws the next one of each row named in `select`, and returns the new keys
 * and values. The draw is the inverse of the cumulative distribution at a fed uniform number: one number a token
 * crosses the boundary, not a row of the vocabulary.
 */
export function extendProgram(config: DecoderConfig, compute: Compute, withPast: boolean): Promise<Program> {
  const { graph, scoresOf, hidden, outputs } = extendGraph(config, withPast)
  const column = (name: string): Tensor => reshape(graph.input(name, ['wanted']), ['wanted', 1])
  // Scaling the hidden states scales the logits, at a fraction of the work.
  const scores = scoresOf(mul(hidden, column('inverseTemperature')))
  const greedy = graph.input('greedy', ['wanted'], 'bool')
  const logprobs = logSoftmax(scores, { axis: -1 })
  const cumulative = cumsum(exp(logprobs), { axis: -1 })
  const total = slice(cumulative, { axis: -1, start: config.vocabularySize - 1, end: config.vocabularySize })
  const below = cast(less(cumulative, mul(column('uniform'), total)), 'float32')
  const drawn = cast(sum(below, { axes: [-1] }), 'int64')
  const token = where(greedy, argmax(scores, { axis: -1 }), drawn)
  const logprob = takeAlongAxis(logprobs, reshape(token, ['wanted', 1]), { axis: 1 })
  return compile(graph, {
    outputs: { ...outputs, token: cast(token, 'int32'), logprob: reshape(logprob, ['wanted']) },
    ...compute,
    inline: true,
  })
}

/** As {@link extendProgram}, but returns the logits [wanted, vocabulary], for draws with filters. */
export function logitsProgram(config: DecoderConfig, compute: Compute, withPast: boolean): Promise<Program> {
  const { graph, scoresOf, hidden, outputs } = extendGraph(config, withPast)
  return compile(graph, { outputs: { ...outputs, logits: scoresOf(hidden) }, ...compute, inline: true })
}

function extendGraph(
  config: DecoderConfig,
  withPast: boolean,
): { graph: Graph; hidden: Tensor; scoresOf: (hidden: Tensor) => Tensor; outputs: Record<string, Tensor> } {
  const graph = createGraph()
  const { weights, hidden, keys, values } = trunk(graph, config, 1, withPast)
  const outputs: Record<string, Tensor> = {}
  keys.forEach((key, i) => (outputs[`key.${i}`] = key))
  values.forEach((value, i) => (outputs[`value.${i}`] = value))
  return {
    graph,
    hidden: gather(hidden, graph.input('select', ['wanted'], 'int32'), { axis: 0 }),
    scoresOf: (rows) => logits(config, weights, rows),
    outputs,
  }
}

function selected(
  graph: Graph,
  config: DecoderConfig,
): Trunk & { logprobs: Tensor; scores: Tensor; wanted: (name: string) => Tensor } {
  const parts = trunk(graph, config, 'batch')
  const hidden = gather(parts.hidden, graph.input('select', ['wanted'], 'int32'), { axis: 0 })
  const scores = logits(config, parts.weights, mul(hidden, graph.input('inverseTemperature', [1])))
  const logprobs = selectedLogprobs(scores, graph.input('targets', ['wanted'], 'int32'))
  return { ...parts, logprobs, scores, wanted: (name) => graph.input(name, ['wanted']) }
}

/** Logprobs and entropies of chosen tokens of packed rows. */
export function scoreProgram(config: DecoderConfig, compute: Compute): Promise<Program> {
  const graph = createGraph()
  const { logprobs, scores } = selected(graph, config)
  const all = logSoftmax(scores, { axis: -1 })
  const entropy = neg(sum(mul(exp(all), all), { axes: [-1] }))
  return compile(graph, { outputs: { logprobs, entropy }, ...compute, inline: true })
}

/** Forward and backward: logprobs, and the gradient of the loss at every weight and at the looked-up embeddings. */
export function trainProgram(config: DecoderConfig, compute: Compute, loss: CompiledLoss): Promise<Program> {
  const graph = createGraph()
  const { weights, embedded, logprobs, wanted } = selected(graph, config)
  const total = sum(mul(wanted('weights'), tokenLoss(loss, logprobs, wanted)), { axes: [0] })
  const trainable = Object.keys(weights).filter((name) => config.tieEmbeddings || name !== 'model.embed_tokens.weight')
  const gradients = grad(total, [embedded, ...trainable.map((name) => weights[name])])
  const outputs: Record<string, Tensor> = { logprobs, embedded: gradients[0] }
  trainable.forEach((name, i) => (outputs[name] = gradients[i + 1]))
  return compile(graph, { outputs, ...compute, inline: true })
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
