import { decimal, type Exact } from './exact.js'
import { numberMarks } from './locale.js'
import { decodeLiteral, plainNumbers } from './number-text.js'

export type Token =
  | { kind: 'number'; value: Exact; digits: string }
  /** Letters: a variable or a name. */
  | { kind: 'name'; text: string; latex: boolean }
  /** \text{...} and the like. */
  | { kind: 'text'; text: string }
  /** Operators and brackets; words of LaTeX that are one become their sign. */
  | { kind: 'sign'; text: string }
  /** \frac, \sqrt, \binom, \begin{...}, \overline: written out by the parser. */
  | { kind: 'command'; text: string }

/** Most tokens of an answer. */
const MOST_TOKENS = 2000

const signWords: Readonly<Record<string, string>> = {
  times: '*', cdot: '*', ast: '*', bullet: '*', div: '/', pm: '±', mp: '±', le: '≤', leq: '≤', leqslant: '≤', ge: '≥', geq: '≥',
  geqslant: '≥', lt: '<', gt: '>', ne: '≠', neq: '≠', cup: '∪', bigcup: '∪', in: '∈', lbrace: '{', rbrace: '}', lvert: '|', rvert: '|',
  vert: '|', mid: '|', lfloor: '⌊', rfloor: '⌋', lceil: '⌈', rceil: '⌉', circ: '°', degree: '°', emptyset: '∅', varnothing: '∅',
  infty: '∞', lor: '∨', vee: '∨', to: '→', rightarrow: '→', equiv: '≡', approx: '≈', lbrack: '[', rbrack: ']', colon: ':',
} // prettier-ignore

const ignored = new Set([
  'left', 'right', 'big', 'Big', 'bigg', 'Bigg', 'bigl', 'bigr', 'Bigl', 'Bigr', 'displaystyle', 'textstyle', 'limits', 'quad', 'qquad',
  'hspace', 'thinspace', 'space', 'middle', 'mathstrut', 'nonumber',
]) // prettier-ignore

const fences: Readonly<Record<string, string>> = { '{': '{', '}': '}', '%': '%', $: '', ' ': '', ',': '', ';': '', ':': '', '!': '', '|': '|', '(': '', ')': '', '[': '', ']': '', '#': '', '&': '', '_': '' } // prettier-ignore

const textCommands = new Set(['text', 'mbox', 'textbf', 'textit', 'textrm', 'textnormal'])
const nameCommands = new Set(['mathrm', 'operatorname', 'mathit', 'mathbf', 'mathsf', 'boldsymbol', 'bm', 'rm'])

const signs: Readonly<Record<string, string>> = {
  '×': '*', '·': '*', '∙': '*', '⋅': '*', '∗': '*', '*': '*', '÷': '/', '/': '/', ':': ':', '+': '+', '-': '-', '±': '±', '∓': '±', '=': '=',
  '<': '<', '>': '>', '≤': '≤', '≥': '≥', '≠': '≠', '(': '(', ')': ')', '[': '[', ']': ']', '|': '|', ',': ',', '،': ',', '、': ',', ';': ';', '؛': ';',
  '!': '!', '%': '%', '٪': '%', '°': '°', '^': '^', '_': '_', '∪': '∪', '∈': '∈', '∅': '∅', '∞': '∞', '⌊': '⌊', '⌋': '⌋', '⌈': '⌈', '⌉': '⌉',
  '√': '√', '∨': '∨', '&': '&', '→': '→', "'": "'", '′': "'", '≈': '≈',
} // prettier-ignore

