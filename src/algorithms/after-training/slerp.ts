import { z } from 'zod'
import { interpolate, type Weights } from '../../models/index.js'
import { objective } from '../objective.js'

/**
 * Along the arc between two models, tensor by tensor. With c the cosine of the flattened tensors and omega = arccos c:
 *
 *     sin((1 - t) omega) / sin(omega) a + sin(t omega) / sin(omega) b
 *
 * Straight where |c| > 0.9995 or one of them is 0. At t = 0 and 1 it is a and b exactly.
 *
 * Source: Shoemake 1985; as in mergekit.
 *
 * @throws MyriadError 'usage' on models that do not fit or a t that is not finite
 * @example const between = slerp(first.weights, second.weights, 0.5)
 */
export function slerp(a: Weights, b: Weights, t: number): Weights {
  const straight = interpolate(a, b, t)
  return Object.fromEntries(
    Object.entries(a).map(([name, from]) => {
      const to = b[name]
      const [length, otherLength] = [Math.hypot(...norms(from)), Math.hypot(...norms(to))]
      let dot = 0
      for (let i = 0; i < from.length; i++) dot += (from[i] / length) * (to[i] / otherLength)
      if (!(length > 1e-8 && otherLength > 1e-8) || Math.abs(dot) > 0.9995) return [name, straight[name]]
      const omega = Math.acos(dot)
      const [first, second] = [Math.sin((1 - t) * omega) / Math.sin(omega), Math.sin(t * omega) / Math.sin(omega)]
      return [name, from.map((value, i) => first * value + second * to[i])]
    }),
  )
}

/** Norms of slices, whose norm is the whole's: few enough to be arguments. */
function norms(values: Float32Array): number[] {
  const result: number[] = []
  for (let start = 0; start < values.length; start += 4096)
    result.push(Math.hypot(...values.subarray(start, start + 4096)))
  return result
}

export const sphericalInterpolation = objective({
  kind: 'function',
  name: 'slerp',
  family: 'after-training',
  summary: 'A model between two along an arc, which keeps the size of weights where a straight line would shrink them.',
  formula: 'sin((1-t) w)/sin(w) a + sin(t w)/sin(w) b, w = arccos(cos(a, b)), by tensor; straight where |cos| > 0.9995',
  reference: 'Shoemake 1985; mergekit',
  standing: 'source',
  use: 'Two models that lie far apart. Near ones interpolate straight.',
  rows: [],
  options: z.strictObject({ t: z.number().default(0.5) }),
  make:
    ({ t }) =>
    (a: Weights, b: Weights): Weights =>
      slerp(a, b, t),
})
