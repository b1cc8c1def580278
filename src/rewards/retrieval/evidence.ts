import { normalizeText, toAsciiDigits } from '../../text/index.js'

const MOST_READ = 200_000

// Scripts that put no space between words, and Hangul, whose particles follow without one.
const continuous =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u
const partOfWord = /[\p{L}\p{M}\p{N}]/u

/**
 * A text as evidence is looked for in it: compatibility forms, one case, ASCII digits, punctuation as space.
 *
 * @example normalizeEvidence('The “Nile”, ６,650 km!') // 'the nile 6 650 km'
 */
export function normalizeEvidence(text: string): string {
  return toAsciiDigits(normalizeText(text.slice(0, MOST_READ).normalize('NFKC'), { foldCase: true }))
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()
}

/**
 * Does a text hold a piece of evidence, punctuation, case and form of digits aside? Words must be whole in scripts that put spaces
 * between them. Evidence without a letter or digit is nowhere.
 *
 * @example containsEvidence('It is 42.', '4') // false
 */
export function containsEvidence(text: string, evidence: string): boolean {
  return holds(normalizeEvidence(text), normalizeEvidence(evidence))
}

function holds(text: string, evidence: string): boolean {
  if (evidence === '') return false
  const [first, last] = [String.fromCodePoint(evidence.codePointAt(0)!), Array.from(evidence.slice(-2)).at(-1)!]
  for (let at = text.indexOf(evidence); at >= 0; at = text.indexOf(evidence, at + 1)) {
    const before = Array.from(text.slice(Math.max(0, at - 2), at)).at(-1)
    const end = at + evidence.length
    const after = Array.from(text.slice(end, end + 2)).at(0)
    if (!joined(before, first) && !joined(last, after)) return true
  }
  return false
}

/** Are two neighbours parts of one word? */
function joined(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || !partOfWord.test(a) || !partOfWord.test(b)) return false
  return !continuous.test(a) && !continuous.test(b)
}

/**
 * Share of pieces of evidence that a text holds; 0 of none. A piece may be a list of wordings, any of which counts.
 *
 * @example evidenceCoverage('The Nile is 6,650 km long.', ['6650 km', ['the Nile', 'النيل']]) // 0.5: '6 650' is not '6650'
 */
export function evidenceCoverage(text: string, evidence: readonly (string | readonly string[])[]): number {
  if (evidence.length === 0) return 0
  const normal = normalizeEvidence(text)
  const found = evidence.filter((piece) =>
    (typeof piece === 'string' ? [piece] : piece).some((wording) => holds(normal, normalizeEvidence(wording))),
  )
  return found.length / evidence.length
}
