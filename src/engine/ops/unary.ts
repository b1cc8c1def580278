/* oxlint-disable import/no-cycle -- derivatives are written with the operations, so the files need each other; only when called, never when loaded */
/** Element-wise functions of one tensor. */
import { operation, requireType, type Operation } from '../operation.js'
import type { OnnxAttribute } from '../onnx.js'
import type { Lowering } from '../lower.js'
import type { Tensor } from '../types.js'
import { sameShape } from '../dimensions.js'
import { add, div, mul, mulOperation, neg, sub } from './arithmetic.js'
import { greater, lessEqual, logicalAnd, where } from './logic.js'

type NoAttributes = Record<never, never>
const none: NoAttributes = {}

type Lower = (context: Lowering, x: string) => string[]
type Gradient = (x: Tensor, y: Tensor, g: Tensor) => Tensor

function unary(name: string, lower: string | Lower, gradient: Gradient): Operation<NoAttributes> {
  return operation<NoAttributes>({
    name,
    infer: ([x]) => {
      requireType(name, 'x', x, 'float32')
      return [{ shape: x.shape, dtype: x.dtype }]
    },
    lower: (context, { names: [x] }) => (typeof lower === 'string' ? context.emit(lower, [x]) : lower(context, x)),
    gradient: ({ inputs: [x], outputs: [y], cotangent }) => [gradient(x, y, cotangent)],
  })
}

export const absOperation = unary('abs', 'Abs', (x, _, g) => mul(g, sign(x)))
export const signOperation = operation<NoAttributes>({
  name: 'sign',
  infer: ([{ shape, dtype }]) => [{ shape, dtype }],
  lower: (context, { names }) => context.emit('Sign', names),
  gradient: () => [undefined],
})
export const expOperation = unary('exp', 'Exp', (_, y, g) => mul(g, y))
export const sqrtOperation = unary('sqrt', 'Sqrt', (_, y, g) => div(mul(g, 0.5), y))
export const rsqrtOperation = unary(
  'rsqrt',
  (context, x) => context.emit('Reciprocal', context.emit('Sqrt', [x])),
  (x, y, g) => mul(mul(g, -0.5), div(y, x)),
)
export const squareOperation = unary(
  'square',
  (context, x) => context.emit('Mul', [x, x]),
  (x, _, g) => mul(mul(g, 2), x),
)
export const tanhOperation = unary('tanh', 'Tanh', (_, y, g) => sub(g, mul(g, square(y))))
export const sigmoidOperation = unary('sigmoid', 'Sigmoid', (_, y, g) => mul(g, sub(y, square(y))))
export const reluOperation = unary('relu', 'Relu', (_, y, g) => where(greater(y, 0), g, 0))
// s + y (1 - s): the sigmoid is a node of the forward pass already, so three more passes over memory suffice. In a gated layer
// z = y b, g = dz b, and g (s + y (1 - s)) = dz (z + s (b - z)): then g itself need not be formed.
export const siluOperation = unary(
  'silu',
  (context, x) => context.emit('Mul', [x, context.emit('Sigmoid', [x])[0]]),
  (x, y, g) => {
    const s = sigmoid(x)
    for (const [dz, b] of g.op === 'mul' ? [g.node.inputs, g.node.inputs.toReversed()] : []) {
      if (!sameShape(dz.shape, x.shape) || !sameShape(b.shape, x.shape)) continue
      const z = x.graph.find(mulOperation, [y, b], none) ?? x.graph.find(mulOperation, [b, y], none)
      if (z) return mul(dz, add(z[0], mul(s, sub(b, z[0]))))
    }
    return mul(g, add(s, mul(y, sub(1, s))))
  },
)
export const erfOperation = unary('erf', 'Erf', (x, _, g) => mul(mul(g, 2 / Math.sqrt(Math.PI)), exp(neg(square(x)))))
export const sinOperation = unary('sin', 'Sin', (x, _, g) => mul(g, cos(x)))
export const cosOperation = unary('cos', 'Cos', (x, _, g) => neg(mul(g, sin(x))))

export function abs(x: Tensor): Tensor {
  return x.graph.apply(absOperation, [x], none)[0]
}
/** -1, 0 or 1. */
export function sign(x: Tensor): Tensor {
  return x.graph.apply(signOperation, [x], none)[0]
}
export function exp(x: Tensor): Tensor {
  return x.graph.apply(expOperation, [x], none)[0]
}
export function sqrt(x: Tensor): Tensor {
  return x.graph.apply(sqrtOperation, [x], none)[0]
}
/** 1 / sqrt(x). */
export function rsqrt(x: Tensor): Tensor {
  return x.graph.apply(rsqrtOperation, [x], none)[0]
}
export function square(x: Tensor): Tensor {
  return x.graph.apply(squareOperation, [x], none)[0]
}
export function tanh(x: Tensor): Tensor {
  return x.graph.apply(tanhOperation, [x], none)[0]
}
export function sigmoid(x: Tensor): Tensor {
  return x.graph.apply(sigmoidOperation, [x], none)[0]
}
export function relu(x: Tensor): Tensor {
  return x.graph.apply(reluOperation, [x], none)[0]
}
/** x sigmoid(x), also called swish (https://arxiv.org/abs/1702.03118). */
export function silu(x: Tensor): Tensor {
  return x.graph.apply(siluOperation, [x], none)[0]
}
export function erf(x: Tensor): Tensor {
  return x.graph.apply(erfOperation, [x], none)[0]
}
export function sin(x: Tensor): Tensor {
  return x.graph.apply(sinOperation, [x], none)[0]
}
export function cos(x: Tensor): Tensor {
  return x.graph.apply(cosOperation, [x], none)[0]
}

