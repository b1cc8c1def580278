import { listWords } from './locale.js'
import { foldedAnswer } from './extract.js'
import { matchesAnswer } from '../answers.js'

// Labels in the order in which exams of a language use them.
const orders: readonly string[] = [
  'ABCDEFGHIJ',
  'АБВГДЕЖЗИК',
  'ابجدهوزحطي',
  'कखगघङचछजझञ',
  'ΑΒΓΔΕΖΗΘΙΚ',
  'אבגדהוזחטי',
  'アイウエオカキクケコ',
  '가나다라마바사아자차',
  'ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊ',
  'กขคงจฉชซฌญ',
  'কখগঘঙচছজঝঞ',
  'கஙசஞடணதநபம',
  '甲乙丙丁戊己庚辛壬癸',
  '1234567890',
]
const places = new Map(orders.flatMap((order) => [...order].map((letter, index) => [letter, index] as const)))

// Cyrillic letters that look like a Latin one of another place: where Latin letters were asked for, nobody can tell.
const lookalikes = new Set(['В', 'Е'])

/** The place of a label, from 0, and the script it is of; null when it is no label. */
function placeOf(label: string): { index: number; order: number } | null {
  const plain = label
    .normalize('NFKC')
    .replace(/[أإآٱ]/gu, 'ا')
    .replace(/ی/gu, 'ي')
    .toUpperCase()
  const digits = plain.replace(/\p{Nd}/gu, (digit) => String(nativeDigit(digit)))
  if (digits === '10') return { index: 9, order: orders.length - 1 }
  if ([...digits].length !== 1) return null
  const index = places.get(digits)
  return index === undefined ? null : { index, order: orders.findIndex((order) => order.includes(digits)) }
}

function nativeDigit(digit: string): number {
  let zero = digit.codePointAt(0) ?? 0
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1)) && zero > (digit.codePointAt(0) ?? 0) - 9) zero--
  return (digit.codePointAt(0) ?? 0) - zero
}

