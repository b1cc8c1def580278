import { hasNativeDigits, languages, nativeDigits, parseWhole, type ByLanguage, type Language } from '../data/index.js'
import { normalizeAnswer } from './answers.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'

const questions: ByLanguage<string> = {
  en: 'larger',
  es: 'mayor',
  sw: 'kubwa zaidi',
  yo: 'èyí tó tóbi jù',
  ru: 'большее',
  ar: 'الأكبر',
  hi: 'बड़ा',
  ja: '最大',
}

/** The larger of two numbers. The key is the pair, whatever its order, digits and language. */
export const larger = singleTurn<{ numbers: [number, number]; native: boolean }>({
  id: 'larger',
  description: 'say the larger of two numbers',
  difficulty: { easiest: 'numbers up to 19', hardest: 'numbers up to 99' },
  languages,
  maxReplyTokens: 8,
  lexicon: Object.fromEntries(languages.map((language) => [language, null])),
  generate(random, { language, difficulty }) {
    const most = scale(difficulty, 19, 99)
    const a = random.integer(0, most)
    const b = (a + random.integer(1, most)) % (most + 1)
    const native = hasNativeDigits(language as Language) && random.uniform() < 0.25
    return { data: { numbers: [a, b], native }, key: `${Math.min(a, b)} ${Math.max(a, b)}` }
  },
  prompt: ({ numbers, native }, language) =>
    `${questions[language as Language]} ${numbers.map((value) => write(value, native, language)).join(' ')}`,
  score(reply, { numbers }) {
    const value = parseWhole(normalizeAnswer(reply))
    const success = value === Math.max(...numbers)
    return { reward: Number(success), success, wellFormed: value !== null && numbers.includes(value) }
  },
  guess: (random, { numbers, native }, language) => write(random.pick(numbers), native, language),
  answer: ({ numbers, native }, language) => write(Math.max(...numbers), native, language),
})

function write(value: number, native: boolean, language: string): string {
  return native ? nativeDigits(language as Language, value) : String(value)
}
