/** Texts as a template written for Python may trim them, and the way back. */
export interface Shield {
  readonly texts: readonly string[]
  restore(text: string): string
}

// str.strip() takes these for white space, String.trim() does not; U+FEFF is the other way round.
const onlyPython = '\u0085\u001c\u001d\u001e\u001f'
const byteOrderMark = '\ufeff'
const either = new RegExp(`[${onlyPython}${byteOrderMark}]`)
// What both take for white space, and what neither does: stand-ins, as far as the texts do not use them.
const spaces = '\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
const noncharacters = Array.from({ length: 31 }, (_, i) => String.fromCharCode(0xfdd1 + i)).join('')

/**
 * Templates trim what messages say, in Python by Unicode's and four more characters, in JavaScript by others. Characters on
 * which the two differ are replaced by ones on which they agree, and brought back after rendering.
 */
export function shieldSpaces(texts: readonly string[]): Shield {
  if (!texts.some((text) => either.test(text))) return { texts, restore: (text) => text }
  const all = texts.join('')
  const unused = (candidates: string, count: number): string[] =>
    Array.from(candidates)
      .filter((character) => !all.includes(character))
      .slice(0, count)
  const originals = [...onlyPython, byteOrderMark]
  const standIns = [...unused(spaces, onlyPython.length), ...unused(noncharacters, 1)]
  // Texts that use nearly every space there is are left as they are.
  if (standIns.length < originals.length) return { texts, restore: (text) => text }
  const forth = new Map(originals.map((original, i) => [original, standIns[i]]))
  const back = new Map(standIns.map((standIn, i) => [standIn, originals[i]]))
  const swap = (text: string, by: ReadonlyMap<string, string>): string =>
    Array.from(text, (character) => by.get(character) ?? character).join('')
  return { texts: texts.map((text) => swap(text, forth)), restore: (text) => swap(text, back) }
}
