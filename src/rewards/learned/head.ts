import { z } from 'zod'
import { MyriadError, type Random } from '../../core/index.js'

const width = z.int().positive().max(65_536)

/** What stands between features and scores. */
export const headSpecSchema = z.discriminatedUnion('kind', [
  /** W x + b */
  z.strictObject({ kind: z.literal('linear') }),
  /** W tanh(V x + c) + b */
  z.strictObject({ kind: z.literal('mlp'), hidden: width }),
  /**
   * sum_k p_k e_k(x), p = softmax(G x + g): experts e_k that a router chooses among, each linear or, with `hidden`, an mlp. With
   * `top` only so many of the most probable count, their probabilities divided by their sum. After DMoERM, arXiv 2403.01197, whose
   * router is taught the category of a prompt (see `routeLoss`).
   */
  z.strictObject({
    kind: z.literal('experts'),
    experts: z.int().min(2).max(256),
    top: z.int().positive().optional(),
    hidden: width.optional(),
  }),
])

export type HeadSpec = z.output<typeof headSpecSchema>

/** A head: what it is and its weights, by name. */
export interface Head {
  spec: HeadSpec
  inputs: number
  outputs: number
  weights: Readonly<Record<string, Float32Array>>
}

/** Name and shape of every weight of a head. */
export function headShapes(spec: HeadSpec, inputs: number, outputs: number): Record<string, number[]> {
  switch (spec.kind) {
    case 'linear':
      return { weight: [outputs, inputs], bias: [outputs] }
    case 'mlp':
      return {
        'inner.weight': [spec.hidden, inputs],
        'inner.bias': [spec.hidden],
        weight: [outputs, spec.hidden],
        bias: [outputs],
      }
    case 'experts': {
      const expert = Object.entries(headShapes(expertSpec(spec), inputs, outputs))
      const all = Array.from({ length: spec.experts }, (_, k) =>
        expert.map(([name, shape]) => [`expert.${k}.${name}`, shape] as const),
      )
      return {
        'router.weight': [spec.experts, inputs],
        'router.bias': [spec.experts],
        ...Object.fromEntries(all.flat()),
      }
    }
  }
}

function expertSpec(spec: Extract<HeadSpec, { kind: 'experts' }>): HeadSpec {
  return spec.hidden === undefined ? { kind: 'linear' } : { kind: 'mlp', hidden: spec.hidden }
}

/** A fresh head: matrices normal with deviation 1 / sqrt(inputs) (a linear one 0), biases 0. */
export function createHead(spec: HeadSpec, inputs: number, outputs: number, random: Random): Head {
  if (spec.kind === 'experts' && (spec.top ?? 1) > spec.experts)
    throw new MyriadError('usage', `head: "top" ${spec.top} of ${spec.experts} experts`)
  const weights = Object.entries(headShapes(spec, inputs, outputs)).map(([name, shape]) => {
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1))
    // Experts that begin alike would stay alike.
    if (shape.length === 2 && spec.kind !== 'linear')
      for (let i = 0; i < data.length; i++) data[i] = random.normal() / Math.sqrt(shape[1])
    return [name, data] as const
  })
  return { spec, inputs, outputs, weights: Object.fromEntries(weights) }
}

export interface HeadPass {
  /** [items * outputs] */
  scores: Float64Array
  /** Probabilities of the experts before any is left out, where there are experts: [items * experts]. */
  routes?: Float64Array
  /**
   * Derivatives by every weight, from those by every score [items * outputs] and, with experts, by every logit of the router
   * (beside what comes through the scores) [items * experts].
   */
  back(scores: Float64Array, routes?: Float64Array): Record<string, Float64Array>
}

/**
 * Scores of many items, in double precision.
 *
 * @param features [items * inputs]
 */
export function applyHead(head: Head, features: Float32Array | Float64Array): HeadPass {
  const { spec, inputs, outputs, weights } = head
  // Of one kind: loops over two kinds of array take twice as long.
  const x = features instanceof Float64Array ? features : new Float64Array(features)
  if (x.length % inputs !== 0) throw new MyriadError('shape', `head: ${x.length} features are no rows of ${inputs}`)
  switch (spec.kind) {
    case 'linear': {
      const scores = dense(x, weights.weight, weights.bias)
      return { scores, back: (slopes) => denseGradient(x, slopes, inputs, outputs) }
    }
    case 'mlp': {
      const inner = dense(x, weights['inner.weight'], weights['inner.bias']).map(Math.tanh)
      const scores = dense(inner, weights.weight, weights.bias)
      return {
        scores,
        back(slopes) {
          const outer = denseGradient(inner, slopes, spec.hidden, outputs)
          const flowed = new Float64Array(inner.length)
          for (let i = 0; i < slopes.length / outputs; i++)
            for (let j = 0; j < spec.hidden; j++) {
              let sum = 0
              for (let o = 0; o < outputs; o++) sum += slopes[i * outputs + o] * weights.weight[o * spec.hidden + j]
              flowed[i * spec.hidden + j] = sum * (1 - inner[i * spec.hidden + j] ** 2)
            }
          const within = denseGradient(x, flowed, inputs, spec.hidden)
          return { 'inner.weight': within.weight, 'inner.bias': within.bias, ...outer }
        },
      }
    }
    case 'experts':
      return applyExperts(head, spec, x)
  }
}

