import { trimEnd, trimStart, type Normalizer } from './normalizers.js'

/** A token found in the text before the model sees it, as tokenizer.json's `added_tokens` describes it. */
export interface Added {
  id: number
  content: string
  single_word: boolean
  lstrip: boolean
  rstrip: boolean
  normalized: boolean
  special: boolean
}

/** A stretch of text, or the id of an added token. `atStart`: begins where the text began. */
export type Part = number | { text: string; atStart: boolean }

/** Finds added tokens in text. */
export type FindAdded = (text: string, atStart: boolean) => Part[]

interface Node {
  next: Map<number, Node>
  token?: Added
}

/**
 * Finds added tokens in text, the longest of those that begin at a place. Special tokens take part in the search but stay
 * text: what is written in a message is never a special token.
 *
 * @param normalize Applied to the tokens' contents first, for tokens that are looked for in normalized text.
 */
export function createFindAdded(tokens: readonly Added[], normalize?: Normalizer): FindAdded {
  if (!tokens.some((token) => !token.special)) return (text, atStart) => [{ text, atStart }]
  const root: Node = { next: new Map() }
  for (const token of tokens) {
    let node = root
    const content = normalize ? normalize(token.content) : token.content
    if (content === '') continue
    for (let i = 0; i < content.length; i++) {
      let child = node.next.get(content.charCodeAt(i))
      if (!child) node.next.set(content.charCodeAt(i), (child = { next: new Map() }))
      node = child
    }
    node.token ??= token
  }
  const begins = new Uint8Array(65_536)
  for (const unit of root.next.keys()) begins[unit] = 1

  return (text, atStart) => {
    const parts: Part[] = []
    let start = 0
    const pushText = (end: number, strip: boolean): void => {
      const between = strip ? trimEnd(text.slice(start, end)) : text.slice(start, end)
      if (between !== '') parts.push({ text: between, atStart: atStart && start === 0 })
    }
    for (let i = 0; i < text.length;) {
      const match = begins[text.charCodeAt(i)] === 1 ? longest(root, text, i) : undefined
      if (!match) {
        i++
        continue
      }
      const { token, end } = match
      if (!token.special && !(token.single_word && insideWord(text, i, end))) {
        if (i >= start) pushText(i, token.lstrip)
        parts.push(token.id)
        start = token.rstrip ? text.length - trimStart(text.slice(end)).length : end
      }
      i = end
    }
    if (parts.length === 0) return [{ text, atStart }]
    if (start < text.length) pushText(text.length, false)
    return parts
  }
}

function longest(root: Node, text: string, start: number): { token: Added; end: number } | undefined {
  let found: { token: Added; end: number } | undefined
  let node: Node | undefined = root
  for (let i = start; i < text.length; i++) {
    node = node.next.get(text.charCodeAt(i))
    if (!node) break
    if (node.token) found = { token: node.token, end: i + 1 }
  }
  return found
}

const wordAtEnd = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u
const wordAtStart = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u

function insideWord(text: string, start: number, end: number): boolean {
  return wordAtEnd.test(text.slice(Math.max(0, start - 2), start)) || wordAtStart.test(text.slice(end, end + 2))
}
