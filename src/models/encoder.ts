import { add, div, mul, reshape, slice, sum, tanh, transpose, type Graph, type Tensor } from '../engine/index.js'
import { activate, attention, linear, normalize, splitHeads, type Adapt, type Parts } from './blocks.js'
import { addRows, copyRows, scatterRows } from './embedding.js'
import { encoderFamily, type EncoderConfig } from './encoder-config.js'
import { encoderParameterShapes } from './encoder-parameters.js'
import type { Weights } from './parameters.js'

/** What one pass of an encoder reads. */
export interface EncoderInputs {
  /** From {@link embedForEncoder} [batch, time, hidden]. */
  embedded: Tensor
  /** Added to the scores, broadcasts to [batch, 1, time, time]: 0 where there is a token, very negative at padding. */
  mask: Tensor
}

export interface EncoderOutputs {
  /** After the last layer [batch*time, hidden]. */
  hidden: Tensor
  /** After the embeddings and after each layer, as transformers' `hidden_states`: [batch*time, hidden] each. */
  states: Tensor[]
}

export interface EncoderOptions {
  adapt?: Adapt
  /** As for a decoder: the place to recompute a layer in the backward pass. */
  wrapLayer?: (i: number, layer: (x: Tensor) => Tensor, x: Tensor) => Tensor
}

/** Declares every weight of an encoder on a graph, by Hugging Face name. */
export function declareEncoderParameters(graph: Graph, config: EncoderConfig): Record<string, Tensor> {
  const entries = Object.entries(encoderParameterShapes(config))
  return Object.fromEntries(entries.map(([name, shape]) => [name, graph.parameter(name, shape)]))
}

/** Declares the inputs `embedded` [batch, time, hidden] and `mask` [batch, 1, 1, time]. */
export function declareEncoderInputs(graph: Graph, config: EncoderConfig): EncoderInputs {
  return {
    embedded: graph.input('embedded', ['batch', 'time', config.hiddenSize]),
    mask: graph.input('mask', ['batch', 1, 1, 'time']),
  }
}

/** The transformer encoder with the norm after each addition (Devlin et al. 2018, https://arxiv.org/abs/1810.04805). */
export function encoder(
  config: EncoderConfig,
  weights: Record<string, Tensor>,
  inputs: EncoderInputs,
  options: EncoderOptions = {},
): EncoderOutputs {
  const [batch, time] = inputs.embedded.shape
  const parts: Parts = { weights, adapt: options.adapt }
  const embedded = reshape(inputs.embedded, [`${batch}*${time}`, config.hiddenSize])
  const states = [normalize(parts, config.norm, embedded, 'embeddings.LayerNorm')]
  for (let i = 0; i < config.layers; i++) {
    const layer = (h: Tensor): Tensor => encoderLayer(config, parts, inputs, i, h)
    states.push(options.wrapLayer ? options.wrapLayer(i, layer, states[i]) : layer(states[i]))
  }
  return { hidden: states[config.layers], states }
}

/** One layer: x [batch*time, hidden] to the same. */
function encoderLayer(config: EncoderConfig, parts: Parts, inputs: EncoderInputs, i: number, x: Tensor): Tensor {
  const name = `encoder.layer.${i}`
  const perHead = (module: string): Tensor => {
    const projected = linear(parts, x, `${name}.attention.self.${module}`)
    return transpose(splitHeads(projected, inputs.embedded.shape, config.heads, config.headDimension), [0, 2, 1, 3])
  }
  const mixed = attention({
    query: perHead('query'),
    key: perHead('key'),
    value: perHead('value'),
    mask: inputs.mask,
    scale: 1 / Math.sqrt(config.headDimension),
  })
  const attended = add(x, linear(parts, mixed, `${name}.attention.output.dense`))
  const h = normalize(parts, config.norm, attended, `${name}.attention.output.LayerNorm`)
  const inner = activate(config.activation, linear(parts, h, `${name}.intermediate.dense`))
  return normalize(parts, config.norm, add(h, linear(parts, inner, `${name}.output.dense`)), `${name}.output.LayerNorm`)
}

