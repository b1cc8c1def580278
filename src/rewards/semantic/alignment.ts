import { MyriadError } from '../../core/index.js'
import { readable } from './embedder.js'
import { type TextModel } from './text-model.js'
import type { TokenRow } from './special-tokens.js'
import { cosine, dot, type Vector } from './vectors.js'

/** Word `source` of one text and word `reply` of the other say the same. */
export interface Link {
  source: number
  reply: number
}

export const ALIGNMENTS = ['argmax', 'softmax'] as const

export interface AlignmentOptions {
  /**
   * `argmax`: tokens that are each other's nearest by cosine (SimAlign, arXiv 2004.08728). `softmax`: those whose probability is
   * over the threshold in both directions, of a softmax over dot products (awesome-align, arXiv 2101.08231) ('argmax').
   */
  method?: (typeof ALIGNMENTS)[number]
  /** Of `argmax` the least cosine of a link (0); of `softmax` the least probability in both directions (0.001). */
  threshold?: number
}

/**
 * Links between tokens by their states; ties go to the first.
 *
 * @param source and reply: vectors of tokens, special ones left out
 */
export function alignTokens(
  source: readonly Vector[],
  reply: readonly Vector[],
  options: AlignmentOptions = {},
): Link[] {
  if (source.length === 0 || reply.length === 0) return []
  if (options.method === 'softmax') {
    const scores = source.map((a) => reply.map((b) => dot(a, b)))
    const forth = scores.map(softmax)
    const back = transposed(transposed(scores).map(softmax))
    const { threshold = 0.001 } = options
    return links(scores, (i, j) => forth[i][j] > threshold && back[i][j] > threshold)
  }
  const scores = source.map((a) => reply.map((b) => cosine(a, b)))
  const best = scores.map(indexOfLargest)
  const bestBack = transposed(scores).map(indexOfLargest)
  const { threshold = 0 } = options
  return links(scores, (i, j) => best[i] === j && bestBack[j] === i && scores[i][j] >= threshold)
}

function links(scores: readonly (readonly number[])[], holds: (i: number, j: number) => boolean): Link[] {
  return scores.flatMap((row, i) => row.flatMap((_, j) => (holds(i, j) ? [{ source: i, reply: j }] : [])))
}

function softmax(row: readonly number[]): number[] {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity)
  const powers = row.map((value) => Math.exp(value - largest))
  const total = powers.reduce((a, b) => a + b, 0)
  return powers.map((power) => power / total)
}

function indexOfLargest(row: readonly number[]): number {
  return row.reduce((best, value, i) => (value > row[best] ? i : best), 0)
}

function transposed(rows: readonly (readonly number[])[]): number[][] {
  return rows[0].map((_, j) => rows.map((row) => row[j]))
}

const longest = 20_000

/** A word, and whether white space stands before it (or it is the first). */
export interface Word {
  text: string
  spaced: boolean
}

/**
 * Words of a text by Unicode's rules and, for scripts without spaces, ICU's dictionaries (Intl.Segmenter); punctuation and
 * white space are none. Of a text the first 20,000 UTF-16 units count.
 *
 * @example alignableWords('你好，世界').map(({ text }) => text) // ['你好', '世界']
 */
export function alignableWords(text: string, language = 'und'): Word[] {
  const words: Word[] = []
  let spaced = true
  for (const { segment, isWordLike } of segmenterOf(language).segment(readable(text, longest))) {
    if (isWordLike) words.push({ text: segment, spaced })
    spaced = !isWordLike && /\s$/u.test(segment)
  }
  return words
}

function segmenterOf(language: string): Intl.Segmenter {
  try {
    return new Intl.Segmenter(language, { granularity: 'word' })
  } catch (error) {
    if (error instanceof RangeError) return new Intl.Segmenter('und', { granularity: 'word' })
    throw error
  }
}

/** How much of either text has a counterpart in the other. */
export interface Coverage {
  /** Share of the source's words that are linked, in [0, 1]: what is missing was left out. */
  source: number
  /** Share of the reply's words that are linked, in [0, 1]: what is missing was added. */
  reply: number
  links: readonly Link[]
  sourceWords: readonly string[]
  replyWords: readonly string[]
}

