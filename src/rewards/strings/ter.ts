import { splitSpace } from './python-space.js'

/** How words are found, as the options of sacreBLEU and Tercom; all false unless given. */
export interface TerOptions {
  /** Punctuation apart, entities and line breaks undone. */
  normalized?: boolean
  /** Punctuation away. */
  noPunctuation?: boolean
  /** With either of the two: ideographs apart, and Asian punctuation treated alike. */
  asianSupport?: boolean
  caseSensitive?: boolean
}

/**
 * Translation edit rate: fewest insertions, deletions, substitutions and shifts of runs of words, over the mean length of the
 * references. Lower is better; may be above 1. Shifts are sought greedily with Tercom's limits. Equal to sacreBLEU's
 * `sentence_score` divided by 100.
 *
 * Snover et al. 2006, "A study of translation edit rate with targeted human annotation".
 *
 * @example sentenceTer('b c a', ['a b c']) // 1 / 3: one shift
 */
export function sentenceTer(hypothesis: string, references: readonly string[], options: TerOptions = {}): number {
  return rateOf(...editsOf(hypothesis, references, options))
}

/**
 * Edits of all segments over lengths of all references.
 *
 * @throws RangeError when the lists differ in length or a segment has no reference
 */
export function corpusTer(
  hypotheses: readonly string[],
  references: readonly (readonly string[])[],
  options: TerOptions = {},
): number {
  if (hypotheses.length !== references.length)
    throw new RangeError(`corpusTer: ${hypotheses.length} hypotheses, but references of ${references.length}`)
  let [edits, length] = [0, 0]
  hypotheses.forEach((hypothesis, i) => {
    const segment = editsOf(hypothesis, references[i], options)
    edits += segment[0]
    length += segment[1]
  })
  return rateOf(edits, length)
}

function rateOf(edits: number, length: number): number {
  if (length > 0) return edits / length
  return edits > 0 ? 1 : 0
}

function editsOf(
  hypothesis: string,
  references: readonly string[],
  options: TerOptions,
): [edits: number, length: number] {
  if (references.length === 0) throw new RangeError('TER: no reference was given')
  const ids = new Map<string, number>()
  const idsOf = (text: string): Int32Array =>
    Int32Array.from(terWords(text, options), (word) => {
      let id = ids.get(word)
      if (id === undefined) ids.set(word, (id = ids.size))
      return id
    })
  const given = idsOf(hypothesis)
  let [fewest, length] = [Infinity, 0]
  for (const reference of references) {
    const wanted = idsOf(reference)
    length += wanted.length
    fewest = Math.min(fewest, new ShiftSearch(given, wanted).edits())
  }
  return [fewest, length / references.length]
}

