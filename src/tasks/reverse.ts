import { alphabets, languages, type ByLanguage, type Language } from '../data/index.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'
import { gradeLetters } from './sort.js'

const verbs: ByLanguage<string> = {
  en: 'reverse',
  es: 'invierte',
  sw: 'geuza',
  yo: 'yí padà',
  ru: 'переверни',
  ar: 'اعكس',
  hi: 'उलटो',
  ja: '逆順',
}

/** Letters from last to first. The key is the sequence, in whichever language it is asked. */
export const reverse = singleTurn<{ letters: string[] }>({
  id: 'reverse',
  description: 'say letters from last to first',
  difficulty: { easiest: '3 letters', hardest: '3 to 5 letters' },
  languages,
  maxReplyTokens: 20,
  lexicon: Object.fromEntries(languages.map((language) => [language, null])),
  generate(random, { language, difficulty }) {
    const count = random.integer(3, scale(difficulty, 3, 5))
    const letters = random.shuffle(alphabets[language as Language]).slice(0, count)
    return { data: { letters }, key: letters.join(' ') }
  },
  prompt: ({ letters }, language) => `${verbs[language as Language]} ${letters.join(' ')}`,
  score: (reply, { letters }, language) => gradeLetters(reply, letters.toReversed(), language),
  guess: (random, { letters }) => random.shuffle(letters).join(' '),
  answer: ({ letters }) => letters.toReversed().join(' '),
})
