/**
 * How often the language of a text is told: node benchmarks/language-id.mjs --sentences FILE [--half tune|report] [--out FILE].
 * FILE is made by tools/fixtures/language-sentences.py. The sentences are in two halves by the message they translate:
 * thresholds and weights were chosen on one ("tune"), the figures kept are of the other ("report").
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    sentences: { type: 'string' },
    half: { type: 'string', default: 'report' },
    dist: { type: 'string', default: '../dist' },
    out: { type: 'string' },
    most: { type: 'string', default: '200' },
  },
})
const { loadIdentifiers, createLanguageIdentifier, createSpanIdentifier, isConfusable } = await import(
  `${values.dist}/text/index.js`
)
const rows = JSON.parse(readFileSync(values.sentences, 'utf8'))
const unspaced = new Set(['zh', 'zh-Hant', 'ja', 'th', 'lo', 'km', 'my', 'dz'])
const segmenters = new Map()

/** The first words of a text, or null when there are fewer. */
function opening(tag, text, words) {
  if (!unspaced.has(tag)) {
    const all = text.split(' ').filter((word) => /\p{L}/u.test(word))
    return all.length < words ? null : all.slice(0, words).join(' ')
  }
  if (!segmenters.has(tag)) segmenters.set(tag, new Intl.Segmenter(tag, { granularity: 'word' }))
  let count = 0
  let out = ''
  for (const { segment, isWordLike } of segmenters.get(tag).segment(text)) {
    out += segment
    if (isWordLike && /\p{L}/u.test(segment)) count++
    if (count === words) return out
  }
  return null
}

const before = { rss: process.memoryUsage().rss, start: performance.now() }
const identifiers = await loadIdentifiers()
const identify = createLanguageIdentifier(identifiers)
const loadMs = performance.now() - before.start
const known = new Set([...identifiers.eld.knows, ...identifiers.cld.knows])
const base = (tag) => tag.split('-')[0]
/** Right by the tag; an answer of the macrolanguage Norwegian is right for its two forms. */
const right = (answer, tag) => base(answer) === base(tag) || (['nn', 'nb'].includes(base(tag)) && base(answer) === 'no')

const round = (x) => (Number.isNaN(x) ? null : Math.round(1000 * x) / 10)
/** The languages a task of Myriad may allow: those asked for and 16 more. */
const sixteen = ['en', 'es', 'fr', 'de', 'pt', 'ru', 'ar', 'hi', 'bn', 'zh', 'ja', 'ko', 'sw', 'yo', 'tr', 'vi']
const result = { half: values.half, words: {} }
for (const words of [3, 10, 25]) {
  const per = {}
  for (const [tag, key, text] of rows) {
    if ((key % 2 ? 'report' : 'tune') !== values.half) continue
    const own = (per[tag] ??= { count: 0, forced: 0, answered: 0, right: 0, group: 0, expected: 0, named: {} })
    if (own.count >= Number(values.most)) continue
    const sentence = opening(tag, text, words)
    if (sentence === null) continue
    own.count++
    const { language, probabilities } = identify(sentence)
    const [best] = [...probabilities.keys()]
    if (best !== undefined && right(best, tag)) own.forced++
    if (best !== undefined && (right(best, tag) || isConfusable(best, base(tag)))) own.group++
    if (language !== null) own.answered++
    if (language !== null && right(language, tag)) own.right++
    else own.named[language ?? 'null'] = (own.named[language ?? 'null'] ?? 0) + 1
    const told = identify(sentence, { candidates: [...new Set([...sixteen, base(tag)])] }).language
    if (told !== null && right(told, tag)) own.expected++
  }
  const languages = {}
  const sums = {}
  for (const [tag, { count, forced, answered, right: hits, group, expected, named }] of Object.entries(per)) {
    if (count < 5) continue
    const kind = known.has(base(tag)) ? 'known' : 'unknown'
    const sum = (sums[kind] ??= { languages: 0, count: 0, forced: 0, answered: 0, right: 0, group: 0, expected: 0 })
    sum.languages++
    for (const [field, value] of Object.entries({ count, forced, answered, right: hits, group, expected }))
      sum[field] += value
    const mistakes = Object.fromEntries(
      Object.entries(named)
        .sort((a, b) => b[1] - a[1])
        .slice(0, 3),
    )
    languages[tag] = {
      count,
      best: round(forced / count),
      answered: round(answered / count),
      precision: round(hits / answered),
      right: round(hits / count),
      group: round(group / count),
      expected: round(expected / count),
      ...(Object.keys(mistakes).length > 0 && { mistakes }),
      ...(kind === 'unknown' && { unknown: true }),
    }
  }
  const summary = Object.fromEntries(
    Object.entries(sums).map(([kind, s]) => [
      kind,
      {
        languages: s.languages,
        sentences: s.count,
        best: round(s.forced / s.count),
        answered: round(s.answered / s.count),
        precision: round(s.right / s.answered),
        right: round(s.right / s.count),
        group: round(s.group / s.count),
        expected: round(s.expected / s.count),
      },
    ]),
  )
  result.words[words] = { ...summary, perLanguage: languages }
  console.log(words, 'words', JSON.stringify(summary))
}
// Code-switching: five words of one sentence and five of another, told word by word.
const identifySpans = createSpanIdentifier(identifiers)
const ofLanguage = (tag) =>
  rows.filter((row) => row[0] === tag && (row[1] % 2 ? 'report' : 'tune') === values.half).map((row) => row[2])
