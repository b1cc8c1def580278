/** What a text is read at: of longer ones, as much from its beginning, its middle and its end. In UTF-16 units. */
const longest = 6000

/** Links, addresses, tags, numbers and codes such as `A4` say nothing about language. NFC; lone surrogates are dropped. */
export function proseOf(text: string): string {
  return excerpt(text)
    .replace(/\p{Cs}/gu, ' ')
    .normalize('NFC')
    .replace(/\b(?:https?:\/\/|www\.)\S+/gi, ' ')
    .replace(/[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}/g, ' ')
    .replace(/<\/?[a-z][^<>]{0,200}>/gi, ' ')
    .replace(/\p{Cf}/gu, (mark) => (/\p{Join_Control}/u.test(mark) ? mark : ''))
    .replace(/[\p{L}\p{M}\p{Join_Control}]*\p{N}[\p{L}\p{M}\p{N}]*/gu, ' ')
    .replace(/[^\p{L}\p{M}\p{Zs}\n\p{Join_Control}'’ʼ‘ー-]+/gu, ' ')
    .trim()
}

function excerpt(text: string): string {
  if (text.length <= longest) return text
  const part = longest / 3
  const middle = (text.length - part) >> 1
  return [text.slice(0, part), text.slice(middle, middle + part), text.slice(-part)].join(' ')
}

/** Brackets, operators and semicolons in plenty: source text or JSON. */
export function looksLikeCode(text: string): boolean {
  const sample = excerpt(text)
  const symbols = sample.match(/[{}[\]();=<>\\|$#&_+*/]/g)?.length ?? 0
  const letters = sample.match(/\p{L}/gu)?.length ?? 0
  return symbols >= 4 && symbols * 6 > letters
}

/** Up to five words, each with a capital and small letters after it: names, or a title. */
export function looksLikeNames(prose: string): boolean {
  const words = prose.split(/\s+/u).filter(Boolean)
  return words.length <= 5 && words.every((word) => /^\p{Lu}[\p{Ll}\p{M}'’]+(?:-\p{Lu}[\p{Ll}\p{M}'’]+)*$/u.test(word))
}

/** Letters in different words: the same word a thousand times is one word. */
export function lettersOfWords(prose: string): number {
  let letters = 0
  for (const word of new Set(prose.toLowerCase().split(/\s+/u))) letters += word.match(/\p{L}/gu)?.length ?? 0
  return letters
}
