import { deflateRawSync } from 'node:zlib'
import { segmentedWords } from './units.js'

/** Code points of a reply that are searched for repetition: its end, where loops are. */
export const MOST_SEARCHED = 20_000
/** Of those, where words are told apart and the longest repeat is looked for: it takes longest. */
const MOST_COMPARED = 4000

/**
 * Share of n-grams that have been there before: 0 where all differ, near 1 for one said over and over. 0 of fewer than n units.
 *
 * @example repeatedNgrams(['a', 'b', 'a', 'b', 'a', 'b'], 2) // 0.6
 */
export function repeatedNgrams(units: readonly string[], n: number): number {
  const total = units.length - n + 1
  if (total < 1) return 0
  const seen = new Set<string>()
  for (let i = 0; i < total; i++) seen.add(units.slice(i, i + n).join('\u0000'))
  return 1 - seen.size / total
}

/**
 * How many times smaller a text becomes by deflate, in bytes that stand for its letters (one for each, two where it has more than
 * 256 different ones), so that scripts whose letters take two or three bytes of UTF-8 do not seem to repeat themselves. Prose
 * of a few hundred letters is below 2.5 (Whisper's mark of a loop, Radford et al. 2022, is 2.4); a loop is far above. 1 of an empty text.
 *
 * @example compressionRatio('la '.repeat(100)) // over 20
 */
export function compressionRatio(text: string): number {
  const characters = Array.from(text.slice(0, 4 * MOST_SEARCHED))
  if (characters.length === 0) return 1
  const codes = new Map<string, number>()
  const numbers = characters.map((character) => {
    let code = codes.get(character)
    if (code === undefined) codes.set(character, (code = codes.size))
    return code
  })
  const bytes = Buffer.from((codes.size <= 256 ? Uint8Array : Uint16Array).from(numbers).buffer)
  return bytes.length / deflateRawSync(bytes, { level: 9 }).length
}

/** A stretch at the end of a text that says one thing over and over. */
export interface Loop {
  /** Units of what is repeated; 0 where there is no loop. */
  period: number
  /** How often, the last time perhaps in part. */
  times: number
  /** Share of the text, in [0, 1]. */
  share: number
}

/**
 * The longest end of a sequence that repeats one thing three times or more, by the borders of the reversed sequence (the failure
 * function of Knuth, Morris and Pratt): linear time.
 *
 * @example endLoop([...'so it is it is it is ']) // { period: 6, times: 3, share: 18 / 21 }
 */
export function endLoop(units: readonly string[]): Loop {
  const reversed = [...units].reverse()
  const border = new Int32Array(reversed.length)
  let best: Loop = { period: 0, times: 1, share: 0 }
  for (let i = 1, k = 0; i < reversed.length; i++) {
    while (k > 0 && reversed[i] !== reversed[k]) k = border[k - 1]
    if (reversed[i] === reversed[k]) k++
    border[i] = k
    const period = i + 1 - k
    const times = (i + 1) / period
    if (times >= 3) best = { period, times, share: (i + 1) / units.length }
  }
  return best
}

/**
 * Length of the longest part that is there twice without overlapping itself, by a suffix automaton: [units].
 *
 * @example longestRepeat([...'abcXabcY']) // 3
 */
export function longestRepeat(units: readonly string[]): number {
  interface State {
    length: number
    link: number
    next: Map<string, number>
    first: number
    last: number
  }
  const states: State[] = [{ length: 0, link: -1, next: new Map(), first: -1, last: -1 }]
  let end = 0
  units.forEach((unit, i) => {
    const current = states.length
    states.push({ length: states[end].length + 1, link: 0, next: new Map(), first: i, last: i })
    let p = end
    for (; p >= 0 && !states[p].next.has(unit); p = states[p].link) states[p].next.set(unit, current)
    if (p >= 0) {
      const q = states[p].next.get(unit)!
      if (states[p].length + 1 === states[q].length) states[current].link = q
      else {
        const clone = states.length
        states.push({
          length: states[p].length + 1,
          link: states[q].link,
          next: new Map(states[q].next),
          first: states[q].first,
          last: -1,
        })
        for (; p >= 0 && states[p].next.get(unit) === q; p = states[p].link) states[p].next.set(unit, clone)
        states[q].link = states[current].link = clone
      }
    }
    end = current
  })
  let best = 0
  for (const state of states.toSorted((a, b) => b.length - a.length)) {
    if (state.link < 0) continue
    const parent = states[state.link]
    parent.last = Math.max(parent.last, state.last)
    best = Math.max(best, Math.min(state.length, state.last - state.first))
  }
  return best
}

/** What was found of repetition, each in [0, 1] but the ratio. */
export interface RepetitionReport {
  /** Share of repeated 4-grams of words in the last 4,000 letters. */
  ngrams: number
  /** Share of the text that a loop at its end takes. */
  loop: number
  /** Longest part that is there twice in the last 4,000 letters, as a share of half of them. */
  substring: number
  compression: number
}

/**
 * Everything there is to say of repetition in a reply, in any script. Of replies under 30 letters all is 0 (ratio 1): drills and
 * lists repeat themselves for good reasons.
 *
 * @example repetition('I see. '.repeat(50)).loop // 1
 */
export function repetition(text: string, language?: string): RepetitionReport {
  const characters = Array.from(text.slice(-2 * MOST_SEARCHED)).slice(-MOST_SEARCHED)
  if (characters.length < 30) return { ngrams: 0, loop: 0, substring: 0, compression: 1 }
  const end = characters.join('')
  const last = characters.slice(-MOST_COMPARED)
  return {
    ngrams: repeatedNgrams(segmentedWords(last.join('').toLowerCase(), language), 4),
    loop: endLoop(characters).share,
    substring: Math.min(1, longestRepeat(last) / Math.floor(last.length / 2)),
    compression: compressionRatio(end),
  }
}

/** Where each measure begins to cost, and where it costs all. */
export const repetitionBounds = {
  ngrams: [0.3, 0.8],
  loop: [0.2, 0.6],
  substring: [0.4, 0.9],
  compression: [4, 12],
} as const

/**
 * How bad the worst measure is, in [0, 1]: 0 for prose in any script, 1 for a loop.
 *
 * @example repetitionCost(repetition('I see. '.repeat(50))) // 1
 */
export function repetitionCost(found: RepetitionReport): number {
  const costs = Object.entries(repetitionBounds).map(([name, [free, limit]]) => {
    const value = found[name as keyof RepetitionReport]
    return Math.min(1, Math.max(0, (value - free) / (limit - free)))
  })
  return Math.max(...costs)
}
