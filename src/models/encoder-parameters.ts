import { encoderFamily, type EncoderConfig } from './encoder-config.js'
import { initialize, type LinearModule, type Parameter, type Weights } from './parameters.js'

function partsOf(config: EncoderConfig): { parameters: Parameter[]; linear: LinearModule[] } {
  const { hiddenSize: d, intermediateSize: f, labels } = config
  const parameters: Parameter[] = []
  const linear: LinearModule[] = []
  const table = (name: string, rows: number): void => {
    parameters.push({ name: `embeddings.${name}.weight`, shape: [rows, d], kind: 'table' })
  }
  const norm = (name: string): void => {
    parameters.push({ name: `${name}.weight`, shape: [d], kind: 'norm' })
    parameters.push({ name: `${name}.bias`, shape: [d], kind: 'bias' })
  }
  const dense = (name: string, out: number, input: number): void => {
    linear.push({ name, in: input, out, transposed: false })
    parameters.push({ name: `${name}.weight`, shape: [out, input], kind: 'linear' })
    parameters.push({ name: `${name}.bias`, shape: [out], kind: 'bias' })
  }
  table('word_embeddings', config.vocabularySize)
  table('position_embeddings', config.positions)
  table('token_type_embeddings', config.tokenTypes)
  norm('embeddings.LayerNorm')
  for (let i = 0; i < config.layers; i++) {
    const layer = `encoder.layer.${i}`
    for (const name of ['query', 'key', 'value']) dense(`${layer}.attention.self.${name}`, d, d)
    dense(`${layer}.attention.output.dense`, d, d)
    norm(`${layer}.attention.output.LayerNorm`)
    dense(`${layer}.intermediate.dense`, f, d)
    dense(`${layer}.output.dense`, d, f)
    norm(`${layer}.output.LayerNorm`)
  }
  if (config.pooler) dense('pooler.dense', d, d)
  if (labels !== undefined) {
    if (encoderFamily(config).roberta) dense('classifier.dense', d, d)
    dense(encoderFamily(config).roberta ? 'classifier.out_proj' : 'classifier', labels, d)
  }
  return { parameters, linear }
}

/**
 * Every weight of an encoder in the order of the forward pass, by the names of transformers' bare model: without the `bert.` or
 * `roberta.` that files of models with a head put before them.
 */
export function encoderParametersOf(config: EncoderConfig): Parameter[] {
  return partsOf(config).parameters
}

/** Every linear layer of an encoder, in the order of the forward pass. */
export function encoderLinearModules(config: EncoderConfig): LinearModule[] {
  return partsOf(config).linear
}

/** Name and shape of every weight of an encoder. */
export function encoderParameterShapes(config: EncoderConfig): Record<string, number[]> {
  return Object.fromEntries(encoderParametersOf(config).map(({ name, shape }) => [name, shape]))
}

/** Fresh weights: normal with standard deviation 0.02, norms 1, biases 0 (Devlin et al. 2018). */
export function initializeEncoderWeights(config: EncoderConfig, seed: number): Weights {
  return initialize(encoderParametersOf(config), seed, { norm: 1, residual: 1 })
}