const labelForm =
  /^[\s*_"'“]*([([（【<]?)\s*(?:[Oo]ption\s+|[Cc]hoice\s+|[Oo]pción\s+|[Вв]ариант\s+|選択肢\s*|选项\s*|الخيار\s+|विकल्प\s+)?([([（]?)([\p{L}\p{Nd}①-⑩Ⓐ-ⓩ⑴-⑽⒜-⒵])\p{M}*\s*([.)）\]】>:：،,、。]*)(?![\p{L}\p{M}\p{Nd}]*(?<=[\p{L}\p{M}\p{Nd}]{2}))\s*(.*)$/su

export interface ChosenOptions {
  /** Places of the options, from 0, sorted. */
  indices: readonly number[]
  /** Of the first label: which script's order. -1 for an option known by its text. */
  order: number
  label: string
}

/**
 * The options that an answer chooses: by label (Latin, Cyrillic, Arabic, Devanagari, Greek, Hebrew, kana, hangul, Thai, Bengali, Tamil,
 * Chinese stems, digits of any script, circled and full-width signs), or by the text of an option. Null when it chooses none, or
 * says the label of one option and the text of another.
 *
 * @param choices the texts of the options, where they are known
 * @example readChoice('(B) Paris', 'en', ['London', 'Paris'])?.indices // [1]
 */
export function readChoice(
  given: string,
  language: string,
  choices: readonly string[] | null = null,
): ChosenOptions | null {
  const text = given
    .replace(/\\(?:text|mathrm|textbf|mathbf|mbox)\s*\{([^{}]*)\}/g, '$1')
    .replace(/[$*]/g, '')
    .trim()
  if (text === '' || text.length > 2000) return null
  const note = /^(.+?)\s*[(（][^()（）]{3,}[)）]$/su.exec(text)
  if (note && !choices) return readChoice(note[1], language)
  const byText = choices?.findIndex((choice) => matchesAnswer(foldedAnswer(text), [foldedAnswer(choice)])) ?? -1
  if (byText >= 0) return { indices: [byText], order: -1, label: text }
  const several = labelList(text, language)
  if (several) return several
  const found = labelForm.exec(text)
  if (!found) return null
  // NFC keeps a Devanagari letter with nukta apart; NFKC makes circled signs plain ones.
  const [, outer, inner, label, behind, more] = found
  const place = placeOf(label)
  if (!place) return null
  const rest = more.trim()
  const marked = outer !== '' || inner !== '' || behind !== ''
  // "A dog": an article; "A or B", "Not A but B": more than one.
  if (rest !== '' && !marked && !choices) return null
  if (rest !== '' && otherLabel(rest, place)) return null
  if (rest !== '' && choices) {
    const said = choices.findIndex((choice) => matchesAnswer(foldedAnswer(rest), [foldedAnswer(choice)]))
    if (said >= 0 && said !== place.index) return null
    if (said < 0 && !marked) return null
  }
  if (choices && place.index >= choices.length) return null
  return { indices: [place.index], order: place.order, label }
}

/** "A, C" or "A and C"; null for "A or C". */
function labelList(text: string, language: string): ChosenOptions | null {
  const and = listWords(language).and.join('|')
  const pieces = text
    .replace(/[.。]$/u, '')
    .split(new RegExp(`\\s*[,،、;]\\s*(?:(?:${and})\\s+)?|\\s+(?:${and})\\s+|\\s*&\\s*`, 'u'))
    .map((piece) => piece.replace(/^[([（]|[)\]）.]$/gu, ''))
  if (pieces.length < 2 || pieces.length > 10) return null
  const found = pieces.map(placeOf)
  const [first] = found
  if (!first || found.some((place) => place === null)) return null
  const indices = [...new Set(found.map((place) => place?.index ?? 0))].sort((a, b) => a - b)
  return { indices, order: first.order, label: text }
}

function otherLabel(rest: string, { index, order }: { index: number; order: number }): boolean {
  for (const [, label] of rest.matchAll(/(?<![\p{L}\p{M}\p{Nd}])([\p{L}\p{Nd}①-⑩Ⓐ-ⓩ])(?![\p{L}\p{M}\p{Nd}])/gu)) {
    const place = label === label.toUpperCase() ? placeOf(label) : null
    if (
      place &&
      place.order === order &&
      place.index !== index &&
      /^(?:or|и|или|o|y|and|أو|या|または|か|或|또는)?\s*[([（]?$/u.test(rest.slice(0, rest.indexOf(label)).trim())
    )
      return true
  }
  return false
}

/** The same options, in whatever script their labels are; and the share that is right (of those in either). */
export function compareChoices(given: ChosenOptions, expected: ChosenOptions): { same: boolean; share: number } {
  if (given.order >= 0 && expected.order === 0 && given.order === 1 && lookalikes.has(given.label.toUpperCase()))
    return { same: false, share: 0 }
  const [a, b] = [new Set(given.indices), new Set(expected.indices)]
  const common = [...a].filter((index) => b.has(index)).length
  const share = common / (a.size + b.size - common)
  return { same: share === 1, share }
}

/** Labels that stand alone within a sentence, as "(B)" or "option B": for replies that state no answer otherwise. */
export function labelsIn(text: string): string[] {
  const found = new Set<string>()
  for (const [, inside, named] of text.matchAll(
    /[([（]\s*([\p{Lu}\p{Lo}\p{Nd}])\s*[)\]）]|(?:[Oo]ption|[Cc]hoice|[Oo]pción|[Вв]ариант|الخيار|विकल्प|選択肢|选项)\s*([\p{Lu}\p{Lo}\p{Nd}])(?![\p{L}\p{M}])|([①-⑩])/gu,
  ))
    if (inside ?? named) found.add(inside ?? named)
  for (const [sign] of text.matchAll(/[①-⑩]/gu)) found.add(sign)
  return [...found]
}
