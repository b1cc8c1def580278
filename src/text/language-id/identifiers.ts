import { MyriadError, messageOf } from '../../core/index.js'
import { canonicalTag } from '../languages.js'
import { loadLetterModels, scoreLetters } from './letter-models.js'
import type { Identifiers } from './types.js'

/** What cld3 knows, by its source. */
const cldLanguages =
  'af am ar az be bg bn bs ca ceb co cs cy da de el en eo es et eu fa fi fil fr fy ga gd gl gu ha haw he hi hmn hr ht hu hy ' +
  'id ig is it ja jv ka kk km kn ko ku ky la lb lo lt lv mg mi mk ml mn mr ms mt my ne nl no ny pa pl ps pt ro ru sd si ' +
  'sk sl sm sn so sq sr st su sv sw ta te tg th tr uk ur uz vi xh yi yo zh zu'

/**
 * Loads eld (60 languages, its smallest model), cld3 (107) and the letter models.
 *
 * @throws MyriadError 'io' when a package cannot be loaded
 */
export async function loadIdentifiers(): Promise<Identifiers> {
  try {
    const [{ eld }, cld3, modelOf] = await Promise.all([
      import('eld/extrasmall'),
      import('cld3-asm'),
      loadLetterModels(),
    ])
    const own = eld.newInstance()
    const tags = new Map(Object.values(own.info().Languages).map((code) => [code, canonicalTag(code)]))
    // From 0 bytes: its default of 140 would leave every short text undecided.
    const cld = (await cld3.loadModule()).create(0, 1000)
    return {
      eld: {
        knows: new Set(tags.values()),
        scores: (text) => {
          const entries = Object.entries(own.detect(text).getScores())
          // eld answers s / (s + 25) for a mean score of s.
          return new Map(entries.map(([tag, scaled]) => [tags.get(tag) ?? tag, (25 * scaled) / (1 - scaled)]))
        },
      },
      cld: {
        knows: new Set(cldLanguages.split(' ')),
        detect: (text) => {
          const { language, probability } = cld.findLanguage(text)
          // It has romanized Hindi and others as `hi-Latn`, and old codes such as `iw`.
          return language === 'und' ? null : { language: canonicalTag(language), probability }
        },
      },
      letters: (text, language, script) => {
        const model = modelOf(language, script)
        return model && scoreLetters(model, text)
      },
    }
  } catch (error) {
    throw new MyriadError('io', `the language identifiers cannot be loaded: ${messageOf(error)}; run "npm ci"`, {
      cause: error,
    })
  }
}
