/** For tests: at least one case per differentiable operation. A key is the operation's name, or `name, what is special`. */
import type { Random } from '../../core/index.js'
import { between, spaced, type CaseInput, type GradientCase } from './check-gradient.js'
import * as ops from '../ops/index.js'
import type { Tensor } from '../types.js'

const x = { shape: ['batch', 'time', 3] } as const
const away: CaseInput = { shape: ['batch', 'time', 3], values: spaced }
const positive: CaseInput = { shape: ['batch', 'time', 3], values: between(0.5, 2) }

const unary = (build: (x: Tensor) => Tensor, input: CaseInput = x): GradientCase => ({
  inputs: { x: input },
  build: (tensors) => build(tensors.x),
})

const binary = (build: (a: Tensor, b: Tensor) => Tensor, a: CaseInput = x, b: CaseInput = x): GradientCase => ({
  inputs: { a, b },
  build: (tensors) => build(tensors.a, tensors.b),
})

/** int64 indices below a limit. */
const indices = (shape: CaseInput['shape'], limit: number): CaseInput => ({
  shape,
  dtype: 'int64',
  values: (random: Random, size) => Array.from({ length: size }, () => random.integer(0, limit - 1)),
})

const coins = (shape: CaseInput['shape']): CaseInput => ({
  shape,
  dtype: 'bool',
  values: (random: Random, size) => Array.from({ length: size }, () => random.integer(0, 1)),
})

const image: CaseInput = { shape: ['batch', 2, 6, 5] }

