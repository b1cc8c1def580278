import { inLanguage, languages, phrases, type Language, type Phrase } from '../data/index.js'
import { sentenceChrf } from '../rewards/strings/chrf.js'
import { normalizeAnswer } from './answers.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'

/** chrF from which a translation counts as a success. */
const enough = 0.6

/**
 * Short paragraphs of the Universal Declaration of Human Rights out of one language into another, scored by chrF. The key
 * is the paragraph and the pair of languages.
 */
export const declaration = singleTurn<{ phrase: string; from: string }>({
  id: 'declaration',
  description: 'translate a short paragraph of the Universal Declaration of Human Rights',
  difficulty: { easiest: 'the 3 shortest paragraphs', hardest: '8 paragraphs of up to 100 characters' },
  languages,
  maxReplyTokens: 120,
  generate(random, { language, difficulty }) {
    const phrase = random.pick(phrases().slice(0, scale(difficulty, 3, phrases().length)))
    const from = random.pick(languages.filter((candidate) => candidate !== language))
    return { data: { phrase: phrase.id, from }, key: `${phrase.id} ${from} ${language}` }
  },
  prompt: ({ phrase, from }, language) =>
    `${inLanguage[language as Language]} ${phraseById(phrase).texts[from as Language]}`,
  score(reply, { phrase }, language) {
    const said = normalizeAnswer(reply)
    const chrf = sentenceChrf(said, [normalizeAnswer(phraseById(phrase).texts[language as Language])])
    return { reward: chrf, success: chrf >= enough, wellFormed: said !== '', metrics: { chrf } }
  },
  guess: (random, _, language) => random.pick(phrases()).texts[language as Language],
  answer: ({ phrase }, language) => phraseById(phrase).texts[language as Language],
})

function phraseById(id: string): Phrase {
  const phrase = phrases().find((candidate) => candidate.id === id)
  if (phrase === undefined) throw new RangeError(`declaration: no paragraph "${id}"`)
  return phrase
}
