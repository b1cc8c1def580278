import { MyriadError } from '../core/index.js'

/**
 * How the losses of tokens become one number. With N sequences, T_i trainable tokens in sequence i and Ntok in all, the
 * weight of a trainable token is
 *
 * - `token-mean` 1 / Ntok: every token counts alike (DAPO)
 * - `sequence-mean-token-mean` 1 / (N T_i): every sequence counts alike (GRPO)
 * - `sequence-mean-token-sum` 1 / N
 * - `fixed-length` 1 / (N L), L a constant length (Dr. GRPO)
 */
export const AGGREGATIONS = [
  'token-mean',
  'sequence-mean-token-mean',
  'sequence-mean-token-sum',
  'fixed-length',
] as const
export type Aggregation = (typeof AGGREGATIONS)[number]

/**
 * Aggregation weights c of one optimizer batch: the loss is the sum of c times the token's loss. A sequence without a
 * trainable token is not counted in N, and a batch without one has weights 0.
 *
 * @param masks one per sequence, 1 on trainable tokens: [sequence][tokens]
 * @param fixedLength L in tokens; required by 'fixed-length'
 * @returns weights, 0 where the mask is 0: [sequence][tokens]
 * @throws MyriadError 'usage' when 'fixed-length' has no positive length
 * @example tokenWeights([Uint8Array.of(0, 1, 1), Uint8Array.of(0, 1, 0)], 'sequence-mean-token-mean') // .25 .25, .5
 */
export function tokenWeights(
  masks: readonly Uint8Array[],
  aggregation: Aggregation,
  fixedLength?: number,
): Float32Array[] {
  const lengths = masks.map((mask) => mask.reduce((sum, trainable) => sum + (trainable ? 1 : 0), 0))
  const tokens = lengths.reduce((sum, length) => sum + length, 0)
  const sequences = lengths.filter((length) => length > 0).length
  if (aggregation === 'fixed-length' && !(fixedLength !== undefined && fixedLength > 0)) {
    throw new MyriadError('usage', 'aggregation "fixed-length" needs a positive fixedLength, in tokens')
  }
  const weightOf = (length: number): number => {
    if (length === 0) return 0
    switch (aggregation) {
      case 'token-mean':
        return 1 / tokens
      case 'sequence-mean-token-mean':
        return 1 / (sequences * length)
      case 'sequence-mean-token-sum':
        return 1 / sequences
      case 'fixed-length':
        return 1 / (sequences * fixedLength!)
    }
  }
  return masks.map((mask, i) => {
    const weight = weightOf(lengths[i])
    return Float32Array.from(mask, (trainable) => (trainable ? weight : 0))
  })
}
