import { createRandom, deriveSeed, type Random } from '../core/index.js'
import { languages, parseWhole, type ByLanguage, type Language } from '../data/index.js'
import { itemsOf, sameAnswer } from './answers.js'
import { defineTask, end, malformed, say, scale } from './define-task.js'

const words: ByLanguage<{ heap: string; take: string }> = {
  en: { heap: 'heap', take: 'take' },
  es: { heap: 'montón', take: 'toma' },
  sw: { heap: 'rundo', take: 'chukua' },
  yo: { heap: 'òkìtì', take: 'mú' },
  ru: { heap: 'куча', take: 'возьми' },
  ar: { heap: 'كومة', take: 'خذ' },
  hi: { heap: 'ढेर', take: 'लो' },
  ja: { heap: '山', take: '取る' },
}

const mostTaken = 3

/**
 * Nim with one heap: players take one to three in turn, whoever takes the last wins (Bouton 1902). Every heap that is
 * dealt can be won: multiples of four, lost against a right opponent, are left out. The key is language and heap: the
 * states of the game are few, so what is withheld is a heap in a language, not a position never seen.
 */
export const nim = defineTask<{ heap: number; skill: number; seed: number }>({
  id: 'nim',
  description: 'take 1 to 3 from a heap in turn with an opponent; who takes the last wins',
  difficulty: {
    easiest: 'heap up to 7, the opponent plays at random',
    hardest: 'heap up to 15, the opponent errs not',
  },
  languages,
  maxTurns: 8,
  maxReplyTokens: 8,
  get lexicon() {
    return Object.fromEntries(languages.map((language) => [language, words[language].take.split(' ')]))
  },
  generate(random, { language, difficulty }) {
    const most = scale(difficulty, 7, 15)
    const heaps = Array.from({ length: most - 4 }, (_, i) => i + 5).filter((heap) => heap % (mostTaken + 1) !== 0)
    const heap = random.pick(heaps)
    const data = { heap, skill: Math.round(difficulty * 100) / 100, seed: random.integer(0, 999_999) }
    return { data, key: `${salt} ${language} ${heap}` }
  },
  play({ heap: start, skill, seed }, { language }) {
    const { heap: heapWord, take } = words[language as Language]
    const opponent = createRandom(deriveSeed('nim opponent', seed))
    let heap = start
    return {
      messages: [{ role: 'user', content: `${heapWord} ${heap}` }],
      respond(reply) {
        const items = itemsOf(reply)
        const taken = parseWhole(items.at(-1) ?? '')
        const verb = items.slice(0, -1).join(' ')
        if (taken === null || taken < 1 || taken > Math.min(mostTaken, heap) || !sameAnswer(verb, take))
          return malformed
        heap -= taken
        const isRight = heap % (mostTaken + 1) === 0
        if (heap === 0) return end({ reward: 1, success: true, wellFormed: true })
        heap -= opponent.uniform() < skill ? rightMove(heap, opponent) : randomMove(heap, opponent)
        if (heap === 0) return end({ reward: 0.1, success: false, wellFormed: true })
        return { ...say(`${heapWord} ${heap}`), reward: isRight ? 0.1 : 0 }
      },
      randomReply: (random) => `${take} ${randomMove(heap, random)}`,
      expertReply: (random) => `${take} ${rightMove(heap, random)}`,
    }
  },
})

/** Part of the key, chosen so that every language has two or three withheld heaps, one of them small. */
const salt = 4788

function randomMove(heap: number, random: Random): number {
  return random.integer(1, Math.min(mostTaken, heap))
}

/** Leaves a multiple of four; where that cannot be done every move loses, and any is as good. */
function rightMove(heap: number, random: Random): number {
  return heap % (mostTaken + 1) || randomMove(heap, random)
}
