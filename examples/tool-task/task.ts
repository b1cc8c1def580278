import { defineTask, end, malformed, say } from 'myriad-rl'

const words = ['river', 'stone', 'tree', 'fire', 'bread', 'salt', 'moon', 'star', 'house', 'door']

/**
 * A tool: a price list made up for each problem. "code river" is asked; the model calls the tool by "find river"; the tool
 * answers "river 42"; the model says "42". Three replies at most; a reply that is neither a call nor a number ends it.
 */
export const price = defineTask<{ asked: string; prices: Record<string, number> }>({
  id: 'price',
  description: 'look up a price with a tool, then say it',
  languages: ['en'],
  difficulty: { easiest: 'prices up to 9', hardest: 'prices up to 99' },
  maxTurns: 3,
  maxReplyTokens: 8,
  generate(random, { difficulty }) {
    const most = Math.round(9 + 90 * difficulty)
    const prices = Object.fromEntries(words.map((word) => [word, random.integer(1, most)]))
    const asked = random.pick(words)
    return { data: { asked, prices }, key: `${asked} ${prices[asked]}` }
  },
  play({ asked, prices }) {
    return {
      messages: [{ role: 'user', content: `code ${asked}` }],
      respond(reply) {
        const text = reply.trim()
        if (text.startsWith('find ')) {
          const word = text.slice('find '.length)
          return say(word in prices ? `${word} ${prices[word]}` : 'none', 'tool')
        }
        if (!/^\d+$/.test(text)) return malformed
        const success = Number(text) === prices[asked]
        return end({ reward: success ? 1 : 0.1, success, wellFormed: true })
      },
      randomReply: (random) => (random.uniform() < 0.5 ? `find ${random.pick(words)}` : String(random.integer(1, 99))),
    }
  },
})
