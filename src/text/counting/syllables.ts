import { MyriadError } from '../../core/index.js'
import { canonicalTag } from '../languages.js'
import { createScriptCounter, type ScriptCounter } from '../scripts.js'
import { burmeseSyllables, ethiopicSyllables, indicSyllables, khmerSyllables, thaiSyllables } from './indic.js'
import { vowelSyllables } from './latin.js'
import { arabicSyllables, hebrewSyllables } from './semitic.js'

/** Syllables of a lower-case word in NFC, in a language (base tag). */
type WordSyllables = (word: string, language: string) => number

/** Small kana that belong to the mora before them. */
const smallKana = /[ぁぃぅぇぉゃゅょゎァィゥェォャュョヮㇰ-ㇿ]/gu
/** Morae that a kanji is read with, on the mean of Japanese text. */
const moraePerKanji = 2

const han: WordSyllables = (word, language) =>
  (word.match(/\p{Script=Han}/gu)?.length ?? 0) * (language === 'ja' ? moraePerKanji : 1)
const kana: WordSyllables = (word) =>
  (word.match(/[\p{Script=Hiragana}\p{Script=Katakana}ー]/gu)?.length ?? 0) - (word.match(smallKana)?.length ?? 0)
const letters: WordSyllables = (word) => word.match(/\p{L}/gu)?.length ?? 0
const indic: WordSyllables = indicSyllables
const vowels: WordSyllables = vowelSyllables

const byScript: Readonly<Record<string, WordSyllables>> = {
  Latn: vowels,
  Cyrl: vowels,
  Grek: vowels,
  Hani: han,
  Hira: kana,
  Kana: kana,
  Hang: letters,
  Yiii: letters,
  Cher: letters,
  Vaii: letters,
  Cans: letters,
  Bopo: letters,
  Deva: indic,
  Beng: indic,
  Guru: indic,
  Gujr: indic,
  Orya: indic,
  Taml: indic,
  Telu: indic,
  Knda: indic,
  Mlym: indic,
  Sinh: indic,
  Mymr: burmeseSyllables,
  Khmr: khmerSyllables,
  Thai: thaiSyllables,
  Laoo: thaiSyllables,
  Ethi: ethiopicSyllables,
  Arab: arabicSyllables,
  Hebr: hebrewSyllables,
  // A syllable ends with a point, which the words of the segmenter do not hold; what is left is a syllable.
  Tibt: () => 1,
  Geor: (word) => Math.max(1, word.match(/[აეიოუ]/gu)?.length ?? 0),
  Armn: (word) => Math.max(1, word.replace(/ու/gu, 'ա').match(/[աեէըիոօև]/gu)?.length ?? 0),
  Thaa: (word) => Math.max(1, word.match(/[\u07a6-\u07af]/gu)?.length ?? 0),
}

/** Scripts whose syllables are counted. */
export const syllabicScripts: readonly string[] = Object.keys(byScript)

/**
 * Syllables of a text (morae in kana; a kanji counts two), by rules of script and language: docs/languages.md says how far
 * they can be trusted. A digit counts one. 0 for a text without letters and digits.
 *
 * @throws MyriadError 'usage' for a script without rules
 * @example countSyllables('Habari za asubuhi', 'sw') // 8
 */
export function countSyllables(text: string, language: string): number {
  const base = new Intl.Locale(canonicalTag(language)).language
  const scriptsOf = createScriptCounter()
  const seen = new Map<string, number>()
  let sum = 0
  for (const { segment, isWordLike } of segmenterOf(base).segment(text.normalize('NFC'))) {
    // The segmenter splits at points within Tibetan words, and keeps endless words whole.
    if (!isWordLike && !/[\p{L}\p{N}]/u.test(segment)) continue
    let count = seen.get(segment)
    if (count === undefined) seen.set(segment, (count = ofSegment(segment, base, scriptsOf)))
    sum += count
  }
  return sum
}

/** One of each language: to make one takes longer than to use it. */
function segmenterOf(language: string): Intl.Segmenter {
  return new Intl.Segmenter(language, { granularity: 'word' })
}

/** No language has longer words; what is longer is taken in pieces. */
const longestWord = 64

function ofSegment(segment: string, language: string, scriptsOf: ScriptCounter): number {
  let sum = segment.match(/\p{Nd}/gu)?.length ?? 0
  for (const run of runsByScript(segment.toLowerCase(), scriptsOf)) {
    const count = byScript[run.script]
    if (count === undefined)
      throw new MyriadError(
        'usage',
        `syllables: there are no rules for the script ${run.script} ("${run.text.slice(0, 20)}"); ` +
          'loadSpeechSyllables() asks espeak-ng, which knows more languages',
      )
    for (let i = 0; i < run.text.length; i += longestWord) sum += count(run.text.slice(i, i + longestWord), language)
  }
  return sum
}

/** A word by script: marks, apostrophes and the like stay with what they stand behind. */
function runsByScript(word: string, scriptsOf: ScriptCounter): { script: string; text: string }[] {
  const runs: { script: string; text: string }[] = []
  for (const character of word) {
    if (/\p{N}/u.test(character)) continue
    const [script] = scriptsOf(character).keys()
    const last = runs.at(-1)
    // The long mark of kana is common to both.
    const own = character === 'ー' ? (last?.script ?? 'Kana') : script
    if (last !== undefined && (own === undefined || own === last.script)) last.text += character
    else if (own !== undefined) runs.push({ script: own, text: character })
  }
  return runs
}
