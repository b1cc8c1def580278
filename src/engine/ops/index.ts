/**
 * Every operation, one row each: shape rule, ONNX lowering, vector-Jacobian product. The functions that apply them are
 * beside the rows. To add one: write its row and function in the file it belongs to, export the function here, and give it
 * a case in testing/gradient-cases.ts and testing/forward-cases.ts; tests fail until it has both.
 */
import type { Operation } from '../operation.js'
import * as arithmetic from './arithmetic.js'
import * as attention from './attention.js'
import * as constants from './constants.js'
import * as convolution from './convolution.js'
import * as indexing from './indexing.js'
import * as joining from './joining.js'
import * as logic from './logic.js'
import * as matmul from './matmul.js'
import * as normalization from './normalization.js'
import * as ordering from './ordering.js'
import * as parts from './parts.js'
import * as quantized from './quantized.js'
import * as reduce from './reduce.js'
import * as shape from './shape.js'
import * as unary from './unary.js'

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'infer' in value && 'lower' in value
}

/** The table of operations by name. */
export function operations(): ReadonlyMap<string, Operation> {
  const rooms = [
    arithmetic,
    attention,
    constants,
    convolution,
    indexing,
    joining,
    logic,
    matmul,
    normalization,
    ordering,
    parts,
    quantized,
    reduce,
    shape,
    unary,
  ]
  const rows = rooms.flatMap((room) => Object.values(room).filter(isOperation))
  return new Map(rows.map((row) => [row.name, row]))
}

export { add, div, log, maximum, minimum, mul, neg, pow, sub } from './arithmetic.js'
export { additiveMask, causalMask, paddingMask, rotary, segmentMask } from './attention.js'
export { constant, fill, length, range, zeros } from './constants.js'
export { avgPool2d, conv2d, convTranspose2d, globalAvgPool2d, maxPool2d } from './convolution.js'
export { embedding, gather, gatherElements, scatterAdd, scatterRows, takeAlongAxis } from './indexing.js'
export { concat, pad, slice, split } from './joining.js'
export { equal, greater, greaterEqual, less, lessEqual, logicalAnd, logicalNot, logicalOr, where } from './logic.js'
export { matmul } from './matmul.js'
export { crossEntropy, layerNorm, logSoftmax, rmsNorm, selectedLogprobs, softmax } from './normalization.js'
export { after } from './ordering.js'
export { joinParts, part } from './parts.js'
export { matmulInt8, matmulNBits, type MatmulNBitsOptions } from './quantized.js'
export { argmax, cumsum, logSumExp, max, mean, min, sum, topK } from './reduce.js'
export { expand, reshape, squeeze, transpose, unsqueeze } from './shape.js'
export {
  abs,
  cast,
  clip,
  cos,
  dropout,
  erf,
  exp,
  gelu,
  relu,
  rsqrt,
  sigmoid,
  sign,
  silu,
  sin,
  sqrt,
  square,
  stopGradient,
  tanh,
} from './unary.js'
