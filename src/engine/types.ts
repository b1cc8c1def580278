import type { Graph, Node } from './graph.js'

/** Element types the engine speaks. Indices are int64; masks are bool; packed low-precision weights are uint8. */
export type DataType = 'float32' | 'int64' | 'int32' | 'bool' | 'uint8'

/**
 * The length of one axis: a number, a name that is bound when the program runs (`'batch'`), or a sum of products of
 * names in canonical order (`'batch*time'`, `'cache+time'`, `'4*time'`).
 */
export type Dimension = number | string

export type Shape = readonly Dimension[]

/** The memory of a value, by data type: float32, int64, int32, bool (one byte each, 0 or 1) and uint8 share Uint8Array. */
export type TypedArray = Float32Array | BigInt64Array | Int32Array | Uint8Array

/** A concrete array: what goes into a program and what comes out. Row-major. */
export interface Value {
  data: TypedArray
  shape: readonly number[]
}

/** A node's output: a symbolic array. Made by graph inputs, constants and operations; never holds numbers. */
export interface Tensor {
  readonly graph: Graph
  readonly id: number
  readonly shape: Shape
  readonly dtype: DataType
  /** The name of the operation that makes it. */
  readonly op: string
  /** Inputs and parameters only. */
  readonly name?: string
  readonly node: Node
  /** Which output of the node it is. */
  readonly output: number
}

/** An operand that broadcasts: a tensor, or a number that takes the other operand's data type. */
export type Operand = Tensor | number

/** The data type that a typed array holds; bool where it may be uint8 as well. */
export function dataTypeOf(data: TypedArray): DataType {
  if (data instanceof Float32Array) return 'float32'
  if (data instanceof BigInt64Array) return 'int64'
  return data instanceof Int32Array ? 'int32' : 'bool'
}

/** Whether a typed array can hold elements of the data type. */
export function holds(data: TypedArray, dtype: DataType): boolean {
  return dataTypeOf(data) === (dtype === 'uint8' ? 'bool' : dtype)
}

/** Number of elements of a concrete shape. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1
  for (const length of shape) size *= length
  return size
}