/** The words that TER compares. */
function terWords(text: string, options: TerOptions): string[] {
  let plain = options.caseSensitive ? text : text.toLowerCase()
  if (options.normalized) {
    plain = plain.replace(/\n-/g, '').replaceAll('\n', ' ')
    for (const [entity, character] of entities) plain = plain.replaceAll(entity, character)
    plain = ` ${plain} `
      .replace(/[{-~[-` -&(-+:-@/]/g, ' $& ')
      .replace(/'s /g, " 's ")
      .replace(/'s$/g, " 's")
      .replace(/([^0-9])([.,])/gu, '$1 $2 ')
      .replace(/([.,])([^0-9])/gu, ' $1 $2')
      .replace(/([0-9])(-)/g, '$1 $2 ')
    if (options.asianSupport) plain = plain.replace(ideographs, ' $& ').replace(enclosed, ' $& ')
    if (options.asianSupport) plain = plain.replace(asianPunctuation, ' $& ')
  }
  if (options.noPunctuation) {
    plain = plain.replace(/[.,?:;!"()]/g, '')
    if (options.asianSupport) plain = plain.replace(asianPunctuation, '')
  }
  return splitSpace(plain)
}

const entities = [
  ['&quot;', '"'],
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
]
const ideographs = /[\u4e00-\u9fff\u3400-\u4dbf\u31c0-\u31ef\u2e80-\u2eff\u3300-\u33ff\uf900-\ufaff\ufe30-\ufe4f]/g
// sacreBLEU means U+3200..32FF and writes 3F22, which takes in two rows of ideographs more. Scores are to be equal.
const enclosed = /[\u3200-\u3f22]/g
const asianPunctuation =
  /[\u3001\u3002\u3008-\u3011\u3014-\u301f\uff61-\uff65\u30fb\uff0e\uff0c\uff1f\uff1a\uff1b\uff01\uff02\uff08\uff09]/g

const MOST_SHIFTED_WORDS = 10
const FARTHEST_SHIFT = 50
const BEAM = 25
const MOST_CANDIDATES = 1000

const [NONE, MATCH, REPLACE, ONLY_GIVEN, ONLY_WANTED] = [0, 1, 2, 3, 4]
const FAR = 1 << 28

/** The greedy search for shifts: each time the one that lowers the edit distance most. */
class ShiftSearch {
  readonly #wanted: Int32Array
  readonly #width: number
  readonly #height: number
  /** The words as they are now, with the table of distances that belongs to them. */
  #given: Int32Array
  readonly #costs: Int32Array
  readonly #steps: Uint8Array
  /** Room for the table of a candidate. */
  readonly #trialCosts: Int32Array
  readonly #trialSteps: Uint8Array
  readonly #ratio: number
  readonly #beam: number
  #candidates = 0

  constructor(given: Int32Array, wanted: Int32Array) {
    this.#given = given
    this.#wanted = wanted
    this.#width = wanted.length + 1
    this.#height = given.length + 1
    const size = this.#width * this.#height
    this.#costs = new Int32Array(size)
    this.#steps = new Uint8Array(size)
    this.#trialCosts = new Int32Array(size)
    this.#trialSteps = new Uint8Array(size)
    this.#ratio = given.length > 0 ? wanted.length / given.length : 1
    this.#beam = BEAM < this.#ratio / 2 ? Math.ceil(this.#ratio / 2 + BEAM) : BEAM
  }

  edits(): number {
    if (this.#wanted.length === 0) return this.#given.length
    const [costs, steps] = [this.#costs, this.#steps]
    for (let j = 0; j < this.#width; j++) {
      costs[j] = this.#trialCosts[j] = j
      steps[j] = this.#trialSteps[j] = ONLY_WANTED
    }
    this.#fill(this.#given, 1, costs, steps)
    let shifts = 0
    for (;;) {
      const best = this.#bestShift()
      if (this.#candidates >= MOST_CANDIDATES || best === null || best.gain <= 0) break
      shifts++
      this.#given = best.words
      this.#fill(this.#given, 1, costs, steps)
    }
    return shifts + costs[costs.length - 1]
  }

  /** Rows of the table from `first` on, near its diagonal only. Earlier steps win where costs are equal. */
  #fill(words: Int32Array, first: number, costs: Int32Array, steps: Uint8Array): void {
    const width = this.#width
    const last = words.length
    for (let i = first; i <= last; i++) {
      const row = i * width
      costs.fill(FAR, row, row + width)
      steps.fill(NONE, row, row + width)
      const diagonal = Math.floor(i * this.#ratio)
      const from = Math.max(0, diagonal - this.#beam)
      const to = i === last ? width : Math.min(width, diagonal + this.#beam)
      for (let j = from; j < to; j++) {
        const at = row + j
        if (j === 0) {
          costs[at] = costs[at - width] + 1
          steps[at] = ONLY_GIVEN
          continue
        }
        const same = words[i - 1] === this.#wanted[j - 1]
        let best = costs[at - width - 1] + (same ? 0 : 1)
        let step = same ? MATCH : REPLACE
        if (costs[at - width] + 1 < best) {
          best = costs[at - width] + 1
          step = ONLY_GIVEN
        }
        if (costs[at - 1] + 1 < best) {
          best = costs[at - 1] + 1
          step = ONLY_WANTED
        }
        if (best < FAR) {
          costs[at] = best
          steps[at] = step
        }
      }
    }
  }

  #bestShift(): { gain: number; words: Int32Array } | null {
    const [given, wanted] = [this.#given, this.#wanted]
    const before = this.#costs[this.#costs.length - 1]
    const { partner, wrongGiven, wrongWanted } = this.#alignment()
    let best: { gain: number; length: number; start: number; target: number; words: Int32Array } | null = null
    for (const { start, at, length } of this.#equalRuns()) {
      if (!anyIn(wrongGiven, start, length) || !anyIn(wrongWanted, at, length)) continue
      if (partner[at] >= start && partner[at] < start + length) continue
      let tried = -1
      for (let offset = -1; offset < length; offset++) {
        const place = at + offset
        if (place >= wanted.length) break
        const target = place < 0 ? 0 : partner[place] + 1
        if (target === tried) continue
        tried = target
        const words = moved(given, start, length, target)
        const gain = before - this.#distance(words, Math.min(start, target))
        this.#candidates++
        const better =
          best === null ||
          gain > best.gain ||
          (gain === best.gain &&
            (length > best.length ||
              (length === best.length && (start < best.start || (start === best.start && target < best.target)))))
        if (better) best = { gain, length, start, target, words }
      }
      if (this.#candidates >= MOST_CANDIDATES) break
    }
    return best
  }

  /** Of words that begin as the present ones do, up to `same`. */
  #distance(words: Int32Array, same: number): number {
    const kept = (same + 1) * this.#width
    this.#trialCosts.set(this.#costs.subarray(0, kept))
    // The last row is filled wider than others: it is never a row to begin from.
    this.#fill(words, Math.min(same + 1, words.length), this.#trialCosts, this.#trialSteps)
    return this.#trialCosts[this.#trialCosts.length - 1]
  }

  /** Runs of words that stand in both, by their beginnings: all lengths of each. */
  *#equalRuns(): Generator<{ start: number; at: number; length: number }> {
    const [given, wanted] = [this.#given, this.#wanted]
    for (let start = 0; start < given.length; start++)
      for (let at = 0; at < wanted.length; at++) {
        if (Math.abs(at - start) > FARTHEST_SHIFT) continue
        const most = Math.min(MOST_SHIFTED_WORDS, given.length - start, wanted.length - at)
        for (let length = 1; length <= most && given[start + length - 1] === wanted[at + length - 1]; length++)
          yield { start, at, length }
      }
  }

  /** For each wanted word the last given one that is at or before it; and which words of either are edited. */
  #alignment(): { partner: Int32Array; wrongGiven: Uint8Array; wrongWanted: Uint8Array } {
    const partner = new Int32Array(this.#wanted.length)
    const wrongGiven = new Uint8Array(this.#given.length)
    const wrongWanted = new Uint8Array(this.#wanted.length)
    let [i, j] = [this.#given.length, this.#wanted.length]
    while (i > 0 || j > 0) {
      const step = this.#steps[i * this.#width + j]
      if (step === ONLY_GIVEN) wrongGiven[--i] = 1
      else if (step === ONLY_WANTED) {
        wrongWanted[--j] = 1
        partner[j] = i - 1
      } else {
        i--
        j--
        partner[j] = i
        if (step === REPLACE) wrongGiven[i] = wrongWanted[j] = 1
      }
    }
    return { partner, wrongGiven, wrongWanted }
  }
}

function anyIn(flags: Uint8Array, start: number, length: number): boolean {
  return flags.subarray(start, start + length).includes(1)
}

/** The words with a run moved so that it stands before what was at `target`; a target within the run moves it past as many. */
function moved(words: Int32Array, start: number, length: number, target: number): Int32Array {
  const run = words.subarray(start, start + length)
  const rest = [...words.subarray(0, start), ...words.subarray(start + length)]
  const place = target < start ? target : target > start + length ? target - length : target
  return Int32Array.from([...rest.slice(0, place), ...run, ...rest.slice(place)])
}
