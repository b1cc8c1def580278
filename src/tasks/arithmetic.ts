import { numberWords, operators, spelledLanguages, type Language } from '../data/index.js'
import { normalizeAnswer } from './answers.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'

type Data = { a: number; operator: 'plus' | 'minus'; b: number }

/**
 * Sums and differences asked and answered in number words. The key is the pair of numbers and the operation, whatever the
 * language, and for sums whatever the order. Not in Yoruba: CLDR has no number words for it.
 */
export const arithmetic = singleTurn<Data>({
  id: 'arithmetic',
  description: 'add or subtract small numbers, asked and answered in words',
  difficulty: { easiest: 'numbers up to 5', hardest: 'numbers up to 12' },
  languages: spelledLanguages,
  maxReplyTokens: 16,
  lexicon: () =>
    Object.fromEntries(
      spelledLanguages.map((tag) => [
        tag,
        [
          ...new Set(
            Array.from({ length: 25 }, (_, value) => numberWords(tag, value)).flatMap((words) => words.split(/[ -]/)),
          ),
        ],
      ]),
    ),
  generate(random, { difficulty }) {
    const most = scale(difficulty, 5, 12)
    const [x, y] = [random.integer(0, most), random.integer(0, most)]
    const operator = random.pick(['plus', 'minus'] as const)
    const [a, b] = operator === 'plus' ? [x, y] : [Math.max(x, y), Math.min(x, y)]
    return { data: { a, operator, b }, key: `${Math.max(a, b)} ${operator} ${Math.min(a, b)}` }
  },
  prompt({ a, operator, b }, language) {
    const tag = language as Language
    return `${numberWords(tag, a)} ${operators[tag]?.[operator]} ${numberWords(tag, b)}`
  },
  score(reply, data, language) {
    const said = plain(reply)
    const success = said === plain(numberWords(language as Language, result(data)))
    const isNumber = Array.from({ length: 100 }, (_, value) => value).some(
      (value) => said === plain(numberWords(language as Language, value)),
    )
    return { reward: Number(success), success, wellFormed: success || isNumber }
  },
  guess: (random, _, language) => numberWords(language as Language, random.integer(0, 24)),
  answer: (data, language) => numberWords(language as Language, result(data)),
})

function result({ a, operator, b }: Data): number {
  return operator === 'plus' ? a + b : a - b
}

/** Number words without hyphens, and without the hamza that Arabic spelling varies in. */
function plain(words: string): string {
  return normalizeAnswer(words)
    .replace(/[-\s]+/g, ' ')
    .replace(/[أإ]/g, 'ا')
}
