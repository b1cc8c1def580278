import { languages, type Language } from '../data/index.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'

type Data = { a: number; operator: '+' | '-'; b: number }

/** How one asks for the value of an expression. */
const questions: Readonly<Record<Language, (expression: string) => string>> = {
  en: (expression) => `What is ${expression}?`,
  es: (expression) => `¿Cuánto es ${expression}?`,
  sw: (expression) => `${expression} ni ngapi?`,
  yo: (expression) => `Kí ni ${expression}?`,
  ru: (expression) => `Сколько будет ${expression}?`,
  ar: (expression) => `كم يساوي ${expression}؟`,
  hi: (expression) => `${expression} कितना होता है?`,
  ja: (expression) => `${expression} はいくつですか？`,
}

/**
 * Sums and differences in digits, asked in a sentence: for models that talk. The last number of the reply is the answer,
 * whatever is said around it, in the digits of any script. The key is the expression, whatever the language, and for sums
 * whatever the order.
 */
export const sums = singleTurn<Data>({
  id: 'sums',
  description: 'add or subtract numbers in digits; the reply may be a sentence that ends in the answer',
  difficulty: { easiest: 'numbers up to 9', hardest: 'numbers up to 99' },
  languages,
  maxReplyTokens: 24,
  lexicon: () => Object.fromEntries(languages.map((language) => [language, null])),
  generate(random, { difficulty }) {
    const most = scale(difficulty, 9, 99)
    const [x, y] = [random.integer(0, most), random.integer(0, most)]
    const operator = random.pick(['+', '-'] as const)
    const [a, b] = operator === '+' ? [x, y] : [Math.max(x, y), Math.min(x, y)]
    return { data: { a, operator, b }, key: `${Math.max(a, b)} ${operator} ${Math.min(a, b)}` }
  },
  prompt: ({ a, operator, b }, language) => questions[language as Language](`${a} ${operator} ${b}`),
  score(reply, data) {
    const said = lastNumber(reply)
    const success = said === result(data)
    return { reward: Number(success), success, wellFormed: said !== null }
  },
  guess: (random) => `${random.integer(0, 18)}`,
  answer: (data) => `${result(data)}`,
})

function result({ a, operator, b }: Data): number {
  return operator === '+' ? a + b : a - b
}

/** The last whole number in a text. A minus directly before its first digit belongs to it where no digit stands before. */
function lastNumber(text: string): number | null {
  const found = [...text.matchAll(/(?<![\p{Nd}\s]\s*)-?\p{Nd}+|\p{Nd}+/gu)].at(-1)?.[0]
  return found === undefined ? null : wholeNumber(found)
}

/** Digits of one script or several have the values 0 to 9 in the order of their code points. */
function wholeNumber(text: string): number {
  let value = 0
  for (const character of text.replace('-', '')) value = value * 10 + digitValue(character)
  return text.startsWith('-') ? -value : value
}

function digitValue(character: string): number {
  const code = character.codePointAt(0)!
  // Decimal digits stand in runs of ten that begin at a zero: walk back to the run's first.
  let zero = code
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return code - zero
}