function applyExperts(head: Head, spec: Extract<HeadSpec, { kind: 'experts' }>, x: Float64Array): HeadPass {
  const { inputs, outputs, weights } = head
  const { experts, top = experts } = spec
  const items = x.length / inputs
  const routes = softmaxRows(dense(x, weights['router.weight'], weights['router.bias']), experts)
  const chosen = top < experts ? keepLargest(routes, experts, top) : routes
  const passes = Array.from({ length: experts }, (_, k) => {
    const own = Object.keys(headShapes(expertSpec(spec), inputs, outputs)).map(
      (name) => [name, weights[`expert.${k}.${name}`]] as const,
    )
    return applyHead({ spec: expertSpec(spec), inputs, outputs, weights: Object.fromEntries(own) }, x)
  })
  const scores = new Float64Array(items * outputs)
  passes.forEach((pass, k) => {
    for (let at = 0; at < scores.length; at++)
      scores[at] += chosen[Math.floor(at / outputs) * experts + k] * pass.scores[at]
  })
  return {
    scores,
    routes,
    back(slopes, routeSlopes) {
      const gradients: Record<string, Float64Array> = {}
      const logits = routeSlopes ? routeSlopes.slice() : new Float64Array(items * experts)
      for (let i = 0; i < items; i++) {
        // d score / d logit_k = p_k (e_k - score), over those that count.
        for (let k = 0; k < experts; k++)
          for (let o = 0; o < outputs; o++) {
            const at = i * outputs + o
            logits[i * experts + k] += chosen[i * experts + k] * slopes[at] * (passes[k].scores[at] - scores[at])
          }
      }
      const router = denseGradient(x, logits, inputs, experts)
      gradients['router.weight'] = router.weight
      gradients['router.bias'] = router.bias
      passes.forEach((pass, k) => {
        const own = slopes.map((slope, at) => slope * chosen[Math.floor(at / outputs) * experts + k])
        for (const [name, gradient] of Object.entries(pass.back(own))) gradients[`expert.${k}.${name}`] = gradient
      })
      return gradients
    },
  }
}

/**
 * Cross-entropy of the router against the expert that each item belongs to: DMoERM's outer layer, where an expert is a category
 * of prompts. A mean over the items that have one.
 *
 * @param routes [items * experts]
 * @param categories of each item, from 0; NaN for none
 * @returns its value, and its derivative by every logit of the router [items * experts]
 */
export function routeLoss(
  routes: Float64Array,
  experts: number,
  categories: readonly number[],
): { value: number; slopes: Float64Array } {
  const slopes = new Float64Array(routes.length)
  const labelled = categories.filter((category) => !Number.isNaN(category)).length
  let value = 0
  categories.forEach((category, i) => {
    if (Number.isNaN(category)) return
    if (!(Number.isInteger(category) && category >= 0 && category < experts))
      throw new MyriadError('usage', `router: category ${category} of ${experts} experts`)
    value -= Math.log(Math.max(routes[i * experts + category], Number.MIN_VALUE)) / labelled
    for (let k = 0; k < experts; k++)
      slopes[i * experts + k] = (routes[i * experts + k] - Number(k === category)) / labelled
  })
  return { value, slopes }
}

/** x [items * inputs], weight [outputs * inputs], bias [outputs] to [items * outputs]. */
function dense(x: Float64Array, weight: Float32Array, bias: Float32Array): Float64Array {
  const outputs = bias.length
  const inputs = weight.length / outputs
  const items = x.length / inputs
  const y = new Float64Array(items * outputs)
  const whole = inputs - (inputs % 4)
  for (let i = 0; i < items; i++)
    for (let o = 0; o < outputs; o++) {
      const [row, column] = [i * inputs, o * inputs]
      // Four sums, as each addition waits for the one before it.
      let [a, b, c, d] = [bias[o], 0, 0, 0]
      for (let j = 0; j < whole; j += 4) {
        a += x[row + j] * weight[column + j]
        b += x[row + j + 1] * weight[column + j + 1]
        c += x[row + j + 2] * weight[column + j + 2]
        d += x[row + j + 3] * weight[column + j + 3]
      }
      for (let j = whole; j < inputs; j++) a += x[row + j] * weight[column + j]
      y[i * outputs + o] = a + b + (c + d)
    }
  return y
}

function denseGradient(
  x: Float64Array,
  slopes: Float64Array,
  inputs: number,
  outputs: number,
): { weight: Float64Array; bias: Float64Array } {
  const weight = new Float64Array(outputs * inputs)
  const bias = new Float64Array(outputs)
  const items = slopes.length / outputs
  for (let o = 0; o < outputs; o++)
    for (let i = 0; i < items; i++) {
      const slope = slopes[i * outputs + o]
      if (slope === 0) continue
      bias[o] += slope
      const [row, column] = [i * inputs, o * inputs]
      for (let j = 0; j < inputs; j++) weight[column + j] += slope * x[row + j]
    }
  return { weight, bias }
}

function softmaxRows(logits: Float64Array, width: number): Float64Array {
  const result = new Float64Array(logits.length)
  for (let start = 0; start < logits.length; start += width) {
    const row = logits.subarray(start, start + width)
    const largest = row.reduce((a, b) => Math.max(a, b), -Infinity)
    const total = row.reduce((sum, value) => sum + Math.exp(value - largest), 0)
    for (let k = 0; k < width; k++) result[start + k] = Math.exp(row[k] - largest) / total
  }
  return result
}

function keepLargest(routes: Float64Array, experts: number, top: number): Float64Array {
  const result = new Float64Array(routes.length)
  for (let start = 0; start < routes.length; start += experts) {
    const order = Array.from({ length: experts }, (_, k) => start + k).sort((a, b) => routes[b] - routes[a] || a - b)
    const kept = order.slice(0, top)
    const total = kept.reduce((sum, at) => sum + routes[at], 0)
    for (const at of kept) result[at] = routes[at] / total
  }
  return result
}