export const geluOperation = operation<{ approximate: 'none' | 'tanh' }>({
  name: 'gelu',
  infer: ([x]) => {
    requireType('gelu', 'x', x, 'float32')
    return [{ shape: x.shape, dtype: x.dtype }]
  },
  lower: (context, { names, attributes }) =>
    context.emit('Gelu', names, { approximate: { text: attributes.approximate } }),
  gradient: ({ inputs: [x], attributes, cotangent }) => {
    if (attributes.approximate === 'none') {
      const cumulative = add(mul(erf(mul(x, Math.SQRT1_2)), 0.5), 0.5)
      const density = mul(exp(mul(square(x), -0.5)), 1 / Math.sqrt(2 * Math.PI))
      return [mul(cotangent, add(cumulative, mul(x, density)))]
    }
    const scale = Math.sqrt(2 / Math.PI)
    const squared = square(x)
    const t = tanh(mul(mul(x, scale), add(mul(squared, 0.044715), 1)))
    const slope = mul(add(mul(squared, 3 * 0.044715), 1), scale)
    const curved = mul(mul(x, sub(1, square(t))), slope)
    return [mul(cotangent, mul(add(add(t, 1), curved), 0.5))]
  },
})

/** Gaussian error linear unit (https://arxiv.org/abs/1606.08415); `approximate: 'tanh'` is GPT-2's form. */
export function gelu(x: Tensor, options: { approximate?: 'none' | 'tanh' } = {}): Tensor {
  return x.graph.apply(geluOperation, [x], { approximate: options.approximate ?? 'none' })[0]
}

export const clipOperation = operation<{ min?: number; max?: number }>({
  name: 'clip',
  infer: ([x]) => {
    requireType('clip', 'x', x, 'float32')
    return [{ shape: x.shape, dtype: x.dtype }]
  },
  lower: (context, { names: [x], attributes: { min, max } }) =>
    context.emit('Clip', [
      x,
      min === undefined ? '' : context.scalar(min),
      max === undefined ? '' : context.scalar(max),
    ]),
  gradient: ({ inputs: [x], attributes: { min, max }, cotangent }) => {
    const above = min === undefined ? undefined : lessEqual(min, x)
    const below = max === undefined ? undefined : lessEqual(x, max)
    const inside = above && below ? logicalAnd(above, below) : (above ?? below)
    return [inside ? where(inside, cotangent, 0) : cotangent]
  },
})

/** Limits to [min, max], either of which may be absent; the derivative is 1 at the limits and 0 outside. */
export function clip(x: Tensor, options: { min?: number; max?: number }): Tensor {
  return x.graph.apply(clipOperation, [x], { min: options.min, max: options.max })[0]
}

const onnxTypes = { float32: 1, int32: 6, int64: 7, bool: 9 } as const

export const castOperation = operation<{ dtype: keyof typeof onnxTypes }>({
  name: 'cast',
  infer: ([x], { dtype }) => [{ shape: x.shape, dtype }],
  lower: (context, { names, attributes: { dtype } }) => {
    const to: OnnxAttribute = { int: onnxTypes[dtype] }
    return context.emit('Cast', names, { to })
  },
  gradient: ({ inputs: [x], cotangent }) => [x.dtype === 'float32' ? cotangent : undefined],
})

/** Converts the elements; a float32 becomes an integer by truncation, a bool 0 or 1. */
export function cast(x: Tensor, dtype: keyof typeof onnxTypes): Tensor {
  return x.dtype === dtype ? x : x.graph.apply(castOperation, [x], { dtype })[0]
}

export const stopGradientOperation = operation<NoAttributes>({
  name: 'stopGradient',
  infer: ([{ shape, dtype }]) => [{ shape, dtype }],
  lower: (_, { names }) => names,
  gradient: () => [undefined],
})

/** x, treated as a constant by `grad`. */
export function stopGradient(x: Tensor): Tensor {
  return x.graph.apply(stopGradientOperation, [x], none)[0]
}

/**
 * Inverted dropout (https://jmlr.org/papers/v15/srivastava14a.html): keeps where the fed mask is 1 and scales by
 * 1 / (1 - rate). The mask (float32, 0 or 1, broadcasts to x) is an input, so that randomness stays with the caller.
 */
export function dropout(x: Tensor, mask: Tensor, options: { rate: number }): Tensor {
  return mul(x, mul(mask, 1 / (1 - options.rate)))
}
