import { createRandom, deriveSeed } from '../../core/index.js'
import { add, div, matmul, mul, reshape, square, sqrt, stopGradient, sum, type Tensor } from '../../engine/index.js'
import type { Adapt } from '../blocks.js'
import type { DecoderConfig } from '../decoder-config.js'
import type { Weights } from '../parameters.js'
import { adaptedModules, type LoraConfig } from './config.js'
import { leaveOut } from './dropout.js'
import { loraNames, outputNorms, weightName } from './lora-layout.js'

/** Name and shape of every weight of a low-rank adapter. */
export function loraShapes(config: DecoderConfig, adapter: LoraConfig): Record<string, number[]> {
  const shapes: Record<string, number[]> = {}
  for (const module of adaptedModules(config, adapter)) {
    const { a, b, magnitude } = loraNames(module.name)
    shapes[a] = [module.rank, module.in]
    shapes[b] = [module.out, module.rank]
    if (adapter.dora) shapes[magnitude] = [module.out]
  }
  return shapes
}

/**
 * A new adapter, which changes nothing yet: A uniform within ±1/sqrt(in) as PEFT draws it, B zero, magnitudes the norms of the
 * rows of the base weights.
 *
 * @param base the model's weights; read for DoRA only
 */
export function initializeLora(config: DecoderConfig, adapter: LoraConfig, seed: number, base: Weights): Weights {
  const weights: Weights = {}
  for (const module of adaptedModules(config, adapter)) {
    const { a, b, magnitude } = loraNames(module.name)
    const random = createRandom(deriveSeed(seed, 'adapter', module.name))
    const bound = 1 / Math.sqrt(module.in)
    weights[a] = Float32Array.from({ length: module.rank * module.in }, () => (random.uniform() * 2 - 1) * bound)
    weights[b] = new Float32Array(module.out * module.rank)
    if (adapter.dora) weights[magnitude] = outputNorms(base[weightName(config, module.name)], module)
  }
  return weights
}

/**
 * The graph of an adapter, for `decoder(..., { adapt })`.
 *
 * DoRA as PEFT computes it: the result is scaled by magnitude / ‖W + scale B A‖ per output, a norm that takes no part in the
 * gradient. Its square is ‖W‖² + 2 scale Σ B (W Aᵀ) + scale² Σ B (B (A Aᵀ)), so that B A is never formed.
 *
 * @param options.dropout a fed whole number [1] that decides which inputs are left out; absent outside training
 */
export function createAdapt(options: {
  config: DecoderConfig
  adapter: LoraConfig
  parameters: Record<string, Tensor>
  baseWeights: Record<string, Tensor>
  dropout?: { seed: Tensor }
}): Adapt {
  const { config, adapter, parameters, baseWeights } = options
  const modules = new Map(adaptedModules(config, adapter).map((module, index) => [module.name, { ...module, index }]))
  return (name, x, product) => {
    const module = modules.get(name)
    if (!module) return product
    const a = parameters[loraNames(name).a]
    const b = parameters[loraNames(name).b]
    const share = options.dropout ? adapter.dropout : 0
    const input = options.dropout && share > 0 ? leaveOut(x, share, options.dropout.seed, module.index) : x
    const alpha = module.scale / (1 - share)
    const low = matmul(matmul(input, a, { transposeB: true }), b, { transposeB: true, alpha })
    if (!adapter.dora) return add(product, low)
    const weight = baseWeights[weightName(config, name)]
    const rows = { axes: [1], keepDims: false }
    const along = matmul(weight, a, { transposeB: true, transposeA: module.transposed }) // W Aᵀ [out, rank]
    const grown = matmul(b, matmul(a, a, { transposeB: true })) // B A Aᵀ [out, rank]
    const squared = add(
      sum(square(weight), { axes: [module.transposed ? 0 : 1] }),
      add(mul(sum(mul(b, along), rows), 2 * module.scale), mul(sum(mul(b, grown), rows), module.scale ** 2)),
    )
    const factor = reshape(div(parameters[loraNames(name).magnitude], stopGradient(sqrt(squared))), [1, module.out])
    // Dropout is of the low-rank path only: the base's share of the result reads all inputs.
    return mul(add(product, low), factor)
  }
}
