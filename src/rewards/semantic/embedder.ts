import type { Vector } from './vectors.js'

/** Turns texts into vectors. */
export interface Embedder {
  readonly name: string
  readonly dimension: number
  /** One vector a text: [texts][dimension]. The same text always has the same vector, whatever stands beside it. */
  embed(texts: readonly string[]): Promise<Vector[]>
  close(): Promise<void>
}

/** Whether there is anything to read: white space, controls and zero-width characters alone are not. */
export function isVisible(text: string): boolean {
  return /[^\p{Z}\p{C}\s]/u.test(text)
}

/** Text as tokenizers can take it: lone surrogates become U+FFFD, and of endless text the first `limit` UTF-16 units are kept. */
export function readable(text: string, limit: number): string {
  return text.slice(0, limit).replace(/\p{Surrogate}/gu, '\uFFFD')
}

/**
 * An embedder that remembers the last texts: references and sources come again and again. Texts that stand twice in one call
 * are embedded once.
 *
 * @param limit of remembered texts
 * @example const embedder = remembering(await openEmbedder('models/labse'), 10_000)
 */
export function remembering(embedder: Embedder, limit = 10_000): Embedder {
  const known = new Map<string, Vector>()
  return {
    name: embedder.name,
    dimension: embedder.dimension,
    async embed(texts) {
      const found = new Map<string, Vector>()
      for (const text of texts) {
        const vector = known.get(text)
        if (vector) found.set(text, vector)
      }
      const missing = [...new Set(texts)].filter((text) => !found.has(text))
      const made = missing.length > 0 ? await embedder.embed(missing) : []
      missing.forEach((text, i) => found.set(text, made[i]))
      for (const [text, vector] of found) {
        known.delete(text)
        known.set(text, vector)
      }
      for (const oldest of known.keys()) {
        if (known.size <= limit) break
        known.delete(oldest)
      }
      return texts.map((text) => found.get(text)!.slice())
    },
    close: () => embedder.close(),
  }
}
