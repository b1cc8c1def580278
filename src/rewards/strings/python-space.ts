// White space is what Python's str.split() and str.strip() take for it. JavaScript's \s has U+FEFF besides, and lacks
// U+001C..1F and U+0085. Scores are to equal sacreBLEU's on any text.
/** The words of a text, split at white space as Python does. */
export function splitSpace(text: string): string[] {
  const words: string[] = []
  let start = -1
  for (let i = 0; i < text.length; i++) {
    if (isSpace(text.charCodeAt(i))) {
      if (start >= 0) words.push(text.slice(start, i))
      start = -1
    } else if (start < 0) start = i
  }
  if (start >= 0) words.push(text.slice(start))
  return words
}

/** A text without white space at its end. */
export function stripEnd(text: string): string {
  let end = text.length
  while (end > 0 && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(0, end)
}

/** A text without white space at either end. */
export function stripSpace(text: string): string {
  let start = 0
  while (start < text.length && isSpace(text.charCodeAt(start))) start++
  return stripEnd(text.slice(start))
}

/** Whether Python takes a character for white space. */
export function isSpace(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f)
  if (code < 0x1680) return code === 0x85 || code === 0xa0
  return (
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000
  )
}

/** Whether it is one of the 32 characters of Python's string.punctuation. */
export function isAsciiPunctuation(code: number): boolean {
  if (code < 0x21 || code > 0x7e) return false
  return code <= 0x2f || (code >= 0x3a && code <= 0x40) || (code >= 0x5b && code <= 0x60) || code >= 0x7b
}