/** Coverage out of links between words. A side without words is covered when the other has none either. */
export function coverageOf(
  links: readonly Link[],
  sourceWords: number,
  replyWords: number,
): Pick<Coverage, 'source' | 'reply'> {
  const share = (linked: number, words: number, others: number): number =>
    words === 0 ? Number(others === 0) : linked / words
  return {
    source: share(new Set(links.map(({ source }) => source)).size, sourceWords, replyWords),
    reply: share(new Set(links.map(({ reply }) => reply)).size, replyWords, sourceWords),
  }
}

/** F1 of the two shares: 0 where either is 0. */
export function coverageF1({ source, reply }: Pick<Coverage, 'source' | 'reply'>): number {
  return source + reply === 0 ? 0 : (2 * source * reply) / (source + reply)
}

/** What is to be aligned. Languages are BCP 47 and help to find words. */
export interface AlignmentPair {
  source: string
  reply: string
  sourceLanguage?: string
  replyLanguage?: string
}

/**
 * Aligns the words of sources and replies by the states of an encoder of many languages and tells what has no counterpart: the
 * holes through which estimators of quality let omissions and additions pass (WALAR). Words are linked when any of their tokens
 * are. Words past what the model can read are not counted.
 *
 * @param options.layer 8, where mBERT's and XLM-R's words align best; the last where there are fewer
 * @throws MyriadError 'usage' for a decoder: its tokens do not see what follows
 * @example const [{ source, reply }] = await alignWords(model, [{ source: 'the red house', reply: 'la maison' }])
 */
export async function alignWords(
  model: TextModel,
  pairs: readonly AlignmentPair[],
  options: AlignmentOptions & { layer?: number } = {},
): Promise<Coverage[]> {
  if (model.kind !== 'encoder')
    throw new MyriadError('usage', `${model.name} is a decoder; words are aligned by the states of an encoder`)
  const layer = options.layer ?? Math.min(8, model.layers)
  const texts = pairs.flatMap(({ source, reply, sourceLanguage, replyLanguage }) => [
    tokenized(model, alignableWords(source, sourceLanguage)),
    tokenized(model, alignableWords(reply, replyLanguage)),
  ])
  const filled = texts.filter(({ row }) => row.ids.length > 0)
  const states = await model.states(
    filled.map(({ row }) => row),
    layer,
  )
  const vectors = new Map(filled.map((text, i) => [text, tokensOf(states[i], model.dimension, text)]))
  return pairs.map((_, k) => {
    const [source, reply] = [texts[2 * k], texts[2 * k + 1]]
    const between = alignTokens(vectors.get(source) ?? [], vectors.get(reply) ?? [], options)
    const unique = new Map<string, Link>()
    for (const link of between) {
      const words = { source: source.wordOf[link.source], reply: reply.wordOf[link.reply] }
      unique.set(`${words.source} ${words.reply}`, words)
    }
    const found = [...unique.values()]
    return {
      ...coverageOf(found, source.words.length, reply.words.length),
      links: found,
      sourceWords: source.words,
      replyWords: reply.words,
    }
  })
}

interface TokenizedWords {
  words: string[]
  row: TokenRow
  /** Place of the first token that is no special one. */
  from: number
  /** Of each token, special ones left out, the index of its word. */
  wordOf: number[]
}

/** Each word is encoded by itself, so that it is known whose every token is. */
function tokenized(model: TextModel, all: readonly Word[]): TokenizedWords {
  const room = model.contextLength - model.specials.single
  const ids: number[] = []
  const wordOf: number[] = []
  const words: string[] = []
  for (const [i, { text, spaced }] of all.entries()) {
    // Byte-level vocabularies write the space in front into the word.
    const own = !spaced
      ? model.tokenizer.encodeAfter(text)
      : model.tokenizer.encode(i > 0 && spacedTokens(model) ? ` ${text}` : text)
    if (ids.length + own.length > room) break
    for (const id of own) {
      ids.push(id)
      wordOf.push(words.length)
    }
    words.push(text)
  }
  const wrapped = model.specials.wrap(ids)
  return { words, row: wrapped, from: wrapped.from, wordOf }
}

function spacedTokens({ tokenizer }: TextModel): boolean {
  return tokenizer.idOf('Ġ') !== undefined || tokenizer.idOf('Ġa') !== undefined
}

function tokensOf(states: Float32Array, dimension: number, { from, wordOf }: TokenizedWords): Vector[] {
  return wordOf.map((_, i) => states.subarray((from + i) * dimension, (from + i + 1) * dimension))
}
