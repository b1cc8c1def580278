/** Replies longer than this many UTF-16 units are cut before they are looked at: no answer is that long. */
const longestReply = 2000

/**
 * An answer as it is compared: NFC, lower case, inner spaces single, no surrounding spaces, no trailing punctuation.
 *
 * @example normalizeAnswer('  ÁFRICA. ') // 'áfrica'
 */
export function normalizeAnswer(text: string): string {
  return text
    .slice(0, longestReply)
    .normalize('NFC')
    .toLowerCase()
    .replace(/[\s\u200e\u200f]+/gu, ' ')
    .trim()
    .replace(/[\s\p{P}]+$/u, '')
}

/** Do two answers say the same after `normalizeAnswer`? */
export function sameAnswer(a: string, b: string): boolean {
  return normalizeAnswer(a) === normalizeAnswer(b)
}

/** The items of a reply, separated by spaces. */
export function itemsOf(reply: string): string[] {
  const text = normalizeAnswer(reply)
  return text === '' ? [] : text.split(' ')
}

/**
 * Share of places that hold the right item, in [0, 1]; a reply too long or too short loses the places that do not fit.
 *
 * @example shareInPlace(['a', 'c', 'b'], ['a', 'b', 'c']) // 1/3
 */
export function shareInPlace(items: readonly string[], right: readonly string[]): number {
  const hits = right.filter((item, place) => items[place] === item).length
  return hits / Math.max(items.length, right.length, 1)
}