const numberStart = /\.?\d/y
const separated = /\d+(?:\.\d+)?|\.\d+/y
const literal = /\d+(?:[.,٫٬'’]\d+)*(?:[.,](?=\s*\\(?:overline|bar|dot)))?|\.\d+/y
const letters = /\p{L}\p{M}*/uy
const word = /(?:\p{L}\p{M}*){2,}/uy
const latexWord = /\\([A-Za-z]+)\*?/y

/**
 * The tokens of an answer in LaTeX or plain notation, or null: more than 2,000 of them, or a sign that is no mathematics.
 *
 * @param commas whether a comma between digits can be part of a number, or parts members of a list
 */
export function mathTokens(text: string, language: string, commas: 'numbers' | 'lists'): Token[] | null {
  const plain = plainNumbers(text)
    .replace(/\{,\}/g, commas === 'lists' ? '' : ',')
    .replace(/(?<=\d)\\[,;: !](?=\d{3})/g, '’')
    .replace(/\$/g, ' ')
    .replace(/<=|=</g, '≤')
    .replace(/>=/g, '≥')
    .replace(/!=/g, '≠')
    .replace(/==/g, '=')
    .replace(/\*\*/g, '^')
  const tokens: Token[] = []
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(plain)
  }
  while (at < plain.length) {
    if (tokens.length > MOST_TOKENS) return null
    const character = plain[at]
    if (/\s|~/.test(character)) {
      at++
      continue
    }
    if (match(numberStart)) {
      const found = (commas === 'numbers' ? match(literal) : match(separated)) ?? match(separated)
      if (!found) return null
      let digits = decodeLiteral(found[0], language)
      let length = found[0].length
      // Where the point is the decimal mark, a comma that cannot group parts the members of a list.
      const commaFraction = digits?.fraction !== '' && found[0].lastIndexOf(',') > found[0].lastIndexOf('.')
      if (commaFraction && numberMarks(language).decimal === '.') digits = null
      if (!digits) {
        const shorter = match(separated)
        if (!shorter) return null
        digits = decodeLiteral(shorter[0], language)
        length = shorter[0].length
      }
      if (!digits) return null
      at += length
      // A final point ends a sentence; scientific notation in letters belongs to the number.
      const exponent = /[eE]([-+]?\d{1,7})(?![\p{L}\d])/uy
      const tail = match(exponent)
      if (tail) at += tail[0].length
      tokens.push({
        kind: 'number',
        value: decimal(digits.whole, digits.fraction, tail ? Number(tail[1]) : 0),
        digits: found[0],
      })
      continue
    }
    if (character === '\\') {
      const escapedSign = plain[at + 1] ?? ''
      if (escapedSign === '\\') {
        tokens.push({ kind: 'sign', text: '\\\\' })
        at += 2
        continue
      }
      const named = match(latexWord)
      if (!named) {
        if (!(escapedSign in fences)) return null
        const sign = fences[escapedSign]
        if (sign) tokens.push({ kind: 'sign', text: sign === '{' ? '\\{' : sign === '}' ? '\\}' : sign })
        at += 2
        continue
      }
      at += named[0].length
      const name = named[1]
      if (ignored.has(name)) continue
      if (textCommands.has(name) || nameCommands.has(name) || name === 'mathbb' || name === 'begin' || name === 'end') {
        const argument = /\s*\{([^{}]*)\}/y
        const inner = match(argument)
        if (!inner) return null
        at += inner[0].length
        if (name === 'begin' || name === 'end') tokens.push({ kind: 'command', text: name })
        else if (name === 'mathbb') tokens.push({ kind: 'name', text: `set-${inner[1]}`, latex: true })
        else if (textCommands.has(name)) tokens.push({ kind: 'text', text: inner[1].trim() })
        else tokens.push({ kind: 'name', text: inner[1].replace(/\s+/g, ''), latex: true })
        continue
      }
      if (name === 'lbrace' || name === 'rbrace') tokens.push({ kind: 'sign', text: name === 'lbrace' ? '\\{' : '\\}' })
      else if (name in signWords) tokens.push({ kind: 'sign', text: signWords[name] })
      else if (/^[dtc]?frac$|^sqrt$|^[dt]?binom$|^overline$|^bar$|^dot$/.test(name))
        tokens.push({ kind: 'command', text: name.replace(/^[dtc]frac$/, 'frac').replace(/^[dt]binom$/, 'binom') })
      else if (/^(?:sum|prod|int|iint|oint|lim|cases|array)$/.test(name))
        tokens.push({ kind: 'command', text: 'opaque' })
      else tokens.push({ kind: 'name', text: name.replace(/^var(?=epsilon|phi|theta|rho|sigma)/, ''), latex: true })
      continue
    }
    if (character === '{' || character === '}') {
      tokens.push({ kind: 'sign', text: character })
      at++
      continue
    }
    const name = match(word) ?? match(letters)
    if (name) {
      const taken = pieceOf(name[0])
      tokens.push({ kind: 'name', text: taken, latex: false })
      at += taken.length
      continue
    }
    if (character === '.' && at === plain.trimEnd().length - 1) {
      at++
      continue
    }
    if (!(character in signs)) return null
    tokens.push({ kind: 'sign', text: signs[character] })
    at++
  }
  return tokens
}

const knownWords =
  /^(?:arcsin|arccos|arctan|asin|acos|atan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|tg|ctg|log|lg|ln|exp|sqrt|abs|floor|ceil|pi|infinity|inf|oo|degrees?|deg|or|and|sgn|max|min|gcd|lcm)(?![\p{Ll}]{4,})/u

/** What of a plain word is one name: a function, a word of four letters and more, else its first letter. */
function pieceOf(text: string): string {
  const known = knownWords.exec(text)
  if (known) return known[0]
  const cased = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}]+$/u.test(text)
  return !cased || text.length >= 4 ? text : (/^\p{L}\p{M}*/u.exec(text)?.[0] ?? text)
}
