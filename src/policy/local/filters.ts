import type { Random } from '../../core/index.js'

/** Which tokens may be drawn, beside the distribution itself. */
export interface SamplingFilters {
  temperature: number
  topK?: number
  topP?: number
  minP?: number
  allowedTokens?: readonly number[]
}

/** True when a request needs more than a plain draw, which the graph itself makes. */
export function hasFilters(filters: Omit<SamplingFilters, 'temperature'>): boolean {
  return (
    filters.topK !== undefined ||
    filters.topP !== undefined ||
    filters.minP !== undefined ||
    filters.allowedTokens !== undefined
  )
}

/**
 * Draws one token from a row of logits: temperature, then allowed tokens, top-k, top-p (Holtzman et al. 2020: the smallest
 * set of most likely tokens whose mass reaches p), min-p (Nguyen et al. 2024: at least p times the largest probability).
 *
 * @param logits [vocabulary]
 * @returns the token and its logprob under the temperature-scaled distribution before any filter (temperature 1 when greedy)
 */
export function drawToken(
  logits: Float32Array,
  filters: SamplingFilters,
  random: Random,
): { token: number; logprob: number } {
  const greedy = filters.temperature === 0
  const scale = greedy ? 1 : 1 / filters.temperature
  let largest = -Infinity
  for (const value of logits) if (value > largest) largest = value
  let total = 0
  const mass = new Float64Array(logits.length)
  for (let i = 0; i < logits.length; i++) total += mass[i] = Math.exp((logits[i] - largest) * scale)
  const logprobOf = (token: number): number => (logits[token] - largest) * scale - Math.log(total)

  let candidates = filters.allowedTokens
    ? filters.allowedTokens.filter((token) => token >= 0 && token < logits.length)
    : Array.from(logits.keys())
  candidates = [...candidates].sort((a, b) => logits[b] - logits[a] || a - b)
  if (greedy) return { token: candidates[0], logprob: logprobOf(candidates[0]) }
  if (filters.topK !== undefined) candidates = candidates.slice(0, Math.max(1, filters.topK))
  if (filters.minP !== undefined) {
    const floor = mass[candidates[0]] * filters.minP
    candidates = candidates.filter((token) => mass[token] >= floor)
  }
  let kept = candidates.reduce((sum, token) => sum + mass[token], 0)
  if (filters.topP !== undefined) {
    const enough = kept * filters.topP
    let sum = 0
    let count = 0
    while (count < candidates.length && sum < enough) sum += mass[candidates[count++]]
    candidates = candidates.slice(0, Math.max(1, count))
    kept = candidates.reduce((partial, token) => partial + mass[token], 0)
  }
  const point = random.uniform() * kept
  let sum = 0
  for (const token of candidates) {
    sum += mass[token]
    if (point <= sum && mass[token] > 0) return { token, logprob: logprobOf(token) }
  }
  return { token: candidates[0], logprob: logprobOf(candidates[0]) }
}
