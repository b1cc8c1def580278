import { createRandom, deriveSeed } from '../core/index.js'
import { alphabets, asciiDigits, languages, nouns, type ByLanguage, type Language } from '../data/index.js'
import { itemsOf, normalizeAnswer, sameAnswer } from './answers.js'
import { defineTask, end, malformed, say } from './define-task.js'

const words: ByLanguage<{ code: string; find: string; see: string; none: string }> = {
  en: { code: 'code', find: 'find', see: 'see', none: 'none' },
  es: { code: 'código', find: 'busca', see: 'ver', none: 'nada' },
  sw: { code: 'msimbo', find: 'tafuta', see: 'tazama', none: 'hakuna' },
  yo: { code: 'àmì', find: 'wá', see: 'wo', none: 'kò sí' },
  ru: { code: 'код', find: 'найди', see: 'смотри', none: 'нет' },
  ar: { code: 'رمز', find: 'ابحث', see: 'انظر', none: 'لا شيء' },
  hi: { code: 'कोड', find: 'खोजो', see: 'देखो', none: 'नहीं' },
  ja: { code: '記号', find: '検索', see: '参照', none: 'なし' },
}

/**
 * A tool: a dictionary made up for this one problem, so that nothing can be known by heart. "code river" is asked; the
 * policy calls the tool by "find river"; the tool answers "river k 7", or "river see stone" when the code stands there; the
 * policy says "k 7". The key is the word and its code.
 */
export const lookup = defineTask<{ word: number; through: number | null; code: string[]; seed: number }>({
  id: 'lookup',
  description: 'find a code by calling a dictionary tool, then say it',
  difficulty: { easiest: 'the entry has the code', hardest: 'the entry refers to another' },
  languages,
  maxTurns: 4,
  maxReplyTokens: 20,
  lexicon: () =>
    Object.fromEntries(
      languages.map((tag) => [tag, [...words[tag].find.split(' '), ...nouns(tag), ...alphabets[tag]]]),
    ),
  generate(random, { language, difficulty }) {
    const [word, other] = random.shuffle(nouns(language as Language).map((_, index) => index))
    const code = randomCode(random, language as Language)
    const through = random.uniform() < difficulty ? other : null
    return { data: { word, through, code, seed: random.integer(0, 999_999) }, key: `${word} ${code.join(' ')}` }
  },
  play({ word, through, code, seed }, { language }) {
    const tag = language as Language
    const names = nouns(tag)
    const { code: codeWord, find, see, none } = words[tag]
    const read: number[] = []
    /** Every word has an entry; those not asked about lead nowhere. */
    const entry = (index: number): string => {
      if (index === word && through !== null) return `${names[index]} ${see} ${names[through]}`
      const isAsked = index === word || index === through
      return `${names[index]} ${(isAsked ? code : randomCode(createRandom(deriveSeed(seed, index)), tag)).join(' ')}`
    }
    return {
      messages: [{ role: 'user', content: `${codeWord} ${names[word]}` }],
      respond(reply) {
        const text = normalizeAnswer(reply)
        const verb = normalizeAnswer(find)
        if (text === verb || text.startsWith(`${verb} `)) {
          const index = names.findIndex((name) => sameAnswer(name, text.slice(verb.length)))
          if (index < 0) return say(none, 'tool')
          read.push(index)
          return say(entry(index), 'tool')
        }
        const [letter, digit, ...more] = itemsOf(reply)
        if (more.length > 0 || !alphabets[tag].includes(letter) || !/^\p{Nd}$/u.test(digit ?? '')) return malformed
        const success = letter === code[0] && asciiDigits(digit) === code[1]
        return end({ reward: success ? 1 : 0.1, success, wellFormed: true, metrics: { lookups: read.length } })
      },
      randomReply: (random) =>
        random.uniform() < 0.5 ? `${find} ${random.pick(names)}` : randomCode(random, tag).join(' '),
      expertReply() {
        if (!read.includes(word)) return `${find} ${names[word]}`
        return through !== null && !read.includes(through) ? `${find} ${names[through]}` : code.join(' ')
      },
    }
  },
})

function randomCode(random: ReturnType<typeof createRandom>, language: Language): string[] {
  return [random.pick(alphabets[language]), String(random.integer(1, 9))]
}
