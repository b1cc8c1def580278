import type { Loss, LossResult, LossTokens } from '../policy/types.js'

/**
 * The sum of losses, each times its coefficient: an objective and its regularizers.
 *
 * Metrics keep their names; where two losses share one, that of the later is prefixed by its loss's name. One loss with
 * coefficient 1 is answered as it is, so that it stays compiled.
 *
 * @example sumLosses([{ loss: clippedLoss() }, { loss: entropyBonus(), coefficient: 0.01 }])
 */
export function sumLosses(terms: readonly { loss: Loss; coefficient?: number }[]): Loss {
  if (terms.length === 1 && (terms[0].coefficient ?? 1) === 1) return terms[0].loss
  return {
    name: terms.map(({ loss }) => loss.name).join('+'),
    reads: Object.fromEntries(
      (['entropy', 'values', 'alternatives'] as const).map((field) => [
        field,
        terms.some(({ loss }) => loss.reads?.[field]),
      ]),
    ),
    evaluate: (tokens) => sumResults(terms, tokens),
  }
}

function sumResults(terms: readonly { loss: Loss; coefficient?: number }[], tokens: LossTokens): LossResult {
  const sum: LossResult = { value: 0, gradient: new Float64Array(tokens.logprobs.length), metrics: {} }
  for (const { loss, coefficient = 1 } of terms) {
    const result = loss.evaluate(tokens)
    sum.value += coefficient * result.value
    for (const key of ['gradient', 'entropyGradient', 'valueGradient', 'alternativesGradient'] as const) {
      const part = result[key]
      if (part) sum[key] = addScaled(sum[key] ?? new Float64Array(part.length), part, coefficient)
    }
    for (const [name, value] of Object.entries(result.metrics))
      sum.metrics[name in sum.metrics ? `${loss.name}.${name}` : name] = value
  }
  return sum
}

function addScaled(target: Float64Array, part: Float64Array, coefficient: number): Float64Array {
  for (let i = 0; i < target.length; i++) target[i] += coefficient * part[i]
  return target
}
