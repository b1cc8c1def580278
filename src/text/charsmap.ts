import { MyriadError } from '../core/index.js'

/** Rewrites text by a table that SentencePiece compiled (its "precompiled charsmap", e.g. nmt_nfkc). */
export type Charsmap = (text: string) => string

const cachedGraphemes = 16_384

/**
 * Reads a precompiled charsmap: a length, a double-array trie of that many bytes (darts-clone's format,
 * https://github.com/s-yata/darts-clone) from UTF-8 sequences to offsets, and the zero-terminated texts at those offsets.
 *
 * Applied as Hugging Face does: a grapheme of less than six bytes is looked up as one, longer ones character by character,
 * and the shortest sequence that the trie knows decides for the whole.
 *
 * @param base64 The table as tokenizer.json holds it.
 * @throws MyriadError 'checkpoint' when it is cut short.
 */
export function readCharsmap(base64: string): Charsmap {
  const table = Buffer.from(base64, 'base64')
  const trieBytes = table.length >= 4 ? table.readUInt32LE(0) : -1
  if (trieBytes <= 0 || trieBytes % 4 !== 0 || 4 + trieBytes > table.length)
    throw new MyriadError('checkpoint', 'normalizer.precompiled_charsmap is cut short')
  const units = Uint32Array.from({ length: trieBytes / 4 }, (_, i) => table.readUInt32LE(4 + 4 * i))
  const texts = table.subarray(4 + trieBytes)

  const find = (key: Uint8Array): string | undefined => {
    let at = offsetOf(units[0])
    for (const byte of key) {
      if (byte === 0) return undefined
      at ^= byte
      const unit = units[at]
      if (unit === undefined || (unit & 0x800000ff) !== byte) return undefined
      at ^= offsetOf(unit)
      if ((unit >>> 8) & 1) {
        const start = (units[at] ?? 0) & 0x7fffffff
        const end = texts.indexOf(0, start)
        return texts.toString('utf8', start, end < 0 ? texts.length : end)
      }
    }
    return undefined
  }

  const utf8 = new TextEncoder()
  const ofCharacter = (character: string): string => find(utf8.encode(character)) ?? character
  const rewriteGrapheme = (grapheme: string): string => {
    const bytes = utf8.encode(grapheme)
    const whole = bytes.length < 6 ? find(bytes) : undefined
    if (whole !== undefined) return whole
    let result = ''
    for (const character of grapheme) result += ofCharacter(character)
    return result
  }
  const graphemes = new Map<string, string>()
  const ascii = Array.from({ length: 128 }, (_, code) => ofCharacter(String.fromCharCode(code)))
  const asciiStays = ascii.every((text, code) => code < 0x20 || code > 0x7e || text === String.fromCharCode(code))
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

  const rewriteAscii = (text: string): string =>
    asciiStays ? text : Array.from(text, (character) => ascii[character.charCodeAt(0)]).join('')
  const rewriteAny = (text: string): string => {
    let result = ''
    for (const { segment } of segmenter.segment(text)) {
      let rewritten = graphemes.get(segment)
      if (rewritten === undefined) {
        rewritten = rewriteGrapheme(segment)
        if (graphemes.size >= cachedGraphemes) graphemes.clear()
        if (segment.length <= 16) graphemes.set(segment, rewritten)
      }
      result += rewritten
    }
    return result
  }
  return (text) => {
    let result = ''
    for (const { 1: plain, 2: other } of text.matchAll(asciiOrNot))
      result += plain === undefined ? rewriteAny(other) : rewriteAscii(plain)
    return result
  }
}

// Printable ASCII is a grapheme by character, unless something else follows (a combining mark) or came before (a prepended
// sign), so the neighbours go to the segmenter, which is slow.
const asciiOrNot = /([ -~]+(?![^ -~]))|((?:[^ -~]|[ -~](?=[^ -~]))+[ -~]?)/g

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6)
}
