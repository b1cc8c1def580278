import { languages, parseWhole, type ByLanguage, type Language } from '../data/index.js'
import { normalizeAnswer } from './answers.js'
import { defineTask, end, malformed, say, scale } from './define-task.js'

const words: ByLanguage<{ guess: string; higher: string; lower: string }> = {
  en: { guess: 'guess', higher: 'higher', lower: 'lower' },
  es: { guess: 'adivina', higher: 'más', lower: 'menos' },
  sw: { guess: 'kisia', higher: 'zaidi', lower: 'pungufu' },
  yo: { guess: 'méfò', higher: 'pọ̀ jù', lower: 'kéré jù' },
  ru: { guess: 'угадай', higher: 'больше', lower: 'меньше' },
  ar: { guess: 'خمن', higher: 'أكبر', lower: 'أصغر' },
  hi: { guess: 'अनुमान लगाओ', higher: 'ज़्यादा', lower: 'कम' },
  ja: { guess: '推測', higher: '大きい', lower: '小さい' },
}

/** Largest number that occurs. */
const most = 40

/**
 * Find a secret number within an interval. The world answers whether it is higher or lower and what interval is left. The
 * key is the interval, not the secret: a policy must not learn that some secrets never occur.
 */
export const guess = defineTask<{ low: number; high: number; secret: number }>({
  id: 'guess',
  description: 'guess a number in a stated interval, told higher or lower after each try',
  difficulty: { easiest: '6 to 8 candidates', hardest: '11 to 15 candidates; 15 can be told apart in 4 turns' },
  languages,
  maxTurns: 4,
  maxReplyTokens: 6,
  lexicon: Object.fromEntries(languages.map((language) => [language, null])),
  generate(random, { difficulty }) {
    const count = random.integer(scale(difficulty, 6, 11), scale(difficulty, 8, 15))
    const low = random.integer(1, most - count + 1)
    const high = low + count - 1
    return { data: { low, high, secret: random.integer(low, high) }, key: `${low} ${high}` }
  },
  play({ low: first, high: last, secret }, { language }) {
    const word = words[language as Language]
    let [low, high] = [first, last]
    return {
      messages: [{ role: 'user', content: `${word.guess} ${low} ${high}` }],
      respond(reply) {
        const value = parseWhole(normalizeAnswer(reply))
        if (value === null) return malformed
        if (value === secret) return end({ reward: 1, success: true, wellFormed: true })
        const before = high - low + 1
        if (value < secret) low = Math.max(low, value + 1)
        else high = Math.min(high, value - 1)
        // The bits that were learnt, of all that were to be learnt; together at most what an episode without success is worth.
        const reward = (0.1 * Math.log(before / (high - low + 1))) / Math.log(last - first + 1)
        return { ...say(`${value < secret ? word.higher : word.lower} ${low} ${high}`), reward }
      },
      randomReply: (random) => String(random.integer(low, high)),
      expertReply: () => String(Math.floor((low + high) / 2)),
    }
  },
})
