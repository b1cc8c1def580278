/** Matrix products. */
import { broadcastShapes, multiplyDimensions, sameShape } from '../dimensions.js'
import { describe, operation, requireType, shapeError } from '../operation.js'
import type { Dimension, Shape, Tensor } from '../types.js'
import { unbroadcast } from './arithmetic.js'
import { reshape } from './shape.js'

export interface MatmulOptions {
  /** Whether a's last two axes are swapped; false unless given. */
  transposeA?: boolean
  transposeB?: boolean
  /** The product is multiplied by it; 1 unless given. */
  alpha?: number
}

type MatmulAttributes = { transposeA: boolean; transposeB: boolean; alpha: number }

const batchOf = (tensor: Tensor): Shape => tensor.shape.slice(0, -2)

/** Rows, inner and columns of the product. */
function lengths(a: Tensor, b: Tensor, { transposeA, transposeB }: MatmulAttributes): Dimension[] {
  const [rows, innerA] = transposeA ? [a.shape.at(-1)!, a.shape.at(-2)!] : [a.shape.at(-2)!, a.shape.at(-1)!]
  const [innerB, columns] = transposeB ? [b.shape.at(-1)!, b.shape.at(-2)!] : [b.shape.at(-2)!, b.shape.at(-1)!]
  return [rows, innerA, innerB, columns]
}

export const matmulOperation = operation<MatmulAttributes>({
  name: 'matmul',
  infer: ([a, b], attributes) => {
    requireType('matmul', 'a', a, 'float32')
    requireType('matmul', 'b', b, 'float32')
    const [rows, innerA, innerB, columns] = lengths(a, b, attributes)
    const batch = broadcastShapes(batchOf(a), batchOf(b))
    if (innerA !== innerB || !batch) {
      const transposed = (flag: boolean): string => (flag ? ' (transposed)' : '')
      throw shapeError(
        'matmul',
        `${describe('a', a)}${transposed(attributes.transposeA)} and ${describe('b', b)}${transposed(attributes.transposeB)} do not fit: ` +
          (innerA !== innerB ? `inner lengths ${innerA} and ${innerB} differ` : 'the leading axes do not broadcast'),
      )
    }
    return [{ shape: [...batch, rows, columns], dtype: 'float32' }]
  },
  lower: (context, { names, inputs: [a, b], attributes: { transposeA, transposeB, alpha } }) => {
    const fused = (operands: readonly string[], transA: boolean, transB: boolean): string[] =>
      context.emit(
        'FusedMatMul',
        operands,
        { transA: { int: transA ? 1 : 0 }, transB: { int: transB ? 1 : 0 }, alpha: { float: alpha } },
        { domain: 'com.microsoft' },
      )
    // The kernel copies the whole right operand into its own layout, which for a few rows takes longer than to multiply.
    // The transposed product has the small operand there.
    const flat = a.shape.length === 2 && b.shape.length === 2
    if (context.fewRows && flat && !transposeA && transposeB && !context.isConstant(names[1])) {
      return context.emit('Transpose', fused([names[1], names[0]], false, true), { perm: { ints: [1, 0] } })
    }
    return !transposeA && !transposeB && alpha === 1
      ? context.emit('MatMul', names)
      : fused(names, transposeA, transposeB)
  },
  gradient: ({ inputs: [a, b], attributes: { transposeA, transposeB, alpha }, cotangent: g }) => {
    const da = transposeA
      ? matmul(b, g, { transposeA: transposeB, transposeB: true, alpha })
      : matmul(g, b, { transposeB: !transposeB, alpha })
    const db = transposeB
      ? matmul(g, a, { transposeA: true, transposeB: transposeA, alpha })
      : matmul(a, g, { transposeA: !transposeA, alpha })
    return [unbroadcast(da, a), unbroadcast(db, b)]
  },
})

/** A transpose of the last two axes is read through, for the product does it for nothing. */
function withoutTranspose(tensor: Tensor, transposed: boolean): [Tensor, boolean] {
  if (tensor.op !== 'transpose') return [tensor, transposed]
  const { perm } = tensor.node.attributes as { perm: readonly number[] }
  const rank = perm.length
  const swapsLast = perm.every((axis, i) => axis === (i === rank - 1 ? rank - 2 : i === rank - 2 ? rank - 1 : i))
  return swapsLast ? [tensor.node.inputs[0], !transposed] : [tensor, transposed]
}

/**
 * a b, with leading axes that broadcast: a [..., m, k], b [..., k, n] give [..., m, n].
 *
 * Where b is the same for consecutive leading axes of a (a weight; a key/value head shared by a group of query heads),
 * those axes become rows of one larger product, which is faster in both directions than many small ones and a sum.
 *
 * @throws MyriadError `shape` when the inner lengths differ or the leading axes do not broadcast
 * @example const scores = matmul(q, k, { transposeB: true, alpha: 1 / Math.sqrt(headDim) })
 */
export function matmul(a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor {
  if (a.shape.length < 2 || b.shape.length < 2) {
    throw shapeError(
      'matmul',
      `${describe('a', a)} and ${describe('b', b)}: both must have at least 2 axes; use unsqueeze`,
    )
  }
  const [x, transposeA] = withoutTranspose(a, options.transposeA ?? false)
  const [y, transposeB] = withoutTranspose(b, options.transposeB ?? false)
  const alpha = options.alpha ?? 1
  const attributes = { transposeA, transposeB, alpha }

  const shared = !transposeA && x.shape.length > 2 && (y.shape.length === 2 || y.shape.at(-3) === 1)
  if (shared && x.shape.length >= y.shape.length) {
    const [rows, innerA, innerB, columns] = lengths(x, y, attributes)
    const fits = broadcastShapes(batchOf(x), batchOf(y))
    if (innerA === innerB && fits && sameShape(fits, batchOf(x))) {
      const group = x.shape.at(-3)!
      const flat = reshape(x, [...x.shape.slice(0, -3), multiplyDimensions(group, rows), innerA])
      const single = y.shape.length === 2 ? y : reshape(y, [...y.shape.slice(0, -3), ...y.shape.slice(-2)])
      const product = matmul(flat, single, { transposeB, alpha })
      return reshape(product, [...batchOf(x), rows, columns])
    }
  }
  return x.graph.apply(matmulOperation, [x, y], attributes)[0]
}
