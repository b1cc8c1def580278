import { z } from 'zod'
import { PairHeap } from './pair-heap.js'
import { PairTable } from './pair-table.js'
import type { TokenModel, Vocabulary } from './token-model.js'

export const bpeSchema = z.looseObject({
  // Half a million of them: checked by hand.
  merges: z
    .custom<readonly (string | readonly [string, string])[]>(
      isMerges,
      'expected pairs of tokens, as "a b" or ["a", "b"]',
    )
    .default([]),
  continuing_subword_prefix: z.string().nullish(),
  end_of_word_suffix: z.string().nullish(),
  fuse_unk: z.boolean().nullish(),
  byte_fallback: z.boolean().nullish(),
  ignore_merges: z.boolean().nullish(),
})

// Up to here looking at every pair for each merge is faster than keeping a heap of them.
const shortWord = 24
const utf8 = new TextEncoder()

/**
 * Byte-pair encoding (Sennrich et al. 2016, https://aclanthology.org/P16-1162): of the neighbouring pairs of a piece the
 * one that was learned first is merged, the leftmost of equals, until no pair is known. O(n log n) in the piece's length.
 */
export function createBpe(config: z.infer<typeof bpeSchema>, vocabulary: Vocabulary): TokenModel {
  const { idOf, unknown } = vocabulary
  const prefix = config.continuing_subword_prefix ?? ''
  const suffix = config.end_of_word_suffix ?? ''
  const merges = config.merges.map((merge) => (typeof merge === 'string' ? splitMerge(merge) : merge))
  const ranks = new PairTable(merges.length)
  const merged = new Int32Array(merges.length)
  merges.forEach(([left, right], rank) => {
    const [a, b] = [idOf.get(left), idOf.get(right)]
    // The result of a merge that spells a special token is not in the vocabulary of plain text.
    const result = idOf.get(left + right.slice(prefix.length))
    if (a === undefined || b === undefined || result === undefined) return
    ranks.set(a, b, rank)
    merged[rank] = result
  })
  const bytes = config.byte_fallback ? byteTokens(idOf) : undefined

  /** One symbol for each character; characters the vocabulary lacks become bytes or the unknown token. */
  const symbolsOf = (piece: string): number[] => {
    const symbols: number[] = []
    let unknownRun = false
    let at = 0
    for (const character of piece) {
      const start = at
      at += character.length
      const name = (start > 0 ? prefix : '') + character + (at === piece.length ? suffix : '')
      const id = idOf.get(name)
      const fallback = id === undefined && bytes ? Array.from(utf8.encode(name), (byte) => bytes[byte]) : undefined
      if (id !== undefined) symbols.push(id)
      else if (fallback && !fallback.includes(undefined)) symbols.push(...(fallback as number[]))
      else if (unknown !== undefined) {
        if (!unknownRun || !config.fuse_unk) symbols.push(unknown)
        unknownRun = true
        continue
      }
      unknownRun = false
    }
    return symbols
  }
  const merge = (piece: string): number[] => {
    const symbols = symbolsOf(piece)
    return symbols.length <= shortWord ? mergeShort(symbols, ranks, merged) : mergeLong(symbols, ranks, merged)
  }
  const whole = (piece: string): number | undefined => (config.ignore_merges ? idOf.get(piece) : undefined)
  const encode = (piece: string): readonly number[] => {
    const id = whole(piece)
    return id === undefined ? merge(piece) : [id]
  }
  const joints = prefix === '' && suffix === '' && !bytesMerge(merges) ? lazily(() => jointsOf(merges)) : undefined
  return {
    encode,
    split: joints && ((piece) => (whole(piece) === undefined ? cutWhereNothingMerges(piece, joints()) : [piece])),
    fuses: config.fuse_unk ? unknown : undefined,
  }
}

function isMerges(value: unknown): boolean {
  const isMerge = (merge: unknown): boolean =>
    typeof merge === 'string'
      ? merge.includes(' ')
      : Array.isArray(merge) && merge.length === 2 && merge.every((token) => typeof token === 'string')
  return Array.isArray(value) && value.every(isMerge)
}

function splitMerge(merge: string): [string, string] {
  const space = merge.indexOf(' ')
  return [merge.slice(0, space), merge.slice(space + 1)]
}

function byteTokens(idOf: ReadonlyMap<string, number>): (number | undefined)[] {
  return Array.from({ length: 256 }, (_, byte) => idOf.get(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`))
}

function bytesMerge(merges: readonly (readonly string[])[]): boolean {
  return merges.some((pair) => pair.some((token) => token.length === 6 && /^<0x[0-9A-F]{2}>$/.test(token)))
}

function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/** The characters that some merge puts beside each other: the last of its left side and the first of its right side. */
function jointsOf(merges: readonly (readonly [string, string])[]): PairTable {
  const joints = new PairTable(4096)
  for (const [left, right] of merges) joints.set(lastCodePoint(left), right.codePointAt(0) as number, 1)
  return joints
}

function lastCodePoint(text: string): number {
  const last = text.charCodeAt(text.length - 1)
  const isPair = (last & 0xfc00) === 0xdc00 && text.length > 1
  return isPair ? (text.codePointAt(text.length - 2) as number) : last
}

/**
 * Cuts a long piece between characters that no merge joins, which changes nothing in the result: SentencePiece
 * vocabularies take the whole text as one piece, and so its words can be remembered.
 */
function cutWhereNothingMerges(piece: string, joints: PairTable): string[] {
  const parts: string[] = []
  let start = 0
  let before = -1
  for (let i = 0; i < piece.length;) {
    const code = piece.codePointAt(i) as number
    if (before >= 0 && joints.get(before, code) < 0) {
      parts.push(piece.slice(start, i))
      start = i
    }
    before = code
    i += code > 0xffff ? 2 : 1
  }
  if (start < piece.length) parts.push(piece.slice(start))
  return parts
}

function mergeShort(symbols: number[], ranks: PairTable, merged: Int32Array): number[] {
  for (;;) {
    let best = -1
    let bestRank = 0x7fffffff
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = ranks.get(symbols[i], symbols[i + 1])
      if (rank >= 0 && rank < bestRank) {
        bestRank = rank
        best = i
      }
    }
    if (best < 0) return symbols
    symbols[best] = merged[bestRank]
    symbols.splice(best + 1, 1)
  }
}

function mergeLong(symbols: number[], ranks: PairTable, merged: Int32Array): number[] {
  const length = symbols.length
  const next = Int32Array.from(symbols, (_, i) => i + 1)
  const previous = Int32Array.from(symbols, (_, i) => i - 1)
  // The heap gives the highest count first and of equals the smallest key: the lowest rank, the leftmost position.
  const heap = new PairHeap()
  const push = (i: number): void => {
    if (i < 0 || next[i] >= length) return
    const rank = ranks.get(symbols[i], symbols[next[i]])
    if (rank >= 0) heap.push(-rank, i)
  }
  for (let i = 0; i + 1 < length; i++) push(i)
  for (let top = heap.pop(); top !== null; top = heap.pop()) {
    const i = top.key
    const j = next[i]
    // Entries of pairs that are no more are passed over; symbols merged away are -1, which no pair has.
    if (symbols[i] < 0 || j >= length || ranks.get(symbols[i], symbols[j]) !== -top.count) continue
    symbols[i] = merged[-top.count]
    symbols[j] = -1
    next[i] = next[j]
    if (next[i] < length) previous[next[i]] = i
    push(previous[i])
    push(i)
  }
  return symbols.filter((symbol) => symbol >= 0)
}