export const gradientCases: Record<string, GradientCase | GradientCase[]> = {
  // arithmetic
  add: [binary(ops.add), binary(ops.add, x, { shape: [3] }), binary(ops.add, { shape: ['time', 1] }, x)],
  sub: [binary(ops.sub), binary(ops.sub, { shape: [] }, x)],
  mul: [binary(ops.mul), binary(ops.mul, { shape: ['batch', 1, 3] }, x)],
  div: [binary(ops.div, x, positive), binary(ops.div, x, { shape: ['time', 1], values: between(0.5, 2) })],
  pow: [binary(ops.pow, positive, x), unary((a) => ops.pow(a, 3)), unary((a) => ops.pow(2, a))],
  minimum: binary(ops.minimum, away, { shape: ['batch', 'time', 3], values: between(-0.05, 0.05) }),
  maximum: binary(ops.maximum, away, { shape: ['batch', 'time', 3], values: between(-0.05, 0.05) }),
  neg: unary(ops.neg),
  log: unary(ops.log, positive),
  // functions of one tensor
  abs: unary(ops.abs, away),
  exp: unary(ops.exp),
  sqrt: unary(ops.sqrt, positive),
  rsqrt: unary(ops.rsqrt, positive),
  square: unary(ops.square),
  tanh: unary(ops.tanh),
  sigmoid: unary(ops.sigmoid),
  relu: unary(ops.relu, away),
  silu: [
    unary(ops.silu),
    binary((a, b) => ops.mul(ops.silu(a), b)),
    binary((a, b) => ops.mul(b, ops.mul(ops.mul(b, ops.silu(a)), ops.silu(b)))),
    binary((a, b) => ops.add(ops.mul(ops.silu(a), b), ops.mul(ops.silu(ops.mul(b, b)), b))),
  ],
  gelu: [unary((a) => ops.gelu(a)), unary((a) => ops.gelu(a, { approximate: 'tanh' }))],
  erf: unary(ops.erf),
  sin: unary(ops.sin),
  cos: unary(ops.cos),
  clip: [
    unary((a) => ops.clip(a, { min: -0.4, max: 0.8 }), away),
    unary((a) => ops.clip(a, { max: 0 }), away),
    unary((a) => ops.clip(a, { min: 0 }), away),
  ],
  cast: unary((a) => ops.mul(a, ops.cast(ops.greater(a, 0), 'float32')), away),
  // Where the stopped part is locally constant, finite differences see what grad is told.
  stopGradient: unary((a) => ops.mul(a, ops.stopGradient(ops.sign(a))), away),
  // selection
  where: {
    inputs: { c: coins(['batch', 1, 3]), a: x, b: { shape: [3] } },
    build: ({ c, a, b }) => ops.where(c, a, b),
  },
  // reductions
  sum: [unary((a) => ops.sum(a)), unary((a) => ops.sum(a, { axes: [1], keepDims: true }))],
  mean: [unary((a) => ops.mean(a)), unary((a) => ops.mean(a, { axes: [0, -1] }))],
  max: [unary((a) => ops.max(a, { axes: [-1] }), away), unary((a) => ops.max(a), away)],
  min: [unary((a) => ops.min(a, { axes: [1], keepDims: true }), away)],
  logSumExp: [
    unary((a) => ops.logSumExp(a, { axis: -1 })),
    unary((a) => ops.logSumExp(a, { axes: [0, 1], keepDims: true })),
  ],
  cumsum: [
    unary((a) => ops.cumsum(a, { axis: 1 })),
    unary((a) => ops.cumsum(a, { axis: 2, exclusive: true })),
    unary((a) => ops.cumsum(a, { axis: 0, reverse: true })),
  ],
  topK: unary((a) => ops.topK(a, { k: 2 }).values, away),
  // shapes
  reshape: [
    unary((a) => ops.reshape(a, ['batch*time', 3])),
    unary((a) => ops.mul(ops.reshape(a, [-1]), ops.reshape(ops.exp(a), ['3*batch*time']))),
    unary((a) => ops.reshape(ops.exp(ops.reshape(a, ['batch*time', 3])), ['time', 3, 'batch'])),
  ],
  transpose: unary((a) => ops.transpose(a, [2, 0, 1])),
  expand: binary(
    (a, b) => ops.expand(ops.add(a, 0.5), b.shape),
    { shape: ['time', 1] },
    { shape: ['batch', 'time', 3] },
  ),
  concat: binary((a, b) => ops.concat([a, b], { axis: 1 }), x, { shape: ['batch', 'cache', 3] }),
  split: unary((a) => {
    const [left, right] = ops.split(a, { axis: 2, sizes: [1, 2] })
    return ops.mul(left, ops.exp(right))
  }),
  'split, one piece unused': unary((a) => ops.split(a, { axis: 2, sizes: [1, 2] })[1]),
  slice: [
    unary((a) => ops.slice(a, { axis: 2, start: 1 })),
    unary((a) => ops.slice(a, { axis: -1, start: -2, end: -1 })),
    unary((a) => ops.slice(a, { axis: 2, step: 2 })),
    binary((a, b) => ops.slice(ops.concat([a, b], { axis: 1 }), { axis: 1, start: 'time', end: 'cache+time' }), x, {
      shape: ['batch', 'cache', 3],
    }),
  ],
  pad: [
    unary((a) => ops.pad(a, { axis: 2, before: 1, after: 2 })),
    unary((a) => ops.pad(a, { axis: 1, before: 'batch', value: 2 })),
  ],
  // order
  after: binary((a, b) => ops.mul(ops.after(a, ops.exp(b)), b)),
  part: { ...unary((a) => ops.part(ops.reshape(a, ['batch*time', 3]), 1, 3)), lengths: { batch: 2, time: 4 } },
  joinParts: {
    ...unary((a) => {
      const rows = ops.reshape(a, ['batch*time', 3])
      return ops.joinParts(
        [0, 1, 2].map((i) => ops.mul(ops.part(rows, i, 3), i + 1)),
        rows,
      )
    }),
    lengths: { batch: 2, time: 2 },
  },
  // indices
  gather: [
    { inputs: { x: { shape: [5, 'width'] }, i: indices(['batch', 'time'], 5) }, build: (t) => ops.gather(t.x, t.i) },
    {
      inputs: { x: { shape: ['batch', 4, 3] }, i: indices(['n', 2], 4) },
      build: (t) => ops.gather(t.x, t.i, { axis: 1 }),
    },
    {
      inputs: { x: { shape: ['batch', 'time', 4] }, i: indices([], 4) },
      build: (t) => ops.gather(t.x, t.i, { axis: 2 }),
    },
  ],
  'gather, int32 indices': {
    inputs: { x: { shape: [5, 'width'] }, i: { ...indices(['n'], 5), dtype: 'int32' } },
    build: (t) => ops.gather(t.x, t.i),
  },
  gatherElements: {
    inputs: { x: { shape: ['batch', 5] }, i: indices(['batch', 'n'], 5) },
    build: (t) => ops.gatherElements(t.x, t.i, { axis: 1 }),
  },
  scatterAdd: {
    inputs: { x: { shape: ['batch', 5] }, i: indices(['batch', 'n'], 5), u: { shape: ['batch', 'n'] } },
    build: (t) => ops.scatterAdd(t.x, t.i, t.u, { axis: 1 }),
  },
  scatterRows: {
    inputs: { x: { shape: [4, 'width'] }, i: indices(['n', 2], 4), u: { shape: ['n', 2, 'width'] } },
    build: (t) => ops.scatterRows(t.x, t.i, t.u),
  },
  // products
  matmul: [
    binary(ops.matmul, { shape: ['m', 4] }, { shape: [4, 'n'] }),
    binary((a, b) => ops.matmul(a, b, { transposeA: true, alpha: 0.5 }), { shape: [4, 'm'] }, { shape: [4, 'n'] }),
    binary((a, b) => ops.matmul(a, b, { transposeB: true }), { shape: ['m', 4] }, { shape: ['n', 4] }),
    binary(
      (a, b) => ops.matmul(a, b, { transposeA: true, transposeB: true }),
      { shape: [4, 'm'] },
      { shape: ['n', 4] },
    ),
    binary(ops.matmul, { shape: ['batch', 'time', 4] }, { shape: [4, 'n'] }),
    binary((a, b) => ops.matmul(a, b, { transposeB: true }), { shape: ['batch', 2, 'm', 4] }, { shape: [5, 4] }),
    binary(ops.matmul, { shape: ['batch', 'm', 4] }, { shape: ['batch', 4, 'n'] }),
    binary(
      (a, b) => ops.matmul(a, b, { transposeA: true }),
      { shape: ['batch', 4, 'm'] },
      { shape: ['batch', 4, 'n'] },
    ),
    binary(
      (a, b) => ops.matmul(a, b, { transposeB: true, alpha: 2 }),
      { shape: ['batch', 2, 3, 'm', 4] },
      { shape: ['batch', 2, 1, 'n', 4] },
    ),
    binary(ops.matmul, { shape: ['m', 4] }, { shape: ['batch', 4, 'n'] }),
    binary(ops.matmul, { shape: ['batch', 1, 'm', 4] }, { shape: [3, 4, 'n'] }),
    binary(
      (a, b) => ops.matmul(ops.transpose(a, [0, 2, 1]), b),
      { shape: ['batch', 4, 'm'] },
      { shape: ['batch', 4, 'n'] },
    ),
  ],
  // normalization
  softmax: [unary((a) => ops.softmax(a)), unary((a) => ops.softmax(a, { axis: 1 }))],
  logSoftmax: [unary((a) => ops.logSoftmax(a)), unary((a) => ops.logSoftmax(a, { axis: 0 }))],
  selectedLogprobs: {
    inputs: { x: { shape: ['n', 6] }, i: indices(['n'], 6) },
    build: (t) => ops.selectedLogprobs(t.x, t.i),
  },
  'selectedLogprobs, int32 targets': {
    inputs: { x: { shape: ['n', 6] }, i: { ...indices(['n'], 6), dtype: 'int32' } },
    build: (t) => ops.selectedLogprobs(t.x, t.i),
  },
  rmsNorm: [
    binary((a, b) => ops.rmsNorm(a, b, { epsilon: 1e-5 }), x, { shape: [3] }),
    binary((a, b) => ops.rmsNorm(a, b), { shape: ['batch', 2, 'time', 8] }, { shape: [8] }),
  ],
  layerNorm: {
    inputs: { x: { shape: ['batch', 'time', 6] }, w: { shape: [6] }, b: { shape: [6] } },
    build: (t) => ops.layerNorm(t.x, t.w, t.b),
  },
  rotary: [
    {
      inputs: { x: { shape: ['batch', 2, 'time', 6] }, c: { shape: [1, 'time', 3] }, s: { shape: [1, 'time', 3] } },
      build: (t) => ops.rotary(t.x, t.c, t.s),
    },
    {
      inputs: {
        x: { shape: ['batch', 2, 'time', 4] },
        c: { shape: ['batch', 'time', 2] },
        s: { shape: ['batch', 'time', 2] },
      },
      build: (t) => ops.rotary(t.x, t.c, t.s),
    },
  ],
  // images
  conv2d: [
    binary(ops.conv2d, image, { shape: [3, 2, 3, 2] }),
    binary((a, b) => ops.conv2d(a, b, { stride: 2, padding: 1 }), image, { shape: [3, 2, 3, 3] }),
    binary((a, b) => ops.conv2d(a, b, { stride: [2, 1], padding: [0, 1], dilation: 2 }), image, {
      shape: [2, 2, 2, 2],
    }),
    binary((a, b) => ops.conv2d(a, b, { groups: 2 }), { shape: ['batch', 4, 4, 4] }, { shape: [2, 2, 3, 3] }),
  ],
  convTranspose2d: binary(
    (a, b) => ops.convTranspose2d(a, b, { stride: 2, size: [8, 7] }),
    { shape: ['batch', 3, 3, 3] },
    { shape: [3, 2, 3, 3] },
  ),
  maxPool2d: [
    unary((a) => ops.maxPool2d(a, { window: 2 }), { ...image, values: spaced }),
    unary((a) => ops.maxPool2d(a, { window: 3, stride: 1, padding: 1 }), { ...image, values: spaced }),
  ],
  avgPool2d: [
    unary((a) => ops.avgPool2d(a, { window: 2 }), image),
    unary((a) => ops.avgPool2d(a, { window: [3, 2], stride: 1, padding: 1 }), image),
  ],
}
