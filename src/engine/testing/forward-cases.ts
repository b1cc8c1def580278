/** For tests: what each operation computes, on numbers that can be checked by hand (or, where said, with NumPy or PyTorch). */
import type { Graph } from '../graph.js'
import * as ops from '../ops/index.js'
import type { Tensor } from '../types.js'

export interface ForwardCase {
  build(graph: Graph): Tensor
  shape: readonly number[]
  /** Row-major. */
  values: readonly number[]
}

type Row = readonly [build: (graph: Graph) => Tensor, shape: readonly number[], values: readonly number[]]

const row = ([build, shape, values]: Row): ForwardCase => ({ build, shape, values })

const vector =
  (...values: number[]) =>
  (graph: Graph): Tensor =>
    ops.constant(graph, values)

const matrix = (graph: Graph): Tensor => ops.constant(graph, [1, 2, 3, 4, 5, 6], [2, 3])

const ids = (graph: Graph, ...values: number[]): Tensor => ops.constant(graph, values, undefined, 'int64')

const bits = (tensor: Tensor): Tensor => ops.cast(tensor, 'float32')

const compared = (compare: (a: Tensor, b: Tensor) => Tensor, values: readonly number[]): Row => [
  (g) => bits(compare(vector(1, 2, 3)(g), vector(2, 2, 2)(g))),
  [3],
  values,
]

const logical = (combine: (a: Tensor, b: Tensor) => Tensor, values: readonly number[]): Row => [
  (g) =>
    bits(combine(ops.constant(g, [0, 0, 1, 1], undefined, 'bool'), ops.constant(g, [0, 1, 0, 1], undefined, 'bool'))),
  [4],
  values,
]

/** 3 by 3 image of 1 to 9. */
const image = (graph: Graph): Tensor => ops.constant(graph, [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 1, 3, 3])

