/** Tensors that depend on no tensor: constants, filled arrays, lengths, ranges. */
import { MyriadError } from '../../core/index.js'
import { canonical } from '../dimensions.js'
import type { Graph } from '../graph.js'
import { operation } from '../operation.js'
import {
  dataTypeOf,
  holds,
  sizeOf,
  type DataType,
  type Dimension,
  type Operand,
  type Shape,
  type Tensor,
  type TypedArray,
} from '../types.js'

/** Numbers as a typed array of a data type. */
export function typedArray(values: ArrayLike<number>, dtype: DataType): TypedArray {
  if (dtype === 'float32') return Float32Array.from(values)
  if (dtype === 'int32') return Int32Array.from(values)
  if (dtype === 'uint8') return Uint8Array.from(values)
  if (dtype === 'bool') return Uint8Array.from(values, (value) => (value ? 1 : 0))
  return BigInt64Array.from(values, BigInt)
}

export const constantOperation = operation<{ data: TypedArray; shape: readonly number[]; dtype: DataType }>({
  name: 'constant',
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  lower: (context, { attributes: { data, shape, dtype } }) => [context.constant(data, shape, dtype)],
})

/**
 * A tensor known when the program is built.
 *
 * @param value a number (shape [] unless given: then it fills the shape), or the elements in row-major order
 * @param shape `[length]` unless given
 * @param dtype float32 unless given, or what a typed array holds (bool for a Uint8Array)
 * @throws MyriadError `shape` when the elements do not fill the shape
 * @example constant(graph, [1, 2, 3, 4], [2, 2])
 */
export function constant(
  graph: Graph,
  value: number | readonly number[] | TypedArray,
  shape?: readonly number[],
  dtype?: DataType,
): Tensor {
  let data: TypedArray
  if (typeof value === 'number') {
    data = typedArray(
      Array.from({ length: sizeOf(shape ?? []) }, () => value),
      dtype ?? 'float32',
    )
  } else if (ArrayBuffer.isView(value)) {
    data = value as TypedArray
    if (dtype && !holds(data, dtype)) {
      throw new MyriadError('shape', `constant: a typed array of ${dataTypeOf(data)} was given as ${dtype}`)
    }
  } else {
    data = typedArray(value as readonly number[], dtype ?? 'float32')
  }
  const lengths = shape ?? (typeof value === 'number' ? [] : [data.length])
  if (sizeOf(lengths) !== data.length) {
    throw new MyriadError('shape', `constant: ${data.length} elements do not fill [${lengths.join(', ')}]`)
  }
  return graph.apply(constantOperation, [], { data, shape: lengths, dtype: dtype ?? dataTypeOf(data) })[0]
}

/** A number becomes a scalar constant of the data type. */
export function asTensor(graph: Graph, value: Operand, dtype: DataType = 'float32'): Tensor {
  return typeof value === 'number' ? constant(graph, value, [], dtype) : value
}

/** The value of a one-element constant; undefined for anything else. */
export function constantValue(tensor: Tensor): number | undefined {
  if (tensor.op !== 'constant') return undefined
  const { data } = tensor.node.attributes as { data: TypedArray }
  return data.length === 1 ? Number(data[0]) : undefined
}

export const fillOperation = operation<{ value: number; shape: Shape; dtype: DataType }>({
  name: 'fill',
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  lower: (context, { attributes: { value, shape, dtype } }) =>
    context.emit('ConstantOfShape', [context.shape(shape)], {
      value: { tensor: { name: '', dtype, shape: [1], data: typedArray([value], dtype) } },
    }),
})

/** One value everywhere; the shape may hold names. */
export function fill(graph: Graph, value: number, shape: Shape, dtype: DataType = 'float32'): Tensor {
  return graph.apply(fillOperation, [], { value, shape: shape.map(canonical), dtype })[0]
}

export function zeros(graph: Graph, shape: Shape): Tensor {
  return fill(graph, 0, shape)
}

export const lengthOperation = operation<{ dimension: Dimension; dtype: DataType }>({
  name: 'length',
  infer: (_, { dtype }) => [{ shape: [], dtype }],
  lower: (context, { attributes: { dimension, dtype } }) => {
    const [scalar] = context.emit('Reshape', [
      context.dimension(dimension),
      context.constant(new BigInt64Array(0), [0]),
    ])
    return dtype === 'int64' ? [scalar] : context.emit('Cast', [scalar], { to: { int: dtype === 'float32' ? 1 : 6 } })
  },
})

/** The run-time length of a dimension as a scalar. */
export function length(graph: Graph, dimension: Dimension, dtype: DataType = 'float32'): Tensor {
  if (typeof dimension === 'number') return constant(graph, dimension, [], dtype)
  return graph.apply(lengthOperation, [], { dimension: canonical(dimension), dtype })[0]
}

export const rangeOperation = operation<{ limit: Dimension }>({
  name: 'range',
  infer: (_, { limit }) => [{ shape: [limit], dtype: 'int64' }],
  lower: (context, { attributes: { limit } }) => {
    const scalar = context.constant(new BigInt64Array(0), [0])
    const [end] = context.emit('Reshape', [context.dimension(limit), scalar])
    const one = context.constant(BigInt64Array.of(1n), [])
    return context.emit('Range', [context.constant(BigInt64Array.of(0n), []), end, one])
  },
})

/** int64 [limit]: 0, 1, … limit - 1. */
export function range(graph: Graph, limit: Dimension): Tensor {
  return graph.apply(rangeOperation, [], { limit: canonical(limit) })[0]
}
