import { z } from 'zod'
import { PairTable } from './pair-table.js'
import type { TokenModel, Vocabulary } from './token-model.js'

export const unigramSchema = z.looseObject({ byte_fallback: z.boolean().nullish() })

// What an unknown character costs beyond the least probable token (SentencePiece's kUnkPenalty).
const unknownPenalty = 10
const utf8 = new TextEncoder()

/**
 * The unigram language model of SentencePiece (Kudo 2018, https://aclanthology.org/P18-1007): of all ways to spell a piece
 * the one with the greatest sum of scores, by Viterbi's algorithm. Linear in the piece's length.
 */
export function createUnigram(config: z.infer<typeof unigramSchema>, vocabulary: Vocabulary): TokenModel {
  const { idOf, unknown } = vocabulary
  const scores = vocabulary.scores ?? []
  const unknownScore = scores.reduce((least, score) => Math.min(least, score), Infinity) - unknownPenalty
  const trie = trieOf(idOf)
  const bytes = config.byte_fallback
    ? Array.from({ length: 256 }, (_, byte) => idOf.get(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`))
    : undefined

  const spellUnknown = (text: string): number[] => {
    const fallback = bytes && Array.from(utf8.encode(text), (byte) => bytes[byte])
    if (fallback && !fallback.includes(undefined)) return fallback as number[]
    return unknown === undefined ? [] : [unknown]
  }

  return {
    encode(piece) {
      const length = piece.length
      // For each end in the piece: the best score of a way there, where its last token starts, and that token (-1: unknown).
      const best = new Float64Array(length + 1)
      const starts = new Int32Array(length + 1).fill(-1)
      const tokens = new Int32Array(length + 1)
      const offer = (start: number, end: number, score: number, token: number): void => {
        const total = best[start] + score
        if (starts[end] >= 0 && total <= best[end]) return
        best[end] = total
        starts[end] = start
        tokens[end] = token
      }
      for (let start = 0; start < length;) {
        const next = start + ((piece.codePointAt(start) as number) > 0xffff ? 2 : 1)
        let single = false
        for (let node = 0, end = start; end < length;) {
          node = trie.next.get(node, piece.charCodeAt(end++))
          if (node < 0) break
          const token = trie.tokens[node]
          if (token < 0) continue
          offer(start, end, scores[token], token)
          if (end === next) single = true
        }
        if (!single) offer(start, next, unknownScore, -1)
        start = next
      }
      const ids: number[] = []
      for (let end = length; end > 0;) {
        let start = starts[end]
        if (tokens[end] >= 0) ids.push(tokens[end])
        else {
          // A run of unknown characters is one token.
          while (start > 0 && tokens[start] < 0) start = starts[start]
          ids.push(...spellUnknown(piece.slice(start, end)).reverse())
        }
        end = start
      }
      return ids.reverse()
    },
  }
}

/** The vocabulary as a tree of UTF-16 code units; node 0 is its root, `tokens` has the id that ends at a node, or -1. */
function trieOf(idOf: ReadonlyMap<string, number>): { next: PairTable; tokens: number[] } {
  const next = new PairTable(idOf.size)
  const tokens = [-1]
  for (const [token, id] of idOf) {
    let node = 0
    for (let i = 0; i < token.length; i++) {
      const unit = token.charCodeAt(i)
      let child = next.get(node, unit)
      if (child < 0) {
        child = tokens.length
        tokens.push(-1)
        next.set(node, unit, child)
      }
      node = child
    }
    tokens[node] = id
  }
  return { next, tokens }
}
