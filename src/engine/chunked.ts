/** The vocabulary projection and its loss, some rows at a time. */
import { vectorJacobian } from './grad.js'
import { add, log, mul, neg, sub } from './ops/arithmetic.js'
import { fill } from './ops/constants.js'
import { gather, scatterAdd, scatterRows, takeAlongAxis } from './ops/indexing.js'
import { concat } from './ops/joining.js'
import { matmul } from './ops/matmul.js'
import { softmax } from './ops/normalization.js'
import { after } from './ops/ordering.js'
import { joinParts, part } from './ops/parts.js'
import { max, sum, topK } from './ops/reduce.js'
import { reshape } from './ops/shape.js'
import { sameShape } from './dimensions.js'
import { describe, requireType, shapeError } from './operation.js'
import type { Tensor } from './types.js'

export interface ChunkedLogprobsOptions<Name extends string = string> {
  /** float32 [n, d]. */
  hidden: Tensor
  /** float32 [vocabulary, d]: scores are hidden tableᵀ. */
  table: Tensor
  /** int32 or int64 [n]. */
  targets: Tensor
  /** How many chunks. Each is about n / chunks rows; n need not be a multiple, nor be as large. */
  chunks: number
  /**
   * Losses of tokens, from their logprobs and the fed arrays: all are [rows of the chunk], as must be the answer, each
   * element of which may depend on its own token only. Absent: no derivatives.
   */
  loss?: (logprobs: Tensor, tokens: Record<Name, Tensor>) => Tensor
  /** What the loss reads beside the logprobs: tensors [n]. */
  tokens?: Record<Name, Tensor>
  /** Whether the derivative at the table is wanted; true unless given. */
  tableGradient?: boolean
  /** Whether the entropy in nats is wanted, which costs another pass; false unless given. */
  entropy?: boolean
  /** Further ids of each row whose logprobs are wanted: the `count` most probable, or int [n, k] of the type of `targets`. */
  alternatives?: { count: number } | { ids: Tensor }
  /** The derivative of a further loss at the entropies [n], which flows on to `hidden` and `table` beside that of `loss`. */
  entropySlopes?: Tensor
  /** The same at the logprobs of given alternatives: [n, k]. */
  alternativeSlopes?: Tensor
  /** Applied to the scores element by element, e.g. a soft cap. */
  transform?: (scores: Tensor) => Tensor
}

export interface ChunkedLogprobs {
  /** [n]: of the targets. They carry no derivative: it is below. */
  logprobs: Tensor
  /** [n]. */
  losses?: Tensor
  /** [n, d]: the derivative of the sum of the losses. */
  hiddenGradient?: Tensor
  /** [vocabulary, d]. */
  tableGradient?: Tensor
  /** [n]. */
  entropy?: Tensor
  /** [n, k]; where they were chosen here, the most probable first, and of equal ones that of the lower id. */
  alternatives?: { ids: Tensor; logprobs: Tensor }
}

/**
 * Logprobs of targets, and the derivatives of a loss on them, without scores [n, vocabulary] ever existing whole: chunks of
 * rows follow each other, and one softmax of a chunk serves both directions (as in https://arxiv.org/abs/2410.10989).
 *
 * With p the softmax and g the derivative at a logprob, the derivative at the scores is g (onehot - p); it is not formed: its
 * products are g (table[target] - p table) and scatter(g hidden) - pᵀ (g hidden), so that a chunk is passed over by its
 * products, the softmax and two maxima only. A soft cap, and slopes e at the entropy H or a_k at alternatives, do form it, a
 * chunk at a time: with m = sum(p scores) it is g (onehot - p) + sum_k a_k (onehot_k - p) + e p (m - scores), the last from
 * dH / dscores = -p (log p + H).
 *
 * @throws MyriadError `shape` when the arguments do not fit
 * @example
 * const head = chunkedLogprobs({ hidden, table, targets, chunks: 8, tokens: { weights }, loss: (lp, t) => neg(mul(t.weights, lp)) })
 * const [dx, dw] = grad(hidden, [x, w], { seed: head.hiddenGradient })
 */
