import { foldMarks } from './locale.js'

/** How an answer was marked: the first of these that a reply has is used. */
export type AnswerMark = 'boxed' | 'tag' | 'hashes' | 'cue' | 'field' | 'whole' | 'last line'

export interface ExtractedAnswers {
  mark: AnswerMark
  /** In order. Several where the reply marks several. */
  texts: readonly string[]
}

/** Most code units of a reply that are read: its end, where answers stand. */
export const MOST_READ = 100_000
/** Most code units of one answer. */
export const MOST_ANSWER = 4000
const MOST_ANSWERS = 50

// Words before an answer, by language of the reply; a reply in any language may use any of them.
const spacedCues = [
  'the final answer|final answer|the correct (?:answer|option|choice)|correct answer|the answer|answer', // English
  'la respuesta (?:final|correcta)|la respuesta|respuesta', // Spanish
  'jibu sahihi|jibu', // Swahili
  'ìdáhùn|idahun', // Yoruba
  'правильный ответ|окончательный ответ|ответ', // Russian
  'الإجابة الصحيحة|الإجابة النهائية|الجواب النهائي|الإجابة|الاجابة|الجواب', // Arabic
  'सही उत्तर|अंतिम उत्तर|उत्तर|जवाब', // Hindi
  'la réponse|réponse|die antwort|antwort|a resposta|resposta|la risposta|risposta|het antwoord', // French, German, Portuguese, Italian, Dutch
  'odpowiedź|odpověď|svar|svaret|vastaus|válasz|răspuns(?:ul)?|cevap|yanıt|відповідь|απάντηση|jawaban|jawapan',
  'đáp án|câu trả lời|উত্তর|پاسخ|جواب|תשובה|התשובה|பதில்|விடை|సమాధానం|ઉત્તર|ਉੱਤਰ|ഉത്തരം|ಉತ್ತರ|መልስ|amsa|azịza|impendulo',
].join('|')
// Scripts without spaces, or with particles before: Japanese, Chinese, Korean, Thai.
const joinedCues = '最終的な答え|正解|答え|解答|回答|最终答案|正确答案|答案|최종 답|정답|답|คำตอบ'
// What may name a step as well: only where no answer is named.
const weakCues =
  'the result|result|option|choice|resultado|opción|matokeo|вариант|результат|الخيار|النتيجة|विकल्प|परिणाम|résultat|ergebnis|lösung|risultato|wynik'
const joinedWeakCues = '選項|选项|選択肢|結果|结果|결과'
const lettered = 'is the letter|is|are|es|son|est|ist|lautet|é|è|ni|jẹ́|là|adalah|ialah|este|är|er|wynosi|равен|равно'
const unlettered = 'هي|هو|है|は、|は|が|是|为|為|은|는|이|คือ|হল'

/** Cues with what links them to an answer: a copula, a colon; or, behind a cue, a number or label that ends the line. */
function cuePattern(spaced: string, joined: string): RegExp {
  const letter = '\\p{Script=Latin}\\p{Script=Cyrillic}\\p{M}'
  const copula = `(?:(?:${lettered})(?![\\p{L}\\p{M}])|(?:${unlettered})(?!\\p{M}))[*_ ]{0,4}(?:[:：][*_ ]{0,4})?`
  const number = `(?=[(\\[]?[-$\\\\]?\\p{Nd}[^\\n]{0,24}(?:$|\\n))`
  const label = `(?=[(\\[]?[A-Z][)\\]]?[.。]?\\s{0,20}(?:$|\\n))`
  return new RegExp(
    `(?:(?<![\\p{L}\\p{M}])[وف]?(?:${spaced})(?![${letter}])|(?:${joined}))[*_ ]{0,4}(?:${copula}|[:：=][*_ ]{0,4}|${number}|${label})`,
    'giu',
  )
}

const strongPattern = cuePattern(spacedCues, joinedCues)
const weakPattern = cuePattern(weakCues, joinedWeakCues)

