/**
 * How text falls into words before byte-pair encoding: no token ever crosses these borders.
 *
 * Written so that it means the same in JavaScript (`u` flag) and in Oniguruma, which the Hugging Face loaders use: no
 * script properties (they are spelled differently), ranges as literal characters, no class subtraction.
 */

// Scripts that write no spaces between words and whose runs end well at a change of script.
const hiragana = 'ぁ-ゟー'
const katakana = 'ァ-ヺー-ヿㇰ-ㇿｦ-ﾟ'
const han = '々〇㐀-䶿一-鿿豈-﫿𠀀-𳑿'
// `\s` differs between the two dialects; the property does not.
const space = '\\p{White_Space}'
const nonSpace = '\\P{White_Space}'

const spaceless = `${hiragana}${katakana}${han}`

// Letters with their combining marks. The cap keeps Thai, Khmer or Myanmar prose from becoming one endless word.
const letter = `(?:(?![${spaceless}])[\\p{L}\\p{M}])`

/**
 * The default split: one leading space belongs to the word after it; letters keep their combining marks and inner
 * apostrophes; digits of any script come in runs of at most three; hiragana, katakana and Han runs are split where the
 * script changes; punctuation and symbols keep the marks that follow them (emoji); runs of white space leave the last
 * space to the next word.
 */
export const defaultSplitPattern = [
  ` ?[${hiragana}]{1,16}`,
  ` ?[${katakana}]{1,16}`,
  ` ?[${han}]{1,8}`,
  ` ?${letter}{1,24}(?:['’]${letter}{1,24}){0,4}`,
  ' ?\\p{N}{1,3}',
  ` ?[^${space}\\p{L}\\p{M}\\p{N}][^${space}\\p{L}\\p{N}]{0,15}`,
  `${space}{1,16}(?!${nonSpace})`,
  `${space}{1,16}`,
].join('|')

/** The pieces of a text, in order; joined they are the text. `pattern` is compiled with the flags `gu`. */
export function splitWords(text: string, pattern: RegExp): string[] {
  const words: string[] = []
  let end = 0
  for (const match of text.matchAll(pattern)) {
    if (match[0].length === 0) continue
    if (match.index > end) words.push(text.slice(end, match.index))
    words.push(match[0])
    end = match.index + match[0].length
  }
  if (end < text.length) words.push(text.slice(end))
  return words
}
