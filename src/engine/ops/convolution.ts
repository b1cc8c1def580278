/** Two-dimensional convolution and pooling: x [batch, channels, height, width], height and width known at build time. */
import { multiplyDimensions } from '../dimensions.js'
import { describe, operation, requireRank, shapeError } from '../operation.js'
import type { Tensor } from '../types.js'
import { constant, zeros } from './constants.js'
import { scatterAdd } from './indexing.js'
import { concat, pad, slice } from './joining.js'
import { mean } from './reduce.js'
import { reshape, transpose } from './shape.js'

type Pair = readonly [number, number]

export interface WindowOptions {
  /** Steps of the window, [vertical, horizontal] or one number for both; 1 for conv2d, the window's size for pooling. */
  stride?: number | Pair
  /** Zeros (for maxPool2d: nothing) around the image; 0 unless given. */
  padding?: number | Pair
}

const pair = (value: number | Pair): Pair => (typeof value === 'number' ? [value, value] : value)

function spatial(op: string, x: Tensor): Pair {
  requireRank(op, 'x', x, 4)
  const [, , height, width] = x.shape
  if (typeof height !== 'number' || typeof width !== 'number') {
    throw shapeError(op, `${describe('x', x)}: height and width must be numbers`)
  }
  return [height, width]
}

function padded(x: Tensor, padding: Pair, value = 0): Tensor {
  const rows = pad(x, { axis: 2, before: padding[0], after: padding[0], value })
  return pad(rows, { axis: 3, before: padding[1], after: padding[1], value })
}

/** Places of a window along an axis, without padding. */
function places(op: string, x: Tensor, size: Pair, window: Pair, stride: Pair, dilation: Pair = [1, 1]): Pair {
  const count = [0, 1].map((i) => Math.floor((size[i] - (dilation[i] * (window[i] - 1) + 1)) / stride[i]) + 1)
  if (count[0] < 1 || count[1] < 1) {
    throw shapeError(
      op,
      `a window of [${window.join(', ')}] does not fit into the image: ${describe('x', x)} after padding`,
    )
  }
  return [count[0], count[1]]
}

type ConvolutionAttributes = { stride: Pair; dilation: Pair; groups: number }

function convolutionAttributes({ stride, dilation, groups }: ConvolutionAttributes) {
  return { strides: { ints: stride }, dilations: { ints: dilation }, group: { int: groups } }
}

export const conv2dOperation = operation<ConvolutionAttributes>({
  name: 'conv2d',
  infer: ([x, weight], { stride, dilation, groups }) => {
    const size = spatial('conv2d', x)
    const window = spatial('conv2d', weight)
    const channels = multiplyDimensions(weight.shape[1], groups)
    const outputs = weight.shape[0]
    if (channels !== x.shape[1] || typeof outputs !== 'number' || outputs % groups !== 0) {
      throw shapeError(
        'conv2d',
        `${describe('x', x)} and ${describe('weight', weight)} with ${groups} groups: weight must be [outputs, channels / groups, height, width]`,
      )
    }
    return [{ shape: [x.shape[0], outputs, ...places('conv2d', x, size, window, stride, dilation)], dtype: 'float32' }]
  },
  lower: (context, { names, attributes }) => context.emit('Conv', names, convolutionAttributes(attributes)),
  gradient: ({ inputs: [x, weight], attributes, cotangent }) => [
    spreadWindows(cotangent, weight, attributes, spatial('conv2d', x)),
    weightGradient(x, cotangent, attributes, spatial('conv2d', weight)),
  ],
})

export const convTranspose2dOperation = operation<ConvolutionAttributes & { size: Pair }>({
  name: 'convTranspose2d',
  infer: ([x, weight], { groups, size }) => [
    { shape: [x.shape[0], multiplyDimensions(weight.shape[1], groups), ...size], dtype: 'float32' },
  ],
  lower: (context, { names, inputs: [x, weight], attributes: { size, ...attributes } }) => {
    const { stride, dilation } = attributes
    const missing = size.map((length, i) => {
      const steps = ((x.shape[2 + i] as number) - 1) * stride[i]
      return length - (steps + dilation[i] * ((weight.shape[2 + i] as number) - 1) + 1)
    })
    return context.emit('ConvTranspose', names, {
      ...convolutionAttributes(attributes),
      output_padding: { ints: missing },
    })
  },
  gradient: ({ inputs: [x, weight], attributes: { size: _, ...attributes }, cotangent }) => [
    x.graph.apply(conv2dOperation, [cotangent, weight], attributes)[0],
    weightGradient(cotangent, x, attributes, spatial('convTranspose2d', weight)),
  ],
})

/** The transposed convolution: each element of x adds its multiple of the window to an image of `size`. */
function spreadWindows(x: Tensor, weight: Tensor, attributes: ConvolutionAttributes, size: Pair): Tensor {
  return x.graph.apply(convTranspose2dOperation, [x, weight], { ...attributes, size })[0]
}

/**
 * d/dweight of sum(g conv2d(x, weight)): a convolution of x with g in which batch and channels change places, and stride
 * and dilation too.
 */
