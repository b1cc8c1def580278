import { z } from 'zod'
import type { TokenModel, Vocabulary } from './token-model.js'

export const wordPieceSchema = z.looseObject({
  continuing_subword_prefix: z.string().nullish(),
  max_input_chars_per_word: z.int().positive().nullish(),
})

/**
 * WordPiece as BERT uses it: the longest token the word begins with, then the longest that goes on, and so forth. A word
 * that cannot be spelled so, or is longer than 100 characters, is one unknown token.
 */
export function createWordPiece(config: z.infer<typeof wordPieceSchema>, vocabulary: Vocabulary): TokenModel {
  const { idOf, unknown } = vocabulary
  const prefix = config.continuing_subword_prefix ?? '##'
  const longest = config.max_input_chars_per_word ?? 100
  // No token is longer, in characters, than the longest is in code units.
  let reach = 0
  for (const token of idOf.keys()) reach = Math.max(reach, token.length)
  const unspellable = unknown === undefined ? [] : [unknown]
  return {
    encode(word) {
      const characters = Array.from(word)
      if (characters.length > longest) return unspellable
      const ids: number[] = []
      for (let start = 0; start < characters.length;) {
        let end = Math.min(characters.length, start + reach)
        let id: number | undefined
        for (; end > start; end--) {
          id = idOf.get((start > 0 ? prefix : '') + characters.slice(start, end).join(''))
          if (id !== undefined) break
        }
        if (id === undefined) return unspellable
        ids.push(id)
        start = end
      }
      return ids
    },
  }
}