result.switching = {}
for (const [first, second] of [
  ['es', 'en'],
  ['hi', 'en'],
  ['ar', 'en'],
  ['ja', 'en'],
  ['sw', 'en'],
  ['fr', 'de'],
  ['ru', 'uk'],
]) {
  const parts = [first, second].map((tag) =>
    ofLanguage(tag)
      .map((text) => opening(tag, text, 5))
      .filter(Boolean),
  )
  const figures = {}
  for (const [name, candidates] of [
    ['pair', [first, second]],
    ['seventeen', [...new Set([first, second, ...sixteen])].slice(0, 17)],
    ['none', undefined],
  ]) {
    let letters = 0
    let hits = 0
    for (let i = 0; i < Math.min(100, parts[0].length, parts[1].length); i++) {
      const text = `${parts[0][i]} ${parts[1][i]}`
      const border = parts[0][i].length
      for (const span of identifySpans(text, { candidates })) {
        for (let at = span.start; at < span.end; at++) {
          if (!/\p{L}/u.test(text[at])) continue
          letters++
          if (span.language !== null && base(span.language) === (at < border ? first : second)) hits++
        }
      }
    }
    figures[name] = round(hits / letters)
  }
  result.switching[`${first}-${second}`] = figures
}
console.log('switching', JSON.stringify(result.switching))
const texts = rows
  .filter(([tag, key]) => known.has(base(tag)) && key % 2)
  .map(([tag, , text]) => opening(tag, text, 10))
  .filter(Boolean)
for (const text of texts.slice(0, 500)) identify(text)
const start = performance.now()
for (const text of texts.slice(0, 4000)) identify(text)
result.cost = {
  loadMs: Math.round(loadMs),
  microsecondsPerCallOf10Words: Math.round((1000 * (performance.now() - start)) / Math.min(texts.length, 4000)),
  rssMb: Math.round((process.memoryUsage().rss - before.rss) / 1e6),
}
console.log(JSON.stringify(result.cost))
if (values.out)
  writeFileSync(
    values.out,
    `${JSON.stringify({ command: 'node benchmarks/language-id.mjs --sentences /tmp/language-sentences.json --out benchmarks/results/language-id.json', sentences: 'tools/fixtures/language-sentences.py on vlc-l10n 3.0.24, evolution-common 3.46.4, gnome-control-center-data 43.6, aptitude-common 0.8.13 of Debian 12', node: process.version, columns: 'percent: best = the likeliest is right; answered; precision = right of the answered; right = right of all; group = best is right or in its confusable group; expected = right of all with the language and 16 others as candidates', ...result }, null, 1)}\n`,
  )