export function chunkedLogprobs<Name extends string = never>(options: ChunkedLogprobsOptions<Name>): ChunkedLogprobs {
  const { hidden, table, targets, chunks, loss, tableGradient = true, entropy = false, transform } = options
  const { alternatives, entropySlopes, alternativeSlopes } = options
  check(options)
  const fed = Object.entries(options.tokens ?? {}) as [Name, Tensor][]
  const made: {
    logprobs: Tensor
    losses?: Tensor
    dHidden?: Tensor
    weighted?: Tensor
    entropy?: Tensor
    ids?: Tensor
    alternatives?: Tensor
  }[] = []
  let dTable: Tensor | undefined
  for (let index = 0; index < chunks; index++) {
    const piece = (tensor: Tensor): Tensor => part(tensor, index, chunks)
    const before = made.at(-1)
    // One chunk waits for all that the last one's probabilities are read by.
    const done = [before?.dHidden ?? before?.logprobs, before?.entropy, before?.alternatives, dTable].filter(
      (t) => t !== undefined,
    )
    const rows = done.reduce(after, piece(hidden))
    const target = piece(targets)
    const column = reshape(target, [target.shape[0], 1])
    const raw = matmul(rows, table, { transposeB: true })
    const scores = transform ? transform(raw) : raw
    const p = softmax(scores, { axis: 1 })
    // The logarithm of the sum of exponentials, exactly, from the largest score and its probability, which is never tiny.
    const logSum = sub(max(scores, { axes: [1], keepDims: true }), log(max(p, { axes: [1], keepDims: true })))
    const chosen = takeAlongAxis(scores, column, { axis: 1 })
    const flat = (x: Tensor): Tensor => reshape(x, [target.shape[0]])
    const logprobs = flat(sub(chosen, logSum))
    const chunk: (typeof made)[number] = { logprobs }
    const meanScore = entropy || entropySlopes ? sum(mul(p, scores), { axes: [1], keepDims: true }) : undefined
    if (entropy) chunk.entropy = flat(sub(logSum, meanScore!))
    if (alternatives && 'ids' in alternatives) {
      chunk.ids = piece(alternatives.ids)
      chunk.alternatives = sub(takeAlongAxis(scores, chunk.ids, { axis: 1 }), logSum)
    } else if (alternatives) {
      const top = topK(scores, { k: alternatives.count, axis: 1 })
      chunk.ids = top.indices
      chunk.alternatives = sub(top.values, logSum)
    }
    if (loss) {
      const tokens = Object.fromEntries(fed.map(([name, tensor]) => [name, piece(tensor)])) as Record<Name, Tensor>
      chunk.losses = loss(logprobs, tokens)
      const ones = fill(hidden.graph, 1, chunk.losses.shape)
      const [slope] = vectorJacobian([{ output: chunk.losses, cotangent: ones }], [logprobs])
      const g = reshape(slope, [target.shape[0], 1])
      if (transform || entropySlopes || alternativeSlopes) {
        const others = alternativeSlopes && piece(alternativeSlopes)
        const taken = others ? add(g, sum(others, { axes: [1], keepDims: true })) : g
        const spread =
          entropySlopes && meanScore
            ? sub(mul(reshape(piece(entropySlopes), [target.shape[0], 1]), sub(meanScore, scores)), taken)
            : neg(taken)
        const ids = others && chunk.ids ? concat([column, chunk.ids], { axis: 1 }) : column
        const added = others ? concat([g, others], { axis: 1 }) : g
        const atScores = scatterAdd(mul(p, spread), ids, added, { axis: 1 })
        const [atRaw] = transform ? vectorJacobian([{ output: scores, cotangent: atScores }], [raw]) : [atScores]
        chunk.dHidden = matmul(atRaw, table)
        if (tableGradient) dTable = plus(dTable, matmul(atRaw, rows, { transposeA: true }))
      } else {
        chunk.dHidden = mul(g, sub(gather(table, target, { axis: 0 }), matmul(p, table)))
        if (tableGradient) {
          chunk.weighted = mul(rows, g)
          dTable = plus(dTable, matmul(p, chunk.weighted, { transposeA: true, alpha: -1 }))
        }
      }
    }
    made.push(chunk)
  }
  const join = (key: keyof (typeof made)[number]): Tensor | undefined =>
    made[0][key] &&
    joinParts(
      made.map((chunk) => chunk[key]!),
      hidden,
    )
  const weighted = join('weighted')
  return {
    logprobs: join('logprobs')!,
    losses: join('losses'),
    hiddenGradient: join('dHidden'),
    tableGradient: dTable && weighted ? scatterRows(dTable, targets, weighted) : dTable,
    entropy: join('entropy'),
    ...(alternatives ? { alternatives: { ids: join('ids')!, logprobs: join('alternatives')! } } : {}),
  }
}

const plus = (sum: Tensor | undefined, term: Tensor): Tensor => (sum ? add(sum, term) : term)

function check(options: ChunkedLogprobsOptions): void {
  const { hidden, table, targets, chunks, tokens, alternatives, entropySlopes, alternativeSlopes } = options
  const op = 'chunkedLogprobs'
  requireType(op, 'hidden', hidden, 'float32')
  requireType(op, 'targets', targets, 'int64', 'int32')
  const [n, width] = hidden.shape
  if (hidden.shape.length !== 2 || table.shape.length !== 2 || table.shape[1] !== width) {
    throw shapeError(
      op,
      `${describe('hidden', hidden)} and ${describe('table', table)}, but must be [n, d] and [vocabulary, d]`,
    )
  }
  for (const [name, tensor] of Object.entries({ targets, ...tokens, ...(entropySlopes && { entropySlopes }) })) {
    if (tensor.shape.length !== 1 || tensor.shape[0] !== n) {
      throw shapeError(op, `${describe(name, tensor)}, but must be [${n}] as ${describe('hidden', hidden)}`)
    }
  }
  const ids = alternatives && 'ids' in alternatives ? alternatives.ids : undefined
  if (ids && (ids.shape.length !== 2 || ids.shape[0] !== n || ids.dtype !== targets.dtype))
    throw shapeError(
      op,
      `${describe('ids', ids)}, but must be [${n}, k] of the type of ${describe('targets', targets)}`,
    )
  if (alternativeSlopes && !(ids && sameShape(alternativeSlopes.shape, ids.shape)))
    throw shapeError(op, `${describe('alternativeSlopes', alternativeSlopes)}, but must be shaped as given ids`)
  if ((entropySlopes || alternativeSlopes) && !options.loss)
    throw shapeError(op, 'slopes flow on beside the derivative of a loss, and there is none')
  if (!Number.isInteger(chunks) || chunks < 1)
    throw shapeError(op, `chunks is ${chunks}, but must be a positive integer`)
}
