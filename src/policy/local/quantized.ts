/** Linear layers in 8 or 4 bits, for sampling. */
import { MyriadError } from '../../core/index.js'
import {
  matmulInt8,
  matmulNBits,
  quantizeBlocks,
  quantizeColumns,
  type Graph,
  type Tensor,
  type Value,
} from '../../engine/index.js'
import { headTable, linearModules, type Adapt, type DecoderConfig, type Weights } from '../../models/index.js'

/**
 * Weights that never change are rounded in blocks and compiled in; weights that are trained are rounded anew after every
 * update, row by row, and read in place, which 8 bits only allow for.
 */
export interface Quantization {
  bits: 8 | 4
  kind: 'blocks' | 'columns'
}

const blockSize = { 8: 128, 4: 32 } as const

/** The kind that weights call for. Throws 'usage' for trained weights in 4 bits. */
export function quantizationFor(bits: 8 | 4, frozen: boolean): Quantization {
  if (!frozen && bits === 4)
    throw new MyriadError('usage', 'sampling in 4 bits needs weights that stay as they are: train an adapter, or use 8')
  return { bits, kind: frozen ? 'blocks' : 'columns' }
}

const part = (module: string, kind: 'packed' | 'scales' | 'zeros'): string => `${module}.${kind}`

/** Every linear layer that is stored [out, in], with the name of its weight: the last is the output projection. */
function layers(config: DecoderConfig): { name: string; weight: string; shape: [number, number] }[] {
  const all = linearModules(config)
  return all
    .map(({ name, out, in: width, transposed }, i) => ({
      name,
      weight: i === all.length - 1 ? headTable(config) : `${name}.weight`,
      shape: [out, width] as [number, number],
      transposed,
    }))
    .filter(({ transposed }) => !transposed)
}

/** Takes the place of the products of linear layers; an adapter then adds its own in float32. */
export function quantizedProducts(
  graph: Graph,
  config: DecoderConfig,
  { bits, kind }: Quantization,
  adapt: Adapt | undefined,
): Adapt {
  const shapes = new Map(layers(config).map(({ name, shape }) => [name, shape]))
  return (module, x, product) => {
    const shape = shapes.get(module)
    const rounded = shape ? multiply(module, x, shape) : product
    return adapt ? adapt(module, x, rounded) : rounded
  }

  function multiply(module: string, x: Tensor, [out, width]: [number, number]): Tensor {
    if (kind === 'columns') {
      const packed = graph.input(part(module, 'packed'), [width, out], 'uint8')
      const scales = graph.input(part(module, 'scales'), [out])
      return matmulInt8(x, packed, scales, graph.input(part(module, 'zeros'), [out], 'uint8'))
    }
    const size = blockSize[bits]
    const blocks = Math.ceil(width / size)
    const packed = graph.input(part(module, 'packed'), [out, blocks, (size * bits) / 8], 'uint8')
    return matmulNBits(x, packed, graph.input(part(module, 'scales'), [out * blocks]), {
      in: width,
      out,
      bits,
      blockSize: size,
    })
  }
}

/** What {@link quantizedProducts} reads, rounded from float32 weights. */
export function quantizedValues(
  config: DecoderConfig,
  weights: Weights,
  { bits, kind }: Quantization,
): Record<string, Value> {
  const values: Record<string, Value> = {}
  for (const { name, weight, shape } of layers(config)) {
    const rounded: Record<string, Value> =
      kind === 'columns'
        ? { ...quantizeColumns(weights[weight], shape) }
        : { ...quantizeBlocks(weights[weight], shape, { bits, blockSize: blockSize[bits] }) }
    for (const [key, value] of Object.entries(rounded)) values[`${name}.${key}`] = value
  }
  return values
}
