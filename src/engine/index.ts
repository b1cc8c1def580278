/**
 * Differentiable programs on ONNX Runtime. Build a graph of tensors with named dimensions, add derivatives with `grad`,
 * `compile` what you need, and `run` it with typed arrays; update the weights with an optimizer. Every operation is a row
 * with a shape rule, a lowering and a vector-Jacobian product (ops/).
 */
export { createGraph, type Graph, type Node } from './graph.js'
export { grad } from './grad.js'
export { quantizeBlocks, quantizeColumns, type QuantizedBlocks, type QuantizedColumns } from './quantize.js'
export { recompute } from './recompute.js'
export { chunkedLogprobs, type ChunkedLogprobs, type ChunkedLogprobsOptions } from './chunked.js'
export { compile, type CompileOptions, type Program } from './program.js'
export { devices, type Device, type Port } from './session.js'
export * from './ops/index.js'
export { canonical, describeShape, productOf } from './dimensions.js'
export type { DataType, Dimension, Operand, Shape, Tensor, TypedArray, Value } from './types.js'
export {
  operation,
  type Attributes,
  type GradientCall,
  type LowerCall,
  type Operation,
  type TensorType,
} from './operation.js'
export type { Lowering } from './lower.js'
export type { OnnxAttribute } from './onnx.js'
export {
  accumulate,
  adamW,
  clipByGlobalNorm,
  globalNorm,
  scale,
  sgd,
  type AdamWOptions,
  type Arrays,
  type Optimizer,
  type OptimizerState,
} from './optimizers.js'
export { constantSchedule, cosine, linear, warmup, type Schedule } from './schedules.js'
