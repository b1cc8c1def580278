import { languages, type ByLanguage } from './languages.js'
import { once } from './package-json.js'
import { articles } from './udhr.js'

/** A paragraph of the Universal Declaration in every language. */
export interface Phrase {
  /** Article and paragraph: `15.1`. */
  id: string
  texts: ByLanguage<string>
  /** Code points of the longest of the texts. */
  length: number
}

/** Longest text that counts as a phrase, in code points. */
const longest = 100

const load = once((_: 'all'): readonly Phrase[] => {
  const found: Phrase[] = []
  for (const { number } of articles('en').filter((article) => article.number > 0)) {
    const versions = languages.map(
      (language) => articles(language).find((article) => article.number === number)?.paragraphs ?? [],
    )
    const count = versions[0].length
    if (versions.some((paragraphs) => paragraphs.length !== count)) continue // not parallel paragraph by paragraph
    for (let i = 0; i < count; i++) {
      const texts = Object.fromEntries(
        languages.map((language, index) => [language, versions[index][i]]),
      ) as ByLanguage<string>
      const length = Math.max(...Object.values(texts).map((text) => [...text].length))
      if (length <= longest) found.push({ id: `${number}.${i + 1}`, texts, length })
    }
  }
  return found.sort((a, b) => a.length - b.length)
})

/** The paragraphs of the Universal Declaration that are at most 100 characters long in every language, shortest first. */
export function phrases(): readonly Phrase[] {
  return load('all')
}
