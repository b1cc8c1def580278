/** What an operation is: its shape rule, its ONNX lowering and its vector-Jacobian product. One value per operation. */
import { MyriadError } from '../core/index.js'
import { describeShape } from './dimensions.js'
import type { Lowering } from './lower.js'
import type { DataType, Dimension, Shape, Tensor, TypedArray } from './types.js'

export type AttributeValue =
  number | string | boolean | readonly Dimension[] | readonly (readonly Dimension[])[] | TypedArray
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

export interface TensorType {
  shape: Shape
  dtype: DataType
}

/** What a lowering is given beside the context: the ONNX names of the inputs and the symbolic node. */
export interface LowerCall<A> {
  names: readonly string[]
  inputs: readonly Tensor[]
  outputs: readonly Tensor[]
  attributes: A
}

export interface GradientCall<A> {
  inputs: readonly Tensor[]
  outputs: readonly Tensor[]
  attributes: A
  /** The derivative with respect to each output; undefined where nothing depends on it. */
  cotangents: readonly (Tensor | undefined)[]
  /** cotangents[0]: present whenever the operation has one output. */
  cotangent: Tensor
}

export interface Operation<A extends Attributes = Attributes> {
  readonly name: string
  /** Shape rule: the type of each output. Throws `shape`, naming the operation, the argument and the shapes. */
  infer(inputs: readonly Tensor[], attributes: A): readonly TensorType[]
  /** Emits ONNX nodes; answers the ONNX name of each output. */
  lower(context: Lowering, call: LowerCall<A>): readonly string[]
  /**
   * Vector-Jacobian product: the derivative with respect to each input, of the input's shape, or undefined where it is
   * zero. Written with the same operation functions, so that it can be differentiated again. Absent: not differentiable.
   */
  gradient?(call: GradientCall<A>): readonly (Tensor | undefined)[]
}

/** Gives an operation its attribute type. */
export function operation<A extends Attributes>(definition: Operation<A>): Operation<A> {
  return definition
}

export function shapeError(op: string, message: string): MyriadError {
  return new MyriadError('shape', `${op}: ${message}`)
}

/** `x is float32 [batch, 4]`, for messages. */
export function describe(argument: string, tensor: Tensor): string {
  return `${argument} is ${tensor.dtype} ${describeShape(tensor.shape)}`
}

/** Throws unless the argument has one of the data types. */
export function requireType(op: string, argument: string, tensor: Tensor, ...dtypes: DataType[]): void {
  if (!dtypes.includes(tensor.dtype)) {
    throw shapeError(op, `${describe(argument, tensor)}, but must be ${dtypes.join(' or ')}; use cast`)
  }
}

/** Throws unless the argument has that many axes. */
export function requireRank(op: string, argument: string, tensor: Tensor, rank: number): void {
  if (tensor.shape.length !== rank) {
    throw shapeError(op, `${describe(argument, tensor)}, but must have ${rank} axes`)
  }
}

/** A possibly negative axis as one in [0, rank). Throws `shape` outside. */
export function resolveAxis(op: string, axis: number, rank: number): number {
  const resolved = axis < 0 ? axis + rank : axis
  if (!Number.isInteger(axis) || resolved < 0 || resolved >= rank) {
    throw shapeError(op, `axis ${axis} is outside of a tensor with ${rank} axes`)
  }
  return resolved
}
