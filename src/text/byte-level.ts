/**
 * The byte alphabet of byte-level BPE: each of the 256 bytes is written as one printable character, so that any text is
 * a string of known symbols. Printable Latin-1 stands for itself; the other bytes, in order, are U+0100, U+0101, ...
 * (the mapping that GPT-2 introduced and every byte-level tokenizer.json uses).
 */
export const byteSymbols: readonly string[] = makeByteSymbols()

function makeByteSymbols(): string[] {
  const stands = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff)
  let others = 0
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(stands(byte) ? byte : 256 + others++))
}

/** The byte each symbol stands for. */
export const symbolBytes: ReadonlyMap<string, number> = new Map(byteSymbols.map((symbol, byte) => [symbol, byte]))

const encoder = new TextEncoder()

/** A text as byte symbols. */
export function toByteSymbols(text: string): string {
  let result = ''
  for (const byte of encoder.encode(text)) result += byteSymbols[byte]
  return result
}

/** The bytes of a token written in byte symbols, or null if a character of it is none. */
export function tokenBytes(token: string): Uint8Array | null {
  const bytes = new Uint8Array(token.length)
  for (let i = 0; i < token.length; i++) {
    const byte = symbolBytes.get(token[i])
    if (byte === undefined) return null
    bytes[i] = byte
  }
  return bytes
}
