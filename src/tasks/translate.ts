import { inLanguage, languages, namedThings, type Language, type NamedThing } from '../data/index.js'
import { sentenceChrf } from '../rewards/strings/chrf.js'
import { normalizeAnswer, sameAnswer } from './answers.js'
import { scale } from './define-task.js'
import { singleTurn } from './single-turn.js'

/**
 * Names of countries, languages and months out of one language into another. Names that are spelled alike in both are not
 * asked. The key is the name as it is spelled and the language it goes into, so that "Kenya" of English and of Swahili are one
 * problem; out of Russian it may be withheld and out of Arabic not.
 */
export const translate = singleTurn<{ thing: string; from: string }>({
  id: 'translate',
  description: 'say the name of a country, language or month in another language',
  difficulty: { easiest: 'the 10 best known of each kind', hardest: '60 countries, 33 languages, 12 months' },
  languages,
  maxReplyTokens: 24,
  lexicon: () =>
    Object.fromEntries(languages.map((language) => [language, namedThings().map((thing) => thing.names[language])])),
  generate(random, { language, difficulty }) {
    const into = language as Language
    for (;;) {
      const kind = random.pick(['country', 'language', 'month'] as const)
      const thing = random.pick(ofKind(kind).slice(0, scale(difficulty, 10, 60)))
      const from = random.pick(languages)
      if (!sameAnswer(thing.names[from], thing.names[into]))
        return { data: { thing: thing.id, from }, key: `${thing.names[from]} ${into}` }
    }
  },
  prompt: ({ thing, from }, language) =>
    `${inLanguage[language as Language]} ${thingById(thing).names[from as Language]}`,
  score(reply, { thing }, language) {
    const right = thingById(thing).names[language as Language]
    const success = sameAnswer(reply, right)
    const wellFormed = success || namedThings().some(({ names }) => sameAnswer(reply, names[language as Language]))
    const chrf = sentenceChrf(normalizeAnswer(reply), [normalizeAnswer(right)])
    // Half of chrF for a name that is nearly right: a slope towards the answer, never worth as much as it.
    return { reward: success ? 1 : Math.min(chrf, 1) / 2, success, wellFormed, metrics: { chrf } }
  },
  guess: (random, { thing }, language) => random.pick(ofKind(thingById(thing).kind)).names[language as Language],
  answer: ({ thing }, language) => thingById(thing).names[language as Language],
})

function ofKind(kind: NamedThing['kind']): NamedThing[] {
  return namedThings().filter((thing) => thing.kind === kind)
}

function thingById(id: string): NamedThing {
  const thing = namedThings().find((candidate) => candidate.id === id)
  if (thing === undefined) throw new RangeError(`translate: no thing "${id}"`)
  return thing
}
