import { MyriadError } from '../../core/index.js'

export interface TagFormat {
  /** Names of tags, in the order they must come. */
  tags: readonly string[]
  /** Those of them that may be missing. */
  optional?: readonly string[]
  /** Text between and around the tags is allowed; false unless given. */
  outside?: boolean
  /** Tags may hold nothing but white space; false unless given. */
  empty?: boolean
}

/** What was found: whether all is as it should be, what each tag holds, and what is wrong. */
export interface TagCheck {
  ok: boolean
  contents: Readonly<Record<string, string>>
  problems: readonly string[]
}

interface Mark {
  name: string
  closing: boolean
  start: number
  end: number
}

/**
 * Are the tags of a reply those that were asked for: each once, closed, in order, none inside another, nothing outside? In
 * time linear in the reply.
 *
 * @throws MyriadError 'usage' for names that are none, or are listed twice
 * @example checkTags('<think>2 + 2</think><answer>4</answer>', { tags: ['think', 'answer'] }).contents.answer // '4'
 */
export function checkTags(reply: string, format: TagFormat): TagCheck {
  const { tags, optional = [], outside = false, empty = false } = format
  const wrong = [...tags, ...optional].find((name) => !/^[\p{L}_][\p{L}\p{N}\p{M}_:.-]*$/u.test(name))
  if (wrong !== undefined) throw new MyriadError('usage', `${JSON.stringify(wrong)} is no name of a tag`)
  if (new Set(tags).size < tags.length) throw new MyriadError('usage', 'a tag is listed twice')
  const contents: Record<string, string> = {}
  const problems: string[] = []
  const order: string[] = []
  let open: Mark | null = null
  let end = 0
  let between = ''
  for (const mark of marksOf(reply, tags)) {
    if (open === null) between += reply.slice(end, mark.start)
    if (mark.closing) {
      if (open?.name !== mark.name) problems.push(`</${mark.name}> closes nothing`)
      else {
        if (Object.hasOwn(contents, mark.name)) problems.push(`<${mark.name}> comes twice`)
        contents[mark.name] = reply.slice(open.end, mark.start)
        order.push(mark.name)
        open = null
      }
    } else if (open === null) open = mark
    else problems.push(`<${mark.name}> stands inside <${open.name}>`)
    end = mark.end
    // What is wrong a thousand times over is wrong enough.
    if (problems.length >= 20) break
  }
  if (open === null) between += reply.slice(end)
  else problems.push(`<${open.name}> is not closed`)
  for (const name of tags) {
    if (!Object.hasOwn(contents, name)) {
      if (!optional.includes(name)) problems.push(`<${name}> is missing`)
    } else if (!empty && contents[name].trim() === '') problems.push(`<${name}> is empty`)
  }
  const places = order.map((name) => tags.indexOf(name))
  if (places.some((place, i) => i > 0 && place < places[i - 1])) problems.push('the tags are not in order')
  if (!outside && between.trim() !== '') problems.push('there is text outside the tags')
  return { ok: problems.length === 0, contents, problems }
}

/** Marks of the tags, in order of place. */
function marksOf(reply: string, tags: readonly string[]): Mark[] {
  if (tags.length === 0) return []
  const names = tags.map((name) => name.replace(/[.]/gu, '\\.')).join('|')
  return [...reply.matchAll(new RegExp(`<(/?)(${names})>`, 'gu'))].map((match) => ({
    name: match[2],
    closing: match[1] === '/',
    start: match.index,
    end: match.index + match[0].length,
  }))
}