const copulas = /(?:です|だ|である|でございます|입니다|이다|예요|이에요|है|हैं|हूँ)$/u
const quotes = /^["“”„«»‘`*_\s]+|["“”„«»’`*_\s]+$/gu

/** A stated answer without the marks around it: bold, quotes, a final full stop or copula, dollar signs. */
export function trimAnswer(text: string): string {
  let trimmed = text.trim()
  // Nothing longer is an answer, and runs of white space would cost their square.
  if (trimmed.length > MOST_ANSWER) return trimmed
  for (let round = 0; round < 4; round++) {
    const before = trimmed
    trimmed = trimmed
      .replace(quotes, '')
      .replace(/(?:[\s.。।۔։።！]|(?<![\p{Nd})\]}]|(?<!\p{L})\p{L})!)+$/u, '')
      .replace(copulas, '')
      .trim()
    // A prime at the end is no quote.
    if (trimmed.length > 1 && trimmed.startsWith("'") && trimmed.endsWith("'")) trimmed = trimmed.slice(1, -1)
    if (/^\$\$?[^$]+\$\$?$/.test(trimmed)) trimmed = trimmed.replace(/^\$+|\$+$/g, '')
    if (trimmed === before) break
  }
  return trimmed
}

/**
 * What a reply gives as its answer: `\boxed{}`, `<answer>`, `####`, "Answer:" in some thirty languages, the field of a JSON
 * reply, else all of a reply of one line, else its last line. What stands before `</think>` is left out; a reply whose
 * thinking never ends gives no answer. Linear in the length of the reply, of which the last 100,000 code units are read.
 *
 * @example extractAnswers('So it is \\boxed{\\frac{1}{2}}.') // { mark: 'boxed', texts: ['\\frac{1}{2}'] }
 */
export function extractAnswers(reply: string): ExtractedAnswers {
  const said = withoutThinking(reply.slice(-MOST_READ))
  if (said === null || said.trim() === '') return { mark: 'whole', texts: [] }
  const marked =
    found('boxed', boxedIn(said)) ??
    found('tag', tagged(said)) ??
    found(
      'hashes',
      [...said.matchAll(/^[ \t]*####[ \t]*(\S[^\n]*)$/gm)].map(([, text]) => text),
    ) ??
    found('cue', cued(said, strongPattern)) ??
    found('cue', cued(said, weakPattern)) ??
    found('field', fieldOf(said))
  if (marked) return marked
  const lines = said.split('\n').filter((line) => /[\p{L}\p{N}\p{S}\\∅{[]/u.test(line))
  if (lines.length <= 1) return { mark: 'whole', texts: [said.trim().slice(-MOST_ANSWER)] }
  return { mark: 'last line', texts: [trimAnswer(lines[lines.length - 1].slice(-MOST_ANSWER))] }
}

/** Without its thinking; null when that never ends. */
export function withoutThinking(text: string): string | null {
  const closed = text.lastIndexOf('</think>')
  const rest = closed < 0 ? text : text.slice(closed + '</think>'.length)
  return rest.includes('<think>') ? null : rest
}

function found(mark: AnswerMark, texts: readonly string[]): ExtractedAnswers | null {
  return texts.length === 0 ? null : { mark, texts: texts.slice(-MOST_ANSWERS).map(trimAnswer) }
}

function boxedIn(text: string): string[] {
  const inside: string[] = []
  const opening = /\\(?:boxed|fbox)\s*(?:\{|([\p{L}\p{Nd}]))/gu
  for (let match = opening.exec(text); match; match = opening.exec(text)) {
    if (match[1] !== undefined) {
      inside.push(match[1])
      continue
    }
    const start = match.index + match[0].length
    const end = closing(text, start)
    if (end < 0) continue
    inside.push(text.slice(start, end))
    opening.lastIndex = end
  }
  return inside
}

/** Where the brace that is open at `start` closes; -1 when it does not within the length of an answer. */
function closing(text: string, start: number): number {
  let depth = 1
  const limit = Math.min(text.length, start + MOST_ANSWER)
  for (let at = start; at < limit; at++) {
    const character = text[at]
    if (character === '\\') at++
    else if (character === '{') depth++
    else if (character === '}' && --depth === 0) return at
  }
  return -1
}

function tagged(text: string): string[] {
  const inside: string[] = []
  const opening = /<(?:answer|final_answer|final)>/gi
  const ending = /<\/(?:answer|final_answer|final)>/gi
  for (let match = opening.exec(text); match; match = opening.exec(text)) {
    ending.lastIndex = opening.lastIndex
    const end = ending.exec(text)
    if (!end) break
    inside.push(text.slice(opening.lastIndex, end.index))
    opening.lastIndex = ending.lastIndex
  }
  return inside
}

const sentenceEnd = /[。।۔։።]|[.!！](?=\s|["”»*]*$)|[؟?？]/u

function cued(text: string, pattern: RegExp): string[] {
  const answers: string[] = []
  for (const match of text.matchAll(pattern)) {
    const start = match.index + match[0].length
    const span = text.slice(start, start + MOST_ANSWER)
    const line = (/^[\s*_]*\n+([^\n]+)/.exec(span)?.[1] ?? span.split('\n', 1)[0]).replace(/^[\s:：]+/u, '')
    const end = sentenceEnd.exec(line)
    const answer = trimAnswer(end && end.index > 0 ? line.slice(0, end.index) : line)
    if (answer !== '') answers.push(answer)
  }
  return answers
}

const fieldNames = [
  'answer',
  'final_answer',
  'finalAnswer',
  'result',
  'respuesta',
  'jibu',
  'idahun',
  'ответ',
  'الجواب',
  'उत्तर',
  '答え',
  '答案',
  '답',
]

function fieldOf(text: string): string[] {
  let trimmed = text.trim()
  if (trimmed.startsWith('```') && trimmed.endsWith('```') && trimmed.length > 6)
    trimmed = trimmed.slice(3, -3).replace(/^json/i, '').trim()
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return []
  try {
    const parsed = JSON.parse(trimmed) as Readonly<Record<string, unknown>>
    const name = fieldNames.find((one) => Object.hasOwn(parsed, one))
    const value = name === undefined ? undefined : parsed[name]
    return typeof value === 'string'
      ? [value]
      : typeof value === 'number' || typeof value === 'boolean'
        ? [String(value)]
        : []
  } catch {
    return [] // braces, but no JSON: a set perhaps
  }
}

/** Is this text a stated answer, rather than a reply in which one has to be looked for? */
export function isStated(mark: AnswerMark): boolean {
  return mark !== 'whole' && mark !== 'last line'
}

/** The answer as words are compared. */
export function foldedAnswer(text: string): string {
  return foldMarks(trimAnswer(text.replace(/\\(?:text|mathrm|textbf|mbox)\s*\{([^{}]*)\}/g, '$1')))
}