const rows: Record<string, Row | Row[]> = {
  constant: [(g) => ops.constant(g, 7, [2]), [2], [7, 7]],
  fill: [(g) => ops.fill(g, 3, [1, 2]), [1, 2], [3, 3]],
  length: [(g) => ops.add(ops.constant(g, 1), ops.length(g, 4)), [], [5]],
  range: [(g) => ops.cast(ops.range(g, 3), 'float32'), [3], [0, 1, 2]],
  add: [(g) => ops.add(matrix(g), vector(10, 20, 30)(g)), [2, 3], [11, 22, 33, 14, 25, 36]],
  sub: [(g) => ops.sub(1, vector(1, 2)(g)), [2], [0, -1]],
  mul: [(g) => ops.mul(vector(2, 3)(g), vector(5, 7)(g)), [2], [10, 21]],
  div: [(g) => ops.div(vector(1, 3)(g), 2), [2], [0.5, 1.5]],
  pow: [(g) => ops.pow(vector(2, 3)(g), vector(3, 2)(g)), [2], [8, 9]],
  minimum: [(g) => ops.minimum(vector(1, 5)(g), 3), [2], [1, 3]],
  maximum: [(g) => ops.maximum(vector(1, 5)(g), 3), [2], [3, 5]],
  neg: [(g) => ops.neg(vector(1, -2)(g)), [2], [-1, 2]],
  log: [(g) => ops.log(vector(1, Math.E)(g)), [2], [0, 1]],
  abs: [(g) => ops.abs(vector(-1, 2)(g)), [2], [1, 2]],
  sign: [(g) => ops.sign(vector(-3, 0, 2)(g)), [3], [-1, 0, 1]],
  exp: [(g) => ops.exp(vector(0, 1)(g)), [2], [1, Math.E]],
  sqrt: [(g) => ops.sqrt(vector(4, 9)(g)), [2], [2, 3]],
  rsqrt: [(g) => ops.rsqrt(vector(4, 16)(g)), [2], [0.5, 0.25]],
  square: [(g) => ops.square(vector(-3, 2)(g)), [2], [9, 4]],
  tanh: [(g) => ops.tanh(vector(0, 1)(g)), [2], [0, Math.tanh(1)]],
  sigmoid: [(g) => ops.sigmoid(vector(0, Math.log(3))(g)), [2], [0.5, 0.75]],
  relu: [(g) => ops.relu(vector(-1, 2)(g)), [2], [0, 2]],
  silu: [(g) => ops.silu(vector(0, Math.log(3))(g)), [2], [0, 0.75 * Math.log(3)]],
  // torch.nn.functional.gelu(torch.tensor([-1., 1.])), and with approximate='tanh'
  gelu: [
    [(g) => ops.gelu(vector(-1, 1)(g)), [2], [-0.158655, 0.841345]],
    [(g) => ops.gelu(vector(-1, 1)(g), { approximate: 'tanh' }), [2], [-0.158808, 0.841192]],
  ],
  erf: [(g) => ops.erf(vector(0, 0.5)(g)), [2], [0, 0.5204999]],
  sin: [(g) => ops.sin(vector(0, Math.PI / 6)(g)), [2], [0, 0.5]],
  cos: [(g) => ops.cos(vector(0, Math.PI / 3)(g)), [2], [1, 0.5]],
  clip: [(g) => ops.clip(vector(-2, 0.5, 2)(g), { min: -1, max: 1 }), [3], [-1, 0.5, 1]],
  cast: [(g) => bits(ops.cast(vector(1.7, -1.7)(g), 'int32')), [2], [1, -1]],
  stopGradient: [(g) => ops.stopGradient(vector(1, 2)(g)), [2], [1, 2]],
  equal: compared(ops.equal, [0, 1, 0]),
  less: compared(ops.less, [1, 0, 0]),
  lessEqual: compared(ops.lessEqual, [1, 1, 0]),
  greater: compared(ops.greater, [0, 0, 1]),
  greaterEqual: compared(ops.greaterEqual, [0, 1, 1]),
  logicalAnd: logical(ops.logicalAnd, [0, 0, 0, 1]),
  logicalOr: logical(ops.logicalOr, [0, 1, 1, 1]),
  logicalNot: [(g) => bits(ops.logicalNot(ops.constant(g, [0, 1], undefined, 'bool'))), [2], [1, 0]],
  where: [(g) => ops.where(ops.constant(g, [1, 0], undefined, 'bool'), vector(1, 2)(g), -1), [2], [1, -1]],
  sum: [
    [(g) => ops.sum(matrix(g), { axes: [0] }), [3], [5, 7, 9]],
    [(g) => ops.sum(matrix(g)), [], [21]],
  ],
  mean: [(g) => ops.mean(matrix(g), { axes: [-1], keepDims: true }), [2, 1], [2, 5]],
  max: [(g) => ops.max(matrix(g), { axes: [0] }), [3], [4, 5, 6]],
  min: [(g) => ops.min(matrix(g), { axes: [1] }), [2], [1, 4]],
  logSumExp: [(g) => ops.logSumExp(vector(1000, 1000)(g), { axis: 0 }), [], [1000 + Math.log(2)]],
  argmax: [(g) => bits(ops.argmax(ops.constant(g, [1, 9, 3, 8, 5, 6], [2, 3]))), [2], [1, 0]],
  cumsum: [
    [(g) => ops.cumsum(vector(1, 2, 3)(g)), [3], [1, 3, 6]],
    [(g) => ops.cumsum(vector(1, 2, 3)(g), { exclusive: true, reverse: true }), [3], [5, 3, 0]],
  ],
  topK: [
    [(g) => ops.topK(vector(1, 9, 5)(g), { k: 2 }).values, [2], [9, 5]],
    [(g) => bits(ops.topK(vector(1, 9, 5)(g), { k: 2 }).indices), [2], [1, 2]],
  ],
  reshape: [(g) => ops.reshape(matrix(g), [3, -1]), [3, 2], [1, 2, 3, 4, 5, 6]],
  transpose: [(g) => ops.transpose(matrix(g)), [3, 2], [1, 4, 2, 5, 3, 6]],
  expand: [(g) => ops.expand(vector(1, 2)(g), [2, 2]), [2, 2], [1, 2, 1, 2]],
  concat: [(g) => ops.concat([matrix(g), ops.constant(g, [7, 8], [2, 1])]), [2, 4], [1, 2, 3, 7, 4, 5, 6, 8]],
  split: [(g) => ops.split(matrix(g), { axis: 1, sizes: [2, 1] })[1], [2, 1], [3, 6]],
  slice: [
    [(g) => ops.slice(matrix(g), { axis: 1, start: -2 }), [2, 2], [2, 3, 5, 6]],
    [(g) => ops.slice(matrix(g), { axis: 1, step: 2 }), [2, 2], [1, 3, 4, 6]],
  ],
  pad: [(g) => ops.pad(vector(1, 2)(g), { axis: 0, before: 1, after: 2, value: 9 }), [5], [9, 1, 2, 9, 9]],
  gather: [(g) => ops.gather(matrix(g), ids(g, 2, 0), { axis: 1 }), [2, 2], [3, 1, 6, 4]],
  gatherElements: [(g) => ops.takeAlongAxis(matrix(g), ops.reshape(ids(g, 2, 0), [2, 1])), [2, 1], [3, 4]],
  scatterAdd: [(g) => ops.scatterAdd(vector(0, 10)(g), ids(g, 1, 1, 0), vector(1, 2, 4)(g)), [2], [4, 13]],
  scatterRows: [
    (g) => ops.scatterRows(matrix(g), ids(g, 1, 1), ops.constant(g, [1, 1, 1, 2, 2, 2], [2, 3])),
    [2, 3],
    [1, 2, 3, 7, 8, 9],
  ],
  matmul: [
    [(g) => ops.matmul(matrix(g), ops.constant(g, [1, 0, 1], [3, 1])), [2, 1], [4, 10]],
    [(g) => ops.matmul(matrix(g), matrix(g), { transposeB: true, alpha: 0.5 }), [2, 2], [7, 16, 16, 38.5]],
    [(g) => ops.matmul(matrix(g), matrix(g), { transposeA: true }), [3, 3], [17, 22, 27, 22, 29, 36, 27, 36, 45]],
  ],
  after: [(g) => ops.after(ops.exp(vector(0, 0)(g)), ops.log(vector(-1)(g))), [2], [1, 1]],
  part: [(g) => ops.part(vector(1, 2, 3, 4, 5)(g), 1, 3), [2], [2, 3]],
  joinParts: [
    (g) => {
      const x = vector(1, 2, 3, 4, 5)(g)
      return ops.joinParts([ops.part(x, 0, 2), ops.mul(ops.part(x, 1, 2), 10)], x)
    },
    [5],
    [1, 2, 30, 40, 50],
  ],
  // Levels 0 and 1 of a scale of 2, and of a scale of 3.
  matmulNBits: [
    (g) =>
      ops.matmulNBits(
        ops.constant(g, [1, 10], [1, 2]),
        ops.constant(
          g,
          Uint8Array.of(129, 128, ...Array(14).fill(128), 128, 129, ...Array(14).fill(128)),
          [2, 1, 16],
          'uint8',
        ),
        ops.constant(g, [2, 3]),
        { in: 2, out: 2, bits: 8, blockSize: 16, accuracyLevel: 0 },
      ),
    [1, 2],
    [2, 30],
  ],
  matmulInt8: [
    (g) =>
      ops.matmulInt8(
        ops.constant(g, [0, 255], [1, 2]),
        ops.constant(g, Uint8Array.of(128, 130, 129, 128), [2, 2], 'uint8'),
        ops.constant(g, [2, 3]),
        ops.constant(g, Uint8Array.of(128, 128), [2], 'uint8'),
      ),
    [1, 2],
    [510, 0],
  ],
  softmax: [(g) => ops.softmax(vector(0, Math.log(3))(g)), [2], [0.25, 0.75]],
  logSoftmax: [(g) => ops.logSoftmax(vector(0, Math.log(3))(g)), [2], [Math.log(0.25), Math.log(0.75)]],
  selectedLogprobs: [
    (g) => ops.selectedLogprobs(ops.constant(g, [0, Math.log(3), 0, 0], [2, 2]), ids(g, 1, 0)),
    [2],
    [Math.log(0.75), Math.log(0.5)],
  ],
  rmsNorm: [
    (g) => ops.rmsNorm(ops.constant(g, [3, 4], [1, 2]), vector(1, 2)(g), { epsilon: 0 }),
    [1, 2],
    [3 / Math.sqrt(12.5), 8 / Math.sqrt(12.5)],
  ],
  layerNorm: [
    (g) => ops.layerNorm(ops.constant(g, [1, 3], [1, 2]), vector(1, 2)(g), vector(0, 5)(g), { epsilon: 0 }),
    [1, 2],
    [-1, 7],
  ],
  // A quarter turn of (1, 3) and no turn of (2, 4): pairs are half a head apart.
  rotary: [
    (g) =>
      ops.rotary(
        ops.constant(g, [1, 2, 3, 4], [1, 1, 1, 4]),
        ops.constant(g, [0, 1], [1, 1, 2]),
        ops.constant(g, [1, 0], [1, 1, 2]),
      ),
    [1, 1, 1, 4],
    [-3, 2, 1, 4],
  ],
  conv2d: [
    [(g) => ops.conv2d(image(g), ops.constant(g, [1, 0, 0, 1], [1, 1, 2, 2])), [1, 1, 2, 2], [6, 8, 12, 14]],
    [
      (g) => ops.conv2d(image(g), ops.constant(g, [1, 1, 1, 1], [1, 1, 2, 2]), { stride: 2, padding: 1 }),
      [1, 1, 2, 2],
      [1, 5, 11, 28],
    ],
  ],
  convTranspose2d: [
    (g) =>
      ops.convTranspose2d(ops.constant(g, [1, 2], [1, 1, 1, 2]), ops.constant(g, [1, 10], [1, 1, 1, 2]), {
        size: [1, 4],
        stride: 2,
      }),
    [1, 1, 1, 4],
    [1, 10, 2, 20],
  ],
  maxPool2d: [(g) => ops.maxPool2d(image(g), { window: 2, stride: 1 }), [1, 1, 2, 2], [5, 6, 8, 9]],
  avgPool2d: [(g) => ops.avgPool2d(image(g), { window: 2, stride: 1 }), [1, 1, 2, 2], [3, 4, 6, 7]],
}

export const forwardCases: Record<string, ForwardCase[]> = Object.fromEntries(
  Object.entries(rows).map(([name, listed]) => [
    name,
    (typeof listed[0] === 'function' ? [listed as Row] : (listed as Row[])).map(row),
  ]),
)
