import { createFindAdded, type Added } from './added-tokens.js'
import { toByteSymbols } from './byte-level.js'
import { createNormalizer } from './normalizers.js'
import { createPreTokenizer, type PreTokenizer } from './pre-tokenizers.js'
import type { TokenModel } from './token-model.js'

// Enough for the words of a run; a language model's rollouts repeat themselves.
const cachedWords = 65_536
const cachedWordLength = 64
const cachedTexts = 8_192
const cachedTextLength = 64
// Longer pieces are whole texts, which are cut where that is known to change nothing.
const longPiece = 24

/** What of a tokenizer.json the way from text to ids needs. */
export interface EncoderSource {
  normalizer?: Readonly<Record<string, unknown>> | null
  pre_tokenizer?: Readonly<Record<string, unknown>> | null
}

/** Ids of a text. `atStart` false: the text goes on after something else, so no space is put before it ("first"). */
export type Encode = (text: string, atStart: boolean) => number[]

/**
 * The way from text to ids in the order Hugging Face's tokenizers go it: added tokens are found; what lies between is
 * normalized, split into pieces, and each piece encoded by the model. Words and short texts are remembered, as this is in the
 * rollout loop.
 */
export function createEncoder(source: EncoderSource, added: readonly Added[], model: TokenModel): Encode {
  const normalize = createNormalizer(source.normalizer)
  const preTokenizer = createPreTokenizer(source.pre_tokenizer)
  const findRaw = createFindAdded(added.filter((token) => !token.normalized))
  const findNormalized = createFindAdded(
    added.filter((token) => token.normalized),
    normalize,
  )
  const encodeWord = createWordEncoder(preTokenizer, model)

  return cached((text, atStart) => {
    const ids: number[] = []
    for (const raw of findRaw(text, atStart)) {
      if (typeof raw === 'number') {
        ids.push(raw)
        continue
      }
      const normalized = normalize(raw.text)
      for (const part of findNormalized(normalized, raw.atStart)) {
        if (typeof part === 'number') ids.push(part)
        else if (part.text !== '')
          for (const word of preTokenizer.split({ words: [part.text], atStart: part.atStart }).words)
            encodeWord(word, ids)
      }
    }
    return ids
  })
}

/** Appends a piece's ids. */
function createWordEncoder(preTokenizer: PreTokenizer, model: TokenModel): (word: string, ids: number[]) => void {
  const words = new Map<string, readonly number[]>()
  const idsOf = (word: string): readonly number[] => {
    const known = words.get(word)
    if (known !== undefined) return known
    const ids = model.encode(preTokenizer.toBytes ? toByteSymbols(word) : word)
    if (word.length > cachedWordLength) return ids
    if (words.size >= cachedWords) words.clear()
    words.set(word, ids)
    return ids
  }
  const append = (word: string, ids: number[], from: number): void => {
    const found = idsOf(word)
    const fused =
      model.fuses !== undefined && ids.length > from && ids.at(-1) === model.fuses && found[0] === model.fuses
    for (let i = fused ? 1 : 0; i < found.length; i++) ids.push(found[i])
  }
  const { split } = model
  return (word, ids) => {
    const from = ids.length
    if (!split || preTokenizer.toBytes || word.length <= longPiece) append(word, ids, from)
    else for (const part of split(word)) append(part, ids, from)
  }
}

/** Remembers short texts: separators of a chat format, moves, numbers. */
function cached(encode: Encode): Encode {
  const [starting, following] = [new Map<string, readonly number[]>(), new Map<string, readonly number[]>()]
  return (text, atStart) => {
    if (text.length === 0) return []
    if (text.length > cachedTextLength) return encode(text, atStart)
    const texts = atStart ? starting : following
    let ids = texts.get(text)
    if (ids === undefined) {
      ids = encode(text, atStart)
      if (texts.size >= cachedTexts) texts.clear()
      texts.set(text, ids)
    }
    return [...ids]
  }
}
