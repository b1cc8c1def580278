import { isAsciiPunctuation, isSpace, splitSpace } from './python-space.js'

/** How BLEU finds words; the names are sacreBLEU's. */
export type BleuTokenizer = '13a' | 'intl' | 'char' | 'zh' | 'none'

/** The words of a segment, by tokenizer. */
export const bleuTokenizers: Readonly<Record<BleuTokenizer, (text: string) => string[]>> = {
  /** mteval-v13a, which WMT uses for languages that write spaces. */
  '13a': (text) => {
    // Line breaks are white space already, but for those that part a word at its hyphen.
    const whole = text.includes('<') ? text.replaceAll('<skipped>', '') : text
    const plain = unescapeEntities(whole.includes('\n') ? whole.replaceAll('-\n', '') : whole)
    const words: string[] = []
    let start = -1
    let punctuated = false
    const end = (at: number): void => {
      const word = plain.slice(start, at)
      if (punctuated) for (const part of partsOf13a(word)) words.push(part)
      else words.push(word)
      start = -1
      punctuated = false
    }
    for (let i = 0; i < plain.length; i++) {
      const code = plain.charCodeAt(i)
      const kind = code < 0x80 ? kinds[code] : isSpace(code) ? SPACE : LETTER
      if (kind === SPACE) {
        if (start >= 0) end(i)
        continue
      }
      if (start < 0) start = i
      if (kind === MARK) punctuated = true
    }
    if (start >= 0) end(plain.length)
    return words
  },
  /** mteval-v14: any Unicode punctuation and symbol is a word of its own, but for punctuation between digits. */
  intl: (text) =>
    splitSpace(
      text
        .replace(/(\P{N})(\p{P})/gu, '$1 $2 ')
        .replace(/(\p{P})(\P{N})/gu, ' $1 $2')
        .replace(/\p{S}/gu, ' $& '),
    ),
  /** Every character is a word. */
  char: (text) => splitSpace(Array.from(text).join(' ')),
  /** Every Chinese character is a word; the rest as in 13a. */
  zh: (text) => separateAscii(splitSpace(text).join(' ').replace(chinese, ' $& ')),
  /** Words are what stands between white space. */
  none: splitSpace,
}

function unescapeEntities(text: string): string {
  if (!text.includes('&')) return text
  const entities = [
    ['&quot;', '"'],
    ['&amp;', '&'],
    ['&lt;', '<'],
    ['&gt;', '>'],
  ]
  // One after the other, as the reference does: `&amp;lt;` ends as `<`.
  return entities.reduce((result, [entity, character]) => result.replaceAll(entity, character), text)
}

/** Words with punctuation that were met lately, with their parts. */
const memory = new Map<string, readonly string[]>()
const REMEMBERED = 50_000

/** The rules of 13a never look beyond the spaces around a word, so each word is taken apart on its own, and but once. */
function partsOf13a(word: string): readonly string[] {
  let parts = memory.get(word)
  if (!parts) {
    if (memory.size >= REMEMBERED) memory.clear()
    memory.set(word, (parts = separateAscii(` ${word} `)))
  }
  return parts
}

const [LETTER, SPACE, MARK] = [0, 1, 2]
/** Of ASCII characters. */
const kinds = Uint8Array.from({ length: 0x80 }, (_, code) =>
  isSpace(code) ? SPACE : isAsciiPunctuation(code) ? MARK : LETTER,
)

/** ASCII punctuation apart; full stop and comma only where no digit is on the one side, hyphen after a digit. */
function separateAscii(text: string): string[] {
  return splitSpace(
    text
      .replace(/[ -&(-+:-@[-`{-~/]/gu, ' $& ')
      .replace(/([^0-9])([.,])/gu, '$1 $2 ')
      .replace(/([.,])([^0-9])/gu, ' $1 $2')
      .replace(/([0-9])(-)/gu, '$1 $2 '),
  )
}

// sacreBLEU writes '\u20000' and the like for characters beyond the basic plane. To Python that is U+2000 and a "0", so its
// ranges come out as U+2001..2A6D and U+2F81..2FA1, without the supplementary ideographs. Scores are to be equal, so ours too.
const chinese =
  /[\u3400-\u4db5\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\u2001-\u2a6d\u2f81-\u2fa1\uff00-\uffef\u2e80-\u2eff\u3000-\u303f\u31c0-\u31ef\u2f00-\u2fdf\u2ff0-\u2fff\u3100-\u312f\u31a0-\u31bf\ufe10-\ufe1f\ufe30-\ufe4f\u3200-\u33ff]/gu
