import { MyriadError, messageOf } from '../../core/index.js'

/** Characters of a text that a grammar is tried on; a longer one does not match. */
export const MOST_PARSED = 20_000
const MOST_ITEMS = 3_000_000

/** One character: a class of them. */
type Terminal = (character: string) => boolean
type Symbol = Terminal | number

interface Production {
  head: number
  body: readonly Symbol[]
}

/** A grammar, ready to recognise. */
export interface Grammar {
  productions: readonly Production[]
  /** Indices of the productions of each rule; rule 0 is where it begins. */
  byHead: readonly (readonly number[])[]
  nullable: readonly boolean[]
}

/**
 * Reads a small EBNF. Rules are `name = expression ;` (or `::=`, and a line's end for the semicolon where the next rule begins),
 * the first is where it begins. An expression is made of "literal" or 'literal', [character class], . (any character), names,
 * ( ), alternatives by |, sequences by a space or comma, and ?, *, +, {n}, {n,m} after any of them. (* and *) enclose comments.
 * Rules may be recursive in any way.
 *
 * @throws MyriadError 'usage' that says where it cannot be read
 * @example parseGrammar('list = item ("," item)* ; item = [\\p{L}\\p{M}]+ ;')
 */
export function parseGrammar(source: string): Grammar {
  const tokens = tokenize(source)
  const names: string[] = []
  const defined = new Set<string>()
  const productions: Production[] = []
  let count = 0
  let at = 0
  const ruleOf = new Map<string, number>()
  const rule = (name: string): number => {
    let id = ruleOf.get(name)
    if (id === undefined) {
      ruleOf.set(name, (id = count++))
      names[id] = name
    }
    return id
  }
  const fail = (what: string): never => {
    const token = tokens[at]
    throw new MyriadError('usage', `grammar: ${what}${token ? ` at ${JSON.stringify(token.text)}` : ' at its end'}`)
  }
  const produce = (head: number, ...bodies: (readonly Symbol[])[]): number => {
    for (const body of bodies) productions.push({ head, body })
    return head
  }
  const isRule = (place: number): boolean => tokens[place]?.kind === 'name' && tokens[place + 1]?.text === '='
  const alternatives = (): Symbol[] => {
    const all = [sequence()]
    while (tokens[at]?.text === '|' && tokens[at].kind === 'mark') {
      at++
      all.push(sequence())
    }
    return all.length === 1 ? all[0] : [produce(count++, ...all)]
  }
  const sequence = (): Symbol[] => {
    const body: Symbol[] = []
    for (;;) {
      const token = tokens[at]
      if (token === undefined || isRule(at)) return body
      if (token.kind === 'mark' && token.text === ',') {
        at++
        continue
      }
      if (token.kind === 'mark' && token.text !== '(') return body
      body.push(...repeated(item()))
      if (body.length > 10_000) fail('a rule is too long')
    }
  }
  const item = (): Symbol[] => {
    const token = tokens[at++]
    if (token.kind === 'literal') return [...token.text].map((letter) => (character: string) => character === letter)
    if (token.kind === 'class') return [token.test!]
    if (token.kind === 'name') return [rule(token.text)]
    const inner = alternatives()
    if (tokens[at]?.text !== ')') fail('a ) is missing')
    at++
    return inner
  }
  const repeated = (inner: Symbol[]): Symbol[] => {
    const token = tokens[at]
    if (token?.kind !== 'repeat') return inner
    at++
    const { least, most } = token.range!
    if (least * Math.max(1, inner.length) > 10_000) fail('a repetition is too long')
    const body: Symbol[] = []
    for (let i = 0; i < least; i++) body.push(...inner)
    if (most === Infinity) {
      const self = count++
      // To the left, so that a long repetition takes time linear in its length.
      body.push(produce(self, [], [self, ...inner]))
    } else {
      let rest = -1
      for (let i = least; i < most; i++) rest = produce(count++, [], rest < 0 ? inner : [...inner, rest])
      if (rest >= 0) body.push(rest)
    }
    return repeated(body)
  }
  while (at < tokens.length) {
    if (!isRule(at)) fail('a rule "name = ..." is expected')
    const name = tokens[at].text
    if (defined.has(name)) fail(`rule ${name} is defined twice:`)
    defined.add(name)
    const head = rule(name)
    at += 2
    produce(head, alternatives())
    if (tokens[at]?.text === ';' && tokens[at].kind === 'mark') at++
    else if (at < tokens.length && !isRule(at)) fail('it cannot be read')
  }
  if (productions.length === 0) throw new MyriadError('usage', 'grammar: it has no rule')
  const missing = names.find((name) => name !== undefined && !defined.has(name))
  if (missing !== undefined) throw new MyriadError('usage', `grammar: there is no rule "${missing}"`)
  const byHead: number[][] = Array.from({ length: count }, () => [])
  productions.forEach(({ head }, i) => byHead[head].push(i))
  return { productions, byHead, nullable: nullables(productions, count) }
}

function nullables(productions: readonly Production[], count: number): boolean[] {
  const nullable = new Array<boolean>(count).fill(false)
  for (let changed = true; changed;) {
    changed = false
    for (const { head, body } of productions) {
      if (nullable[head] || !body.every((symbol) => typeof symbol === 'number' && nullable[symbol])) continue
      nullable[head] = changed = true
    }
  }
  return nullable
}

