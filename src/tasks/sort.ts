import { alphabets, languages, type ByLanguage, type Language } from '../data/index.js'
import { itemsOf, shareInPlace } from './answers.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'

const verbs: ByLanguage<string> = {
  en: 'sort',
  es: 'ordena',
  sw: 'panga',
  yo: 'tò',
  ru: 'упорядочи',
  ar: 'رتب',
  hi: 'क्रम से रखो',
  ja: '整列',
}

/**
 * Letters into the order of the alphabet. The key is the set of letters, whatever order they are given in and whichever
 * language they are asked in: a withheld set has never been sorted.
 */
export const sort = singleTurn<{ letters: string[] }>({
  id: 'sort',
  description: 'put letters in the order of the alphabet',
  difficulty: { easiest: '3 letters', hardest: '3 to 6 letters' },
  languages,
  maxReplyTokens: 24,
  lexicon: Object.fromEntries(languages.map((language) => [language, null])),
  generate(random, { language, difficulty }) {
    const count = random.integer(3, scale(difficulty, 3, 6))
    const letters = random.shuffle(alphabets[language as Language]).slice(0, count)
    return { data: { letters }, key: [...letters].sort().join(' ') }
  },
  prompt: ({ letters }, language) => `${verbs[language as Language]} ${letters.join(' ')}`,
  score(reply, { letters }, language) {
    return gradeLetters(reply, inOrder(letters, language), language)
  },
  guess: (random, { letters }) => random.shuffle(letters).join(' '),
  answer: ({ letters }, language) => inOrder(letters, language).join(' '),
})

function inOrder(letters: readonly string[], language: string): string[] {
  return alphabets[language as Language].filter((letter) => letters.includes(letter))
}

/** Full marks for the whole answer, half the share of right places otherwise: a slope towards the answer. */
export function gradeLetters(reply: string, right: readonly string[], language: string) {
  const items = itemsOf(reply)
  const alphabet = alphabets[language as Language]
  const wellFormed = items.length > 0 && items.length <= 12 && items.every((item) => alphabet.includes(item))
  const share = wellFormed ? shareInPlace(items, right) : 0
  const success = share === 1
  return { reward: success ? 1 : share / 2, success, wellFormed, metrics: { share } }
}