function weightGradient(
  x: Tensor,
  g: Tensor,
  { stride, dilation, groups }: ConvolutionAttributes,
  window: Pair,
): Tensor {
  const swap = (tensor: Tensor): Tensor =>
    transpose(
      reshape(tensor, [tensor.shape[0], groups, (tensor.shape[1] as number) / groups, ...tensor.shape.slice(2)]),
      [1, 2, 0, 3, 4],
    )
  const images = swap(x)
  const outputs = swap(g)
  const pieces: Tensor[] = []
  for (let group = 0; group < groups; group++) {
    const pick = (tensor: Tensor): Tensor =>
      reshape(slice(tensor, { axis: 0, start: group, end: group + 1 }), tensor.shape.slice(1))
    const [full] = x.graph.apply(conv2dOperation, [pick(images), pick(outputs)], {
      stride: dilation,
      dilation: stride,
      groups: 1,
    })
    const rows = slice(full, { axis: 2, end: window[0] })
    pieces.push(transpose(slice(rows, { axis: 3, end: window[1] }), [1, 0, 2, 3]))
  }
  return pieces.length === 1 ? pieces[0] : concat(pieces, { axis: 0 })
}

/**
 * Cross-correlation: x [batch, channels, height, width], weight [outputs, channels / groups, window height, window width]
 * give [batch, outputs, ...]. Add a bias with `add(y, reshape(bias, [-1, 1, 1]))`.
 */
export function conv2d(
  x: Tensor,
  weight: Tensor,
  options: WindowOptions & { dilation?: number | Pair; groups?: number } = {},
): Tensor {
  const { stride = 1, padding = 0, dilation = 1, groups = 1 } = options
  spatial('conv2d', x)
  const attributes = { stride: pair(stride), dilation: pair(dilation), groups }
  return x.graph.apply(conv2dOperation, [padded(x, pair(padding)), weight], attributes)[0]
}

/**
 * Transposed convolution, the derivative of conv2d: x [batch, inputs, ...], weight [inputs, outputs / groups, ...] give
 * [batch, outputs, ...size].
 */
export function convTranspose2d(
  x: Tensor,
  weight: Tensor,
  options: { size: Pair; stride?: number | Pair; dilation?: number | Pair; groups?: number },
): Tensor {
  const { size, stride = 1, dilation = 1, groups = 1 } = options
  return spreadWindows(x, weight, { stride: pair(stride), dilation: pair(dilation), groups }, size)
}

type PoolAttributes = { window: Pair; stride: Pair }

function poolAttributes({ window, stride }: PoolAttributes) {
  return { kernel_shape: { ints: window }, strides: { ints: stride } }
}

export const maxPool2dOperation = operation<PoolAttributes>({
  name: 'maxPool2d',
  infer: ([x], { window, stride }) => {
    const shape = [...x.shape.slice(0, 2), ...places('maxPool2d', x, spatial('maxPool2d', x), window, stride)]
    return [
      { shape, dtype: 'float32' },
      { shape, dtype: 'int64' },
    ]
  },
  lower: (context, { names, attributes }) => context.emit('MaxPool', names, poolAttributes(attributes), { outputs: 2 }),
  gradient: ({ inputs: [x], outputs: [, indices], cotangents: [g] }) => {
    if (!g) return [undefined]
    // The second output counts through the whole array.
    const flat = zeros(x.graph, [multiplyDimensions(...x.shape)])
    return [reshape(scatterAdd(flat, reshape(indices, [-1]), reshape(g, [-1]), { axis: 0 }), x.shape)]
  },
})

/** The largest element of each window. */
export function maxPool2d(x: Tensor, options: WindowOptions & { window: number | Pair }): Tensor {
  const window = pair(options.window)
  const stride = options.stride === undefined ? window : pair(options.stride)
  spatial('maxPool2d', x)
  const image = padded(x, pair(options.padding ?? 0), -3e38)
  return x.graph.apply(maxPool2dOperation, [image], { window, stride })[0]
}

export const avgPool2dOperation = operation<PoolAttributes>({
  name: 'avgPool2d',
  infer: ([x], { window, stride }) => [
    {
      shape: [...x.shape.slice(0, 2), ...places('avgPool2d', x, spatial('avgPool2d', x), window, stride)],
      dtype: 'float32',
    },
  ],
  lower: (context, { names, attributes }) => context.emit('AveragePool', names, poolAttributes(attributes)),
  gradient: ({ inputs: [x], outputs: [y], attributes: { window, stride }, cotangent }) => {
    const single = (tensor: Tensor): Tensor =>
      reshape(tensor, [multiplyDimensions(tensor.shape[0], tensor.shape[1]), 1, ...tensor.shape.slice(2)])
    const average = constant(x.graph, 1 / (window[0] * window[1]), [1, 1, ...window])
    const attributes = { stride, dilation: [1, 1] as const, groups: 1 }
    return [
      reshape(
        spreadWindows(reshape(cotangent, single(y).shape), average, attributes, spatial('avgPool2d', x)),
        x.shape,
      ),
    ]
  },
})

/** The mean of each window; zeros of the padding count. */
export function avgPool2d(x: Tensor, options: WindowOptions & { window: number | Pair }): Tensor {
  const window = pair(options.window)
  const stride = options.stride === undefined ? window : pair(options.stride)
  spatial('avgPool2d', x)
  return x.graph.apply(avgPool2dOperation, [padded(x, pair(options.padding ?? 0))], { window, stride })[0]
}

/** The mean of each channel: [batch, channels, height, width] gives [batch, channels]. */
export function globalAvgPool2d(x: Tensor): Tensor {
  requireRank('globalAvgPool2d', 'x', x, 4)
  return mean(x, { axes: [2, 3] })
}
