// What Python's str.split() and str.strip() take for white space. JavaScript's \s has U+FEFF besides, and lacks
// U+001C..1F and U+0085. Scores are to equal sacreBLEU's on any text.
const characters = '\\t-\\r\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const runs = new RegExp(`[${characters}]+`, 'u')
const atEnd = new RegExp(`[${characters}]+$`, 'u')

/** The words of a text, split at white space as Python does. */
export function splitSpace(text: string): string[] {
  return text.split(runs).filter((word) => word !== '')
}

/** A text without white space at its end. */
export function stripEnd(text: string): string {
  return text.replace(atEnd, '')
}
