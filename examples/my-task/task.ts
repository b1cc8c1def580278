import { singleTurn, type Reward } from 'myriad-rl'

const verbs: Record<string, string> = { en: 'choose', es: 'elige', sw: 'chagua' }

/** The model knows the word "choose", but not that we mean the smaller number. */
export const smaller = singleTurn<{ numbers: number[] }>({
  id: 'smaller',
  description: 'choose the smaller of two numbers',
  languages: Object.keys(verbs),
  difficulty: { easiest: 'numbers up to 9', hardest: 'numbers up to 99' },
  maxReplyTokens: 6,
  generate(random, { difficulty }) {
    const most = Math.round(9 + 90 * difficulty)
    const a = random.integer(0, most)
    const b = (a + random.integer(1, most)) % (most + 1)
    return { data: { numbers: [a, b] }, key: `${Math.min(a, b)} ${Math.max(a, b)}` }
  },
  prompt: ({ numbers }, language) => `${verbs[language]} ${numbers.join(' ')}`,
  score: (reply, { numbers }) => reply.trim() === String(Math.min(...numbers)),
  guess: (random, { numbers }) => String(random.pick(numbers)),
})

/** A reward of one's own: 1 for a reply of at most two characters. */
export const brief: Reward = {
  name: 'brief',
  score: ({ replies }) => (replies.every((reply) => reply.trim().length <= 2) ? 1 : 0),
}
