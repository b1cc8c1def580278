/** Softmax and its kin; root-mean-square and layer normalization. */
import { describeShape, sameShape } from '../dimensions.js'
import { describe, operation, requireType, resolveAxis, shapeError } from '../operation.js'
import type { Tensor } from '../types.js'
import { add, div, mul, neg, sub, unbroadcast } from './arithmetic.js'
import { length } from './constants.js'
import { scatterAdd } from './indexing.js'
import { matmul, matmulOperation } from './matmul.js'
import { mean, sum } from './reduce.js'
import { expand, replaceAxis, reshape } from './shape.js'
import { exp } from './unary.js'

export const softmaxOperation = operation<{ axis: number }>({
  name: 'softmax',
  infer: ([x]) => {
    requireType('softmax', 'x', x, 'float32')
    return [{ shape: x.shape, dtype: 'float32' }]
  },
  lower: (context, { names, attributes: { axis } }) => context.emit('Softmax', names, { axis: { int: axis } }),
  gradient: ({ outputs: [y], attributes: { axis }, cotangent: g }) => [mul(y, sub(g, weightedSum(y, g, axis)))],
})

/**
 * sum(g y) over the axis, kept. In attention y v = o and g = do vᵀ, so that it equals sum(do o), which is over the head's
 * width and not over the keys (https://arxiv.org/abs/2205.14135, appendix B.2).
 */
function weightedSum(y: Tensor, g: Tensor, axis: number): Tensor {
  // Where query heads share a key head, matmul has flattened them into rows: look through the reshape.
  const product = g.op === 'reshape' ? g.node.inputs[0] : g
  if (product.op === 'matmul' && axis === y.shape.length - 1 && product.shape.at(-1) === y.shape.at(-1)) {
    const { transposeA, transposeB, alpha } = product.node.attributes as {
      transposeA: boolean
      transposeB: boolean
      alpha: number
    }
    const [dOutput, value] = product.node.inputs
    const forward = { transposeA: false, transposeB: false, alpha }
    const weights = reshape(y, product.shape)
    const output = !transposeA && transposeB ? y.graph.find(matmulOperation, [weights, value], forward)?.[0] : undefined
    if (output) return reshape(sum(mul(dOutput, output), { axes: [-1] }), [...y.shape.slice(0, -1), 1])
  }
  return sum(mul(g, y), { axes: [axis], keepDims: true })
}

/** exp(x) / sum(exp(x)) along an axis (the last unless given). */
export function softmax(x: Tensor, options: { axis?: number } = {}): Tensor {
  const axis = resolveAxis('softmax', options.axis ?? -1, x.shape.length)
  return x.graph.apply(softmaxOperation, [x], { axis })[0]
}

export const logSoftmaxOperation = operation<{ axis: number }>({
  name: 'logSoftmax',
  infer: ([x]) => {
    requireType('logSoftmax', 'x', x, 'float32')
    return [{ shape: x.shape, dtype: 'float32' }]
  },
  lower: (context, { names, attributes: { axis } }) => context.emit('LogSoftmax', names, { axis: { int: axis } }),
  gradient: ({ outputs: [y], attributes: { axis }, cotangent: g }) => [
    sub(g, mul(exp(y), sum(g, { axes: [axis], keepDims: true }))),
  ],
})

/** log(softmax(x)) along an axis (the last unless given). */
export function logSoftmax(x: Tensor, options: { axis?: number } = {}): Tensor {
  const axis = resolveAxis('logSoftmax', options.axis ?? -1, x.shape.length)
  return x.graph.apply(logSoftmaxOperation, [x], { axis })[0]
}

export const selectedLogprobsOperation = operation<Record<never, never>>({
  name: 'selectedLogprobs',
  infer: ([logits, targets]) => {
    requireType('selectedLogprobs', 'targets', targets, 'int64', 'int32')
    if (logits.shape.length !== 2 || !sameShape(targets.shape, logits.shape.slice(0, 1))) {
      throw shapeError(
        'selectedLogprobs',
        `${describe('logits', logits)} and ${describe('targets', targets)}, but must be [n, vocabulary] and [n]`,
      )
    }
    return [{ shape: targets.shape, dtype: 'float32' }]
  },
  lower: (context, { names: [logits, targets] }) => {
    const [logprobs] = context.emit('LogSoftmax', [logits], { axis: { int: 1 } })
    const [column] = context.emit('Reshape', [targets, context.integers([-1, 1])])
    const [selected] = context.emit('GatherElements', [logprobs, column], { axis: { int: 1 } })
    return context.emit('Reshape', [selected, context.integers([-1])])
  },
  gradient: ({ inputs: [logits, targets], cotangent }) => {
    const column = [targets.shape[0], 1]
    const g = reshape(cotangent, column)
    const spread = mul(exp(logSoftmax(logits)), neg(g))
    return [scatterAdd(spread, reshape(targets, column), g, { axis: 1 }), undefined]
  },
})

/**
 * The log-probability of one id per row: logits [n, vocabulary], targets int64 or int32 [n] give [n]. Its derivative at the
 * logits is (onehot - softmax) g, without a one-hot array.
 *
 * @example const loss = neg(mean(selectedLogprobs(logits, targets))) // cross-entropy
 */
