/** A reply's reasoning and what it says in the end. */
export interface ReplyParts {
  /** Between the tags, several joined by new lines; null where there are no tags. */
  thinking: string | null
  answer: string
}

/**
 * Takes a reply apart by its tags. A closing tag alone closes what stands before it (chat templates open the tag in the
 * prompt); an opening tag alone opens to the end.
 *
 * @example splitThinking('<think>2 na 2 ni 4</think>Jibu ni nne.') // { thinking: '2 na 2 ni 4', answer: 'Jibu ni nne.' }
 */
export function splitThinking(reply: string, tag = 'think'): ReplyParts {
  const open = `<${tag}>`
  const close = `</${tag}>`
  const thinking: string[] = []
  let answer = ''
  let at = 0
  const firstOpen = reply.indexOf(open)
  const firstClose = reply.indexOf(close)
  if (firstClose !== -1 && (firstOpen === -1 || firstClose < firstOpen)) {
    thinking.push(reply.slice(0, firstClose))
    at = firstClose + close.length
  }
  while (at <= reply.length) {
    const start = reply.indexOf(open, at)
    if (start === -1) {
      answer += reply.slice(at)
      break
    }
    answer += reply.slice(at, start)
    const end = reply.indexOf(close, start)
    thinking.push(reply.slice(start + open.length, end === -1 ? undefined : end))
    if (end === -1) break
    at = end + close.length
  }
  return { thinking: thinking.length > 0 ? thinking.join('\n') : null, answer }
}

/** Formulas, code, links, addresses and tags, each of bounded length so that no text takes more than linear time. */
const notWritten = [
  /```[\s\S]*?(?:```|$)/g,
  /`[^`\n]{1,400}`/g,
  /\$\$[^$]{1,2000}\$\$/g,
  /\$[^$\n]{1,300}\$/g,
  /\\\[[^\]]{1,2000}\\\]/g,
  /\\\([^)]{1,500}\\\)/g,
  /\\[a-zA-Z]{1,30}(?:\{[^{}]{0,200}\}){0,4}/g,
  /\b(?:https?:\/\/|www\.)\S+/gi,
  /[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}/g,
  /<\/?[a-z][^<>]{0,200}>/gi,
]
const quotes =
  /"([^"\n]{2,400})"|“([^”\n]{2,400})”|«([^»\n]{2,400})»|「([^」\n]{2,400})」|„([^“”\n]{2,400})[“”]|'([^'\n]{2,400})'/g

/**
 * What a writer is answerable for: without formulas, code, links and tags, and without quotations of what was given. Those
 * become spaces, so that places stay the same.
 *
 * @example writtenText('Neno "house" ni `x = 1`', ['Translate "house"']) // 'Neno         ni        '
 */
export function writtenText(text: string, given: readonly string[] = []): string {
  const blank = (match: string): string => ' '.repeat(match.length)
  let written = text
  for (const pattern of notWritten) written = written.replace(pattern, blank)
  return written.replace(quotes, (match, ...groups: unknown[]) => {
    const quoted = groups.slice(0, 6).find((group): group is string => typeof group === 'string')
    return quoted !== undefined && given.some((source) => source.includes(quoted)) ? blank(match) : match
  })
}
