import type { Added } from './added-tokens.js'
import { tokenBytes } from './byte-level.js'
import { createDecodeStep, fromUtf8 } from './decoders.js'
import type { SpecialToken } from './tokenizer.js'

/** The way from ids to text; special tokens and ids that do not exist are left out. */
export function createDecoder(
  decoder: Readonly<Record<string, unknown>> | null | undefined,
  tokenOf: ReadonlyMap<number, string>,
  specials: ReadonlyMap<string, SpecialToken>,
  added: readonly Added[],
): (tokens: readonly number[]) => string {
  const specialIds = new Set(Array.from(specials.values(), (token) => token.id))
  if (decoder?.type === 'ByteLevel') return byteLevelDecoder(tokenOf, specialIds, added)
  const step = decoder ? createDecodeStep(decoder) : (tokens: string[]) => [tokens.join(' ')]
  return (tokens) => {
    const written: string[] = []
    for (const id of tokens) {
      const token = tokenOf.get(id)
      if (token !== undefined && !specialIds.has(id)) written.push(token)
    }
    return step(written).join('')
  }
}

/** Byte-level vocabularies need no more than a table of bytes. */
function byteLevelDecoder(
  tokenOf: ReadonlyMap<number, string>,
  specialIds: ReadonlySet<number>,
  added: readonly Added[],
): (tokens: readonly number[]) => string {
  const utf8 = new TextEncoder()
  const addedIds = new Set(added.map((token) => token.id))
  const table: (Uint8Array | undefined)[] = []
  const bytesOf = (id: number): Uint8Array | undefined => {
    const known = table[id]
    if (known !== undefined) return known
    const token = tokenOf.get(id)
    if (token === undefined || specialIds.has(id)) return undefined
    // Added tokens stand in the vocabulary as they are written, not in byte symbols.
    return (table[id] = (addedIds.has(id) ? undefined : tokenBytes(token)) ?? utf8.encode(token))
  }
  return (tokens) => fromUtf8(tokens.map(bytesOf).filter((piece) => piece !== undefined))
}