export function selectedLogprobs(logits: Tensor, targets: Tensor): Tensor {
  return logits.graph.apply(selectedLogprobsOperation, [logits, targets], {})[0]
}

/** Mean cross-entropy in nats: logits [n, vocabulary], targets int64 or int32 [n]. */
export function crossEntropy(logits: Tensor, targets: Tensor): Tensor {
  return neg(mean(selectedLogprobs(logits, targets)))
}

function requireWidth(op: string, argument: string, x: Tensor, weight: Tensor): void {
  if (weight.shape.length !== 1 || weight.shape[0] !== x.shape.at(-1)) {
    throw shapeError(
      op,
      `${describe(argument, weight)}, but must be ${describeShape(x.shape.slice(-1))}: ${describe('x', x)}`,
    )
  }
}

export const rmsNormOperation = operation<{ epsilon: number }>({
  name: 'rmsNorm',
  infer: ([x, weight]) => {
    requireType('rmsNorm', 'x', x, 'float32')
    requireWidth('rmsNorm', 'weight', x, weight)
    return [
      { shape: x.shape, dtype: 'float32' },
      { shape: replaceAxis(x.shape, x.shape.length - 1, 1), dtype: 'float32' },
    ]
  },
  lower: (context, { names, attributes: { epsilon } }) =>
    context.emit(
      'SimplifiedLayerNormalization',
      names,
      { axis: { int: -1 }, epsilon: { float: epsilon } },
      { outputs: 2 },
    ),
  // With r the inverse root mean square and p = g x, dweight = rᵀ p and dx = r g weight - x r³ (p weight) / width: both
  // sums are products with a vector, and x r is never formed, so that five passes over memory suffice.
  gradient: ({ inputs: [x, weight], outputs: [, inverse], cotangents: [g, gInverse] }) => {
    const width = x.shape.at(-1)!
    const perElement = typeof width === 'number' ? 1 / width : div(1, length(x.graph, width))
    const cubed = mul(mul(mul(inverse, inverse), inverse), perElement)
    const correction = gInverse && mul(gInverse, cubed)
    if (!g) return [correction && neg(mul(x, correction)), undefined]
    const product = reshape(mul(g, x), [-1, width])
    const along = reshape(matmul(product, reshape(weight, [width, 1])), inverse.shape)
    const factor = mul(along, cubed)
    const dx = sub(mul(mul(g, weight), inverse), mul(x, correction ? add(factor, correction) : factor))
    return [dx, reshape(matmul(reshape(inverse, [1, -1]), product), [width])]
  },
})

/**
 * x / sqrt(mean(x²) + epsilon) weight over the last axis (https://arxiv.org/abs/1910.07467): x [..., width],
 * weight [width]. epsilon 1e-6 unless given.
 */
export function rmsNorm(x: Tensor, weight: Tensor, options: { epsilon?: number } = {}): Tensor {
  return x.graph.apply(rmsNormOperation, [x, weight], { epsilon: options.epsilon ?? 1e-6 })[0]
}

export const layerNormOperation = operation<{ epsilon: number }>({
  name: 'layerNorm',
  infer: ([x, weight, bias]) => {
    requireType('layerNorm', 'x', x, 'float32')
    requireWidth('layerNorm', 'weight', x, weight)
    requireWidth('layerNorm', 'bias', x, bias)
    const statistics = { shape: replaceAxis(x.shape, x.shape.length - 1, 1), dtype: 'float32' } as const
    return [{ shape: x.shape, dtype: 'float32' }, statistics, statistics]
  },
  lower: (context, { names, attributes: { epsilon } }) =>
    context.emit('LayerNormalization', names, { axis: { int: -1 }, epsilon: { float: epsilon } }, { outputs: 3 }),
  gradient: ({ inputs: [x, weight, bias], outputs: [, center, inverse], cotangents: [g, gCenter, gInverse] }) => {
    const last = { axes: [-1], keepDims: true }
    const normalized = mul(sub(x, center), inverse)
    const width = x.shape.at(-1)!
    const perElement = typeof width === 'number' ? 1 / width : div(1, length(x.graph, width))
    const parts: Tensor[] = []
    if (g) {
      const weighted = mul(g, weight)
      const along = mul(normalized, mean(mul(weighted, normalized), last))
      parts.push(mul(inverse, sub(sub(weighted, mean(weighted, last)), along)))
    }
    if (gCenter) parts.push(expand(mul(gCenter, perElement), x.shape))
    if (gInverse) parts.push(mul(mul(gInverse, mul(inverse, inverse)), neg(mul(normalized, perElement))))
    const dx = parts.length > 0 ? parts.reduce((a, b) => add(a, b)) : undefined
    return [dx, g && unbroadcast(mul(g, normalized), weight), g && unbroadcast(g, bias)]
  },
})

/**
 * (x - mean) / sqrt(variance + epsilon) weight + bias over the last axis (https://arxiv.org/abs/1607.06450): x [..., width],
 * weight and bias [width]. epsilon 1e-5 unless given.
 */
export function layerNorm(x: Tensor, weight: Tensor, bias: Tensor, options: { epsilon?: number } = {}): Tensor {
  return x.graph.apply(layerNormOperation, [x, weight, bias], { epsilon: options.epsilon ?? 1e-5 })[0]
}
