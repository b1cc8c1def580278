import {
  add,
  matmul,
  mul,
  reshape,
  split,
  transpose,
  type Dimension,
  type Graph,
  type Tensor,
} from '../engine/index.js'
import {
  activate,
  attention,
  linear,
  normalize,
  rotate,
  softCap,
  splitHeads,
  type Adapt,
  type Parts,
  type Rotation,
} from './blocks.js'
import type { DecoderConfig } from './decoder-config.js'
import { familyOf } from './families/index.js'
import { parameterShapes } from './parameters.js'

/** What one pass of the decoder reads. Dimension names: batch, time (new tokens), cache (tokens already seen). */
export interface DecoderInputs {
  /**
   * Looked-up embeddings [batch, time, hidden], learned positions added: the lookup and its gradient are plain copies and stay
   * outside the graph ({@link embed}, {@link scatterEmbedding}).
   */
  embedded: Tensor
  /** Of the positions, from {@link positionTables}; absent where positions are learned. */
  rotary?: Rotation
  /** Of sliding layers, where `config.localRotary` is set. */
  localRotary?: Rotation
  /** Added to the scores among the new tokens; broadcasts to [batch, 1, time, time]. 0 where a token may look, very negative elsewhere. */
  mask: Tensor
  /** Of sliding layers, where `config.slidingWindow` is set. */
  localMask?: Tensor
  /** Keys and values of earlier tokens, one pair a layer, [batch, keyValueHeads, cache, headDimension]. */
  past?: {
    keys: Tensor[]
    values: Tensor[]
    /** Broadcasts to [batch, 1, time, cache]. */
    mask: Tensor
    localMask?: Tensor
  }
}

export interface DecoderOutputs {
  /** After the final norm [batch*time, hidden]. */
  hidden: Tensor
  /** Of the new tokens, one a layer [batch, keyValueHeads, time, headDimension]. */
  keys: Tensor[]
  values: Tensor[]
}

export interface DecoderOptions {
  adapt?: Adapt
  /** Applies a layer, a pure function of x [batch*time, hidden] and the weights: the place to recompute it in the backward pass. */
  wrapLayer?: (i: number, layer: (x: Tensor) => Tensor, x: Tensor) => Tensor
}

/** Declares every weight of a decoder on a graph, by Hugging Face name. */
export function declareParameters(graph: Graph, config: DecoderConfig): Record<string, Tensor> {
  const entries = Object.entries(parameterShapes(config))
  return Object.fromEntries(entries.map(([name, shape]) => [name, graph.parameter(name, shape)]))
}

/**
 * Declares what the decoder reads as inputs `embedded`, `cos`, `sin`, `localCos`, `localSin`, `mask`, `localMask`, and with
 * `past` also `pastKey.0`, `pastValue.0` and so on, `pastMask`, `pastLocalMask`; those only that the configuration asks for.
 *
 * @param options.maskRows first axis of the mask among new tokens: 1 where it is the same for every row
 * @param options.pastTime third axis of the masks over the cache; 1 (the default) where all new tokens of a row see the same.
 * With a sliding window they do not, unless there is one
 */
export function declareInputs(
  graph: Graph,
  config: DecoderConfig,
  options: { maskRows: 'batch' | 1; past?: boolean; pastTime?: 'time' | 1 },
): DecoderInputs {
  const rotation = (cos: string, sin: string, width: number): Rotation => ({
    cos: graph.input(cos, ['batch', 'time', width]),
    sin: graph.input(sin, ['batch', 'time', width]),
  })
  const layers = Array.from({ length: config.layers }, (_, i) => i)
  const cache = (kind: string, layer: number): Tensor =>
    graph.input(`${kind}.${layer}`, ['batch', config.keyValueHeads, 'cache', config.headDimension])
  const pastTime: Dimension = options.pastTime ?? 1
  const slides = config.slidingWindow !== undefined
  return {
    embedded: graph.input('embedded', ['batch', 'time', config.hiddenSize]),
    rotary: config.rotary && rotation('cos', 'sin', config.rotary.dimension / 2),
    localRotary: config.localRotary && rotation('localCos', 'localSin', config.localRotary.dimension / 2),
    mask: graph.input('mask', [options.maskRows, 1, 'time', 'time']),
    localMask: slides ? graph.input('localMask', [options.maskRows, 1, 'time', 'time']) : undefined,
    past: options.past
      ? {
          keys: layers.map((i) => cache('pastKey', i)),
          values: layers.map((i) => cache('pastValue', i)),
          mask: graph.input('pastMask', ['batch', 1, pastTime, 'cache']),
          localMask: slides ? graph.input('pastLocalMask', ['batch', 1, pastTime, 'cache']) : undefined,
        }
      : undefined,
  }
}