/** Hidden states [batch*time, hidden] of the first token of each row [batch, hidden]. */
function firstTokens(hidden: Tensor, [batch, time, width]: Tensor['shape']): Tensor {
  return reshape(slice(reshape(hidden, [batch, time, width]), { axis: 1, end: 1 }), [batch, width])
}

/** The pooler, where `config.pooler` is set: hidden states [batch*time, hidden] to [batch, hidden]. Padding must be behind. */
export function pool(weights: Record<string, Tensor>, inputs: EncoderInputs, hidden: Tensor, adapt?: Adapt): Tensor {
  return tanh(linear({ weights, adapt }, firstTokens(hidden, inputs.embedded.shape), 'pooler.dense'))
}

/** Scores of the classes, where `config.labels` is set: hidden states [batch*time, hidden] to [batch, labels]. Padding must be behind. */
export function classify(
  config: EncoderConfig,
  weights: Record<string, Tensor>,
  inputs: EncoderInputs,
  hidden: Tensor,
  adapt?: Adapt,
): Tensor {
  const parts: Parts = { weights, adapt }
  if (!encoderFamily(config).roberta) return linear(parts, pool(weights, inputs, hidden, adapt), 'classifier')
  const first = firstTokens(hidden, inputs.embedded.shape)
  return linear(parts, tanh(linear(parts, first, 'classifier.dense')), 'classifier.out_proj')
}

/**
 * Mean over the tokens of each row, the usual sentence embedding (Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084):
 * hidden states [batch*time, hidden] and valid [batch, time], 1 at tokens and 0 at padding, to [batch, hidden].
 */
export function meanPool(hidden: Tensor, valid: Tensor): Tensor {
  const [batch, time] = valid.shape
  const column = reshape(valid, [batch, time, 1])
  const total = sum(mul(reshape(hidden, [batch, time, hidden.shape[1]]), column), { axes: [1] })
  return div(total, sum(column, { axes: [1] }))
}

/**
 * Rows of the table of positions for one sequence: 0, 1, 2... for BERT; from the padding id + 1 on for RoBERTa, whose padding has
 * the row of the padding id and does not count.
 */
export function encoderPositions(config: EncoderConfig, tokens: ArrayLike<number>): Int32Array {
  const { roberta } = encoderFamily(config)
  const positions = new Int32Array(tokens.length)
  let next = roberta ? config.paddingId + 1 : 0
  for (let i = 0; i < tokens.length; i++)
    positions[i] = roberta && tokens[i] === config.paddingId ? config.paddingId : next++
  return positions
}

const tables = {
  tokens: 'embeddings.word_embeddings.weight',
  positions: 'embeddings.position_embeddings.weight',
  types: 'embeddings.token_type_embeddings.weight',
}

/** Weights of an encoder that are only looked up: their gradient is all in {@link scatterEncoderEmbedding}. */
export const encoderTables: readonly string[] = Object.values(tables)

/** Rows of an encoder's three tables: arrays of one length. */
export interface EncoderRows {
  tokens: ArrayLike<number>
  /** From {@link encoderPositions}. */
  positions: ArrayLike<number>
  /** Segments; all 0 unless given. */
  types?: ArrayLike<number>
}

/** The sum of the rows of each token into `target` [tokens, hidden]: what {@link encoder} reads as `embedded`. */
export function embedForEncoder(weights: Weights, rows: EncoderRows, target: Float32Array): void {
  copyRows(weights[tables.tokens], rows.tokens, target)
  addRows(weights[tables.positions], rows.positions, target)
  addRows(weights[tables.types], rows.types ?? new Int32Array(rows.tokens.length), target)
}

/** The gradient of {@link embedForEncoder}: adds what flowed back [tokens, hidden] to the rows it was read from. */
export function scatterEncoderEmbedding(
  gradientOf: (name: string) => Float32Array,
  rows: EncoderRows,
  flowed: Float32Array,
): void {
  scatterRows(gradientOf(tables.tokens), rows.tokens, flowed)
  scatterRows(gradientOf(tables.positions), rows.positions, flowed)
  scatterRows(gradientOf(tables.types), rows.types ?? new Int32Array(rows.tokens.length), flowed)
}
