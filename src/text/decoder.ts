import type { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import { tokenBytes } from './byte-level.js'
import type { SpecialToken } from './tokenizer.js'

/** The way from ids to text. Byte-level vocabularies need no more than a table of bytes; others are the library's work. */
export function createDecoder(
  library: HuggingFaceTokenizer,
  decoder: { type: string } | null | undefined,
  tokenOf: ReadonlyMap<number, string>,
  specials: ReadonlyMap<string, SpecialToken>,
  plainAdded: readonly { id: number; content: string }[],
): (tokens: readonly number[]) => string {
  const specialIds = new Set(Array.from(specials.values(), (token) => token.id))
  if (decoder?.type !== 'ByteLevel')
    return (tokens) => {
      const plain = tokens.filter((id) => !specialIds.has(id) && tokenOf.has(id))
      return plain.length === 0 ? '' : library.decode(plain)
    }

  const utf8 = new TextEncoder()
  const added = new Map(plainAdded.map((token) => [token.id, token.content]))
  const bytesOf: (Uint8Array | undefined)[] = []
  for (const [id, token] of tokenOf) {
    if (specialIds.has(id)) continue
    const content = added.get(id)
    bytesOf[id] = content === undefined ? (tokenBytes(token) ?? utf8.encode(token)) : utf8.encode(content)
  }
  // ignoreBOM: a text that begins with U+FEFF keeps it.
  const text = new TextDecoder('utf-8', { ignoreBOM: true })
  return (tokens) => {
    let length = 0
    for (const id of tokens) length += bytesOf[id]?.length ?? 0
    const bytes = new Uint8Array(length)
    let end = 0
    for (const id of tokens) {
      const piece = bytesOf[id]
      if (piece === undefined) continue
      bytes.set(piece, end)
      end += piece.length
    }
    return text.decode(bytes)
  }
}