interface Token {
  kind: 'name' | 'literal' | 'class' | 'repeat' | 'mark'
  text: string
  test?: Terminal
  range?: { least: number; most: number }
}

const lexical =
  /\s+|\(\*[^]*?\*\)|(?<name>[\p{L}_][\p{L}\p{M}\p{N}_-]*)|"(?<double>(?:[^"\\]|\\.)*)"|'(?<single>(?:[^'\\]|\\.)*)'|(?<class>\[(?:[^\]\\]|\\.)+\]|\.)|(?<repeat>[?*+]|\{\s*\d{1,4}\s*(?:,\s*(?:\d{1,4})?\s*)?\})|(?<equals>::=|=)|(?<mark>[|(),;])/uy

function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  lexical.lastIndex = 0
  while (lexical.lastIndex < source.length) {
    const from = lexical.lastIndex
    const match = lexical.exec(source)
    if (match === null)
      throw new MyriadError('usage', `grammar: it cannot be read at ${JSON.stringify(source.slice(from, from + 20))}`)
    const { name, double, single, class: set, repeat, equals, mark } = match.groups!
    const quoted = double ?? single
    if (name !== undefined) tokens.push({ kind: 'name', text: name })
    else if (quoted !== undefined) tokens.push({ kind: 'literal', text: unescape(quoted) })
    else if (set !== undefined) tokens.push({ kind: 'class', text: set, test: classOf(set) })
    else if (repeat !== undefined) tokens.push({ kind: 'repeat', text: repeat, range: rangeOf(repeat) })
    else if (equals !== undefined) tokens.push({ kind: 'mark', text: '=' })
    else if (mark !== undefined) tokens.push({ kind: 'mark', text: mark })
  }
  return tokens
}

function unescape(text: string): string {
  const names: Record<string, string> = { n: '\n', t: '\t', r: '\r' }
  return text.replace(/\\(.)/gsu, (_, letter: string) => names[letter] ?? letter)
}

function classOf(set: string): Terminal {
  try {
    // A class of one character: a regular expression of it cannot backtrack.
    const pattern = new RegExp(set === '.' ? '^.$' : `^${set}$`, 'su')
    const known = new Map<string, boolean>()
    return (character) => {
      let fits = known.get(character)
      if (fits === undefined) known.set(character, (fits = pattern.test(character)))
      return fits
    }
  } catch (error) {
    throw new MyriadError('usage', `grammar: ${set} is no class of characters: ${messageOf(error)}`, { cause: error })
  }
}

function rangeOf(repeat: string): { least: number; most: number } {
  if (repeat === '?') return { least: 0, most: 1 }
  if (repeat === '*') return { least: 0, most: Infinity }
  if (repeat === '+') return { least: 1, most: Infinity }
  const [low, high] = repeat.slice(1, -1).split(',')
  const least = Number(low)
  const most = high === undefined ? least : high.trim() === '' ? Infinity : Number(high)
  if (most < least) throw new MyriadError('usage', `grammar: ${repeat} asks for more than it allows`)
  return { least, most }
}

/**
 * Is a text, all of it, in the language of a grammar? Earley's recogniser (Earley 1970; empty rules as Aycock and Horspool 2002):
 * any grammar, in time at most cubic, linear for most.
 *
 * @throws MyriadError 'runtime' when the grammar is so ambiguous that the text takes millions of steps
 * @example matchesGrammar(parseGrammar('s = "(" s ")" s | ;'), '(()())') // true
 */
export function matchesGrammar({ productions, byHead, nullable }: Grammar, text: string): boolean {
  if (text.length > MOST_PARSED) return false
  const characters = [...text]
  // An item is a production, how far it has come, and where it began. Items of a place that wait for a rule, by that rule.
  type Item = [production: number, dot: number, origin: number]
  const waiting: Map<number, Item[]>[] = []
  let items: Item[] = byHead[0].map((production) => [production, 0, 0])
  let steps = 0
  const width = Math.max(...productions.map(({ body }) => body.length)) + 1
  for (let place = 0; ; place++) {
    const seen = new Set<number>()
    const current: Item[] = []
    const add = (item: Item): void => {
      if (++steps > MOST_ITEMS)
        throw new MyriadError('runtime', 'the grammar is too ambiguous: the reply takes millions of steps')
      const key = (item[2] * productions.length + item[0]) * width + item[1]
      if (seen.has(key)) return
      seen.add(key)
      current.push(item)
    }
    for (const item of items) add(item)
    const awaited = new Map<number, Item[]>()
    waiting.push(awaited)
    const next: Item[] = []
    let complete = false
    for (const item of current) {
      const [production, dot, origin] = item
      const { head, body } = productions[production]
      const symbol = body[dot]
      if (symbol === undefined) {
        if (head === 0 && origin === 0) complete = true
        for (const [p, d, o] of waiting[origin].get(head) ?? []) add([p, d + 1, o])
      } else if (typeof symbol === 'number') {
        const others = awaited.get(symbol)
        if (others) others.push(item)
        else {
          awaited.set(symbol, [item])
          for (const p of byHead[symbol]) add([p, 0, place])
        }
        if (nullable[symbol]) add([production, dot + 1, origin])
      } else if (place < characters.length && symbol(characters[place])) next.push([production, dot + 1, origin])
    }
    if (place === characters.length) return complete
    if (next.length === 0) return false
    items = next
  }
}