/** One layer: x [batch*time, hidden] to the same, with the keys and values it made. */
export function decoderLayer(
  config: DecoderConfig,
  weights: Record<string, Tensor>,
  inputs: DecoderInputs,
  i: number,
  x: Tensor,
  adapt?: Adapt,
): { x: Tensor; key: Tensor; value: Tensor } {
  const { names } = familyOf(config)
  const parts: Parts = { weights, adapt, transposed: names.transposed }
  const within = (name: string): string => `${names.layers}.${i}.${name}`
  const project = (h: Tensor, name: string): Tensor => linear(parts, h, within(name))
  const norm = (h: Tensor, name: string | undefined): Tensor =>
    name === undefined ? h : normalize(parts, config.norm, h, within(name))
  const sliding = config.attention[i] === 'sliding'

  const attend = (h: Tensor): { mixed: Tensor; key: Tensor; value: Tensor } => {
    const raw = queryKeyValue(config, names.queryKeyValue, project, h, inputs.embedded.shape)
    const rotation = sliding ? (inputs.localRotary ?? inputs.rotary) : inputs.rotary
    const turned = (y: Tensor, name: string | undefined): Tensor => {
      const perHead = transpose(norm(y, name), [0, 2, 1, 3])
      return rotation ? rotate(perHead, rotation) : perHead
    }
    const query = turned(raw.query, names.queryNorm)
    const key = turned(raw.key, names.keyNorm)
    const value = transpose(raw.value, [0, 2, 1, 3])
    const { past } = inputs
    const mixed = attention({
      query,
      key,
      value,
      mask: sliding ? inputs.localMask! : inputs.mask,
      past: past && { key: past.keys[i], value: past.values[i], mask: sliding ? past.localMask! : past.mask },
      scale: config.scoreScale / (config.scoreScaleByLayer ? i + 1 : 1),
      softCap: config.scoreSoftCap,
    })
    return { mixed: norm(project(mixed, names.attentionOutput), names.attentionOutputNorm), key, value }
  }
  const feedForward = (h: Tensor): Tensor => {
    const { feedForward: modules } = names
    let inner: Tensor
    if (modules.kind === 'plain') inner = activate(config.activation, project(h, modules.up))
    else {
      const sizes = [config.intermediateSize, config.intermediateSize]
      const [gate, up] =
        modules.kind === 'gated'
          ? [project(h, modules.gate), project(h, modules.up)]
          : split(project(h, modules.gateUp), { axis: 1, sizes })
      inner = mul(activate(config.activation, gate), up)
    }
    return norm(project(inner, modules.down), names.feedForwardOutputNorm)
  }

  const { mixed, key, value } = attend(norm(x, names.attentionNorm))
  const attended = add(x, mixed)
  const read = config.parallelResidual ? x : attended
  return { x: add(attended, feedForward(norm(read, names.feedForwardNorm))), key, value }
}

type QueryKeyValue = ReturnType<typeof familyOf>['names']['queryKeyValue']

/** Queries, keys and values [batch, time, heads, headDimension], before norm and rotation. */
function queryKeyValue(
  config: DecoderConfig,
  names: QueryKeyValue,
  project: (x: Tensor, name: string) => Tensor,
  x: Tensor,
  shape: Tensor['shape'],
): { query: Tensor; key: Tensor; value: Tensor } {
  const { heads, keyValueHeads, headDimension } = config
  const perHead = (y: Tensor, count: number): Tensor => splitHeads(y, shape, count, headDimension)
  if (names.kind === 'separate')
    return {
      query: perHead(project(x, names.query), heads),
      key: perHead(project(x, names.key), keyValueHeads),
      value: perHead(project(x, names.value), keyValueHeads),
    }
  const fused = project(x, names.fused)
  if (names.kind === 'stacked') {
    const sizes = [heads, keyValueHeads, keyValueHeads].map((count) => count * headDimension)
    const [query, key, value] = split(fused, { axis: 1, sizes })
    return { query: perHead(query, heads), key: perHead(key, keyValueHeads), value: perHead(value, keyValueHeads) }
  }
  const beside = splitHeads(fused, shape, heads, 3 * headDimension)
  const [query, key, value] = split(beside, { axis: 3, sizes: [headDimension, headDimension, headDimension] })
  return { query, key, value }
}

/**
 * The transformer itself, from embeddings to normalized hidden states.
 *
 * @example const { hidden } = decoder(config, weights, declareInputs(graph, config, { maskRows: 'batch' }), {
 *   wrapLayer: (_, layer, x) => recompute(layer, [x]),
 * })
 */
export function decoder(
  config: DecoderConfig,
  weights: Record<string, Tensor>,
  inputs: DecoderInputs,
  options: DecoderOptions = {},
): DecoderOutputs {
  const { names } = familyOf(config)
  const [batch, time] = inputs.embedded.shape
  const keys: Tensor[] = []
  const values: Tensor[] = []
  let x = reshape(inputs.embedded, [`${batch}*${time}`, config.hiddenSize])
  if (config.embeddingScale !== 1) x = mul(x, config.embeddingScale)
  for (let i = 0; i < config.layers; i++) {
    const layer = (h: Tensor): Tensor => {
      const made = decoderLayer(config, weights, inputs, i, h, options.adapt)
      keys[i] = made.key
      values[i] = made.value
      return made.x
    }
    x = options.wrapLayer ? options.wrapLayer(i, layer, x) : layer(x)
  }
  return { hidden: normalize({ weights }, config.norm, x, names.finalNorm), keys, values }
}

/** Vocabulary scores of hidden states, the final soft-cap included: [n, hidden] to [n, vocabulary]. */
export function logits(config: DecoderConfig, weights: Record<string, Tensor>, hidden: Tensor, adapt?: Adapt): Tensor {
  const { names } = familyOf(config)
  const table = weights[`${config.tieEmbeddings ? names.tokens : names.head}.weight`]
  const product = matmul(hidden, table, { transposeB: true })
  return softCap(adapt ? adapt(names.head, hidden, product) : product, config.logitSoftCap)
}
