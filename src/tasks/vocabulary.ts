import { createRandom, deriveSeed } from '../core/index.js'
import {
  hasNativeDigits,
  languages,
  nativeDigits,
  nouns,
  numberWords,
  pretrainingDocuments,
  spelledLanguages,
} from '../data/index.js'
import { demonstration } from './demonstrations.js'
import { baseModelTasks } from './registry.js'

/**
 * The text a tokenizer for the built-in tasks is trained on: the pretraining text, demonstrations, requests of every task
 * (train split), and the small units that should become one token each however rare they are in prose: numbers up to 99,
 * number words, everyday words. It decides what is a token, not what is learned: no answer of an undemonstrated task is in it.
 *
 * @param options.demonstrations how many in each language; 3000 unless given
 * @param options.repetitions how often each small unit is written; 300 unless given
 */
export function* vocabularyTexts(
  seed: number,
  options: { repetitions?: number; demonstrations?: number } = {},
): Iterable<string> {
  const { repetitions = 300, demonstrations = 3000 } = options
  for (const { text } of pretrainingDocuments(seed)) yield text
  for (const language of languages) {
    for (let i = 0; i < demonstrations; i++)
      for (const { content } of demonstration(deriveSeed(seed, 'vocabulary', i), { language }).messages) yield content
    for (const task of baseModelTasks.filter((known) => known.languages.includes(language)))
      for (let i = 0; i < 200; i++) {
        const difficulty = createRandom(deriveSeed(seed, i)).uniform()
        const problem = task.generate(deriveSeed(seed, i), { language, difficulty, split: 'train' })
        for (const { content } of task.play(problem).messages) yield content
      }
    const units = smallUnits(language)
    for (let i = 0; i < repetitions; i++) yield ` ${units.join(' ')}`
  }
}

/** Words that should be one token in a language; ASCII numbers, which all languages share, count once. */
function smallUnits(language: (typeof languages)[number]): string[] {
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, value) => value)
  const digits = language === 'en' ? upTo(100).map(String) : []
  // Native numbers stay two digits of one token each: as whole numbers they would fill a tenth of a small vocabulary. The
  // bracket makes a digit a word without a space before it, as the second digit of a number is.
  const native = hasNativeDigits(language)
    ? upTo(10).flatMap((value) => [nativeDigits(language, value), `(${nativeDigits(language, value)})`])
    : []
  const spelled = (spelledLanguages as readonly string[]).includes(language)
    ? upTo(25).flatMap((value) => numberWords(language, value).split(/[ -]/))
    : []
  return [...digits, ...native, ...new Set(spelled), ...nouns(language)]
}
