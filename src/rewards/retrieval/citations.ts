import { toAsciiDigits } from '../../text/index.js'
import { containsEvidence } from './evidence.js'

const MOST_READ = 50_000
const brackets = /[[［【〔]\s*([^[\]［］【】〔〕\n]{1,200})\s*[\]］】〕]/gu

/**
 * Ids that a text cites in brackets, in order, with repetitions: [1], [a, b], 【२】. What is no id of a document (a word, a date) is a
 * citation too when `known` is not given; with it, only ids that look alike (digits where all known ones are digits) count as ids that are made up.
 *
 * @example citationsIn('It rained [1, 2] and 【३】.') // ['1', '2', '3']
 */
export function citationsIn(text: string, known?: readonly string[]): string[] {
  const numeric = known?.every((id) => /^\d+$/u.test(id)) ?? false
  return [...text.slice(0, MOST_READ).matchAll(brackets)].flatMap(([, inner]) =>
    idsOf(inner).filter((id) => known === undefined || known.includes(id) || (numeric ? /^\d{1,6}$/u.test(id) : true)),
  )
}

function idsOf(inner: string): string[] {
  return toAsciiDigits(inner.normalize('NFKC'))
    .split(/[,;،、；，]/u)
    .map((id) => id.trim())
    .filter((id) => id !== '')
}

/**
 * How well the ids a text cites agree with those that support it: precision, recall and their harmonic mean. An id that no
 * document has is wrong like any other that is not in `gold`. All 0 where nothing is cited.
 *
 * @example citationScores(['1', '9'], ['1', '2']) // { precision: 0.5, recall: 0.5, f1: 0.5 }
 */
export function citationScores(
  cited: readonly string[],
  gold: readonly string[],
): { precision: number; recall: number; f1: number } {
  const given = new Set(cited)
  const right = gold.filter((id) => given.has(id)).length
  const precision = given.size === 0 ? 0 : right / given.size
  const recall = gold.length === 0 ? 0 : right / new Set(gold).size
  return { precision, recall, f1: precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall) }
}

/** A quotation and the documents it is said to be from. */
export interface Quotation {
  text: string
  ids: string[]
}

const quoted =
  /(?:"([^"\n]{1,500})"|“([^”\n]{1,500})”|„([^“”\n]{1,500})[“”]|«([^»\n]{1,500})»|「([^」\n]{1,500})」|『([^』\n]{1,500})』)[\s.,。、،]{0,3}[[［【〔]\s*([^[\]［］【】〔〕\n]{1,200})\s*[\]］】〕]/gu

/**
 * Quotations that a citation follows.
 *
 * @example quotationsIn('He said «hola» [2].') // [{ text: 'hola', ids: ['2'] }]
 */
export function quotationsIn(text: string): Quotation[] {
  return [...text.slice(0, MOST_READ).matchAll(quoted)].map((match) => ({
    text: match.slice(1, 7).find((inner) => inner !== undefined)!,
    ids: idsOf(match[7]),
  }))
}

/**
 * Share of quotations that stand in a document they cite; null of none.
 *
 * @param documents texts by id
 */
export function quotationAccuracy(
  quotations: readonly Quotation[],
  documents: Readonly<Record<string, string>>,
): number | null {
  if (quotations.length === 0) return null
  const right = quotations.filter(({ text, ids }) =>
    ids.some((id) => Object.hasOwn(documents, id) && containsEvidence(documents[id], text)),
  )
  return right.length / quotations.length
}
