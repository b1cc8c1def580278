import { languages } from './languages.js'

/** A fenced block of a reply: what is written after the fence, in lower case, and what is inside. */
export interface FencedBlock {
  tag: string
  text: string
}

/** All blocks between ``` or ~~~ in order; one that is not closed goes to the end. Linear in the reply. */
export function fencedBlocks(reply: string): FencedBlock[] {
  const blocks: FencedBlock[] = []
  let open: { fence: string; tag: string; lines: string[] } | null = null
  for (const line of reply.split(/\r?\n/)) {
    const mark = fenceOf(line)
    if (!open) {
      if (mark) open = { fence: mark.fence, tag: tagOf(mark.rest), lines: [] }
    } else if (mark && mark.rest === '' && mark.fence.startsWith(open.fence)) {
      blocks.push({ tag: open.tag, text: open.lines.join('\n') })
      open = null
    } else open.lines.push(line)
  }
  if (open) blocks.push({ tag: open.tag, text: open.lines.join('\n') })
  return blocks
}

function fenceOf(line: string): { fence: string; rest: string } | null {
  const text = line.trim()
  const letter = text[0]
  if (letter !== '`' && letter !== '~') return null
  let length = 0
  while (text[length] === letter) length++
  if (length < 3) return null
  const rest = text.slice(length).trim()
  return letter === '`' && rest.includes('`') ? null : { fence: letter.repeat(length), rest }
}

function tagOf(rest: string): string {
  return rest
    .replace(/^\{?\.?/, '')
    .split(/[\s,{}:]/, 1)[0]
    .toLowerCase()
}

/**
 * The program in a reply: its last fenced block in the language (by name or alias), else its last block in no other language
 * that is known, else its last block, else the whole reply.
 *
 * @example programIn('Here:\n```python\nprint(1)\n```', 'python') // 'print(1)'
 */
export function programIn(reply: string, language: string): string {
  const blocks = fencedBlocks(reply)
  const own = knownLanguage(language)
  const last = (matches: (block: FencedBlock) => boolean): string | undefined => blocks.findLast(matches)?.text
  return (
    last(({ tag }) => tag !== '' && (tag === language.toLowerCase() || (own !== null && knownLanguage(tag) === own))) ??
    last(({ tag }) => knownLanguage(tag) === null) ??
    last(() => true) ??
    reply.replace(/^\uFEFF/, '')
  )
}

/** The language that a reply's last block with a known tag is in; null without one. */
export function languageIn(reply: string): string | null {
  const block = fencedBlocks(reply).findLast(({ tag }) => knownLanguage(tag) !== null)
  return block ? knownLanguage(block.tag) : null
}

/** The name of a language by its name or alias; null for any other text. */
export function knownLanguage(tag: string): string | null {
  const wanted = tag.trim().toLowerCase()
  return Object.values(languages).find(({ name, aliases }) => name === wanted || aliases.includes(wanted))?.name ?? null
}
