import type { Exact } from './exact.js'
import { exact, sum } from './exact.js'
import type { Expression, MathValue, Relation } from './expression.js'
import { mathTokens, type Token } from './math-tokens.js'
import { listWords } from './locale.js'

/** Deepest nesting of an answer: some three steps a pair of brackets. */
const MOST_DEPTH = 200

const functions: Readonly<Record<string, string>> = {
  sin: 'sin', cos: 'cos', tan: 'tan', tg: 'tan', cot: 'cot', ctg: 'cot', cotg: 'cot', sec: 'sec', csc: 'csc', cosec: 'csc', sinh: 'sinh', sh: 'sinh',
  cosh: 'cosh', ch: 'cosh', tanh: 'tanh', th: 'tanh', arcsin: 'asin', asin: 'asin', arccos: 'acos', acos: 'acos', arctan: 'atan', atan: 'atan',
  arctg: 'atan', ln: 'ln', log: 'log', lg: 'lg', exp: 'exp', sqrt: 'sqrt', abs: 'abs', floor: 'floor', ceil: 'ceil', sgn: 'sign',
} // prettier-ignore
const inverses: Readonly<Record<string, string>> = { sin: 'asin', cos: 'acos', tan: 'atan' }

const greek: Readonly<Record<string, string>> = {
  α: 'alpha', β: 'beta', γ: 'gamma', δ: 'delta', ε: 'epsilon', ζ: 'zeta', η: 'eta', θ: 'theta', κ: 'kappa', λ: 'lambda', μ: 'mu', ν: 'nu', ξ: 'xi',
  ρ: 'rho', σ: 'sigma', τ: 'tau', φ: 'phi', χ: 'chi', ψ: 'psi', ω: 'omega', Γ: 'Gamma', Δ: 'Delta', Θ: 'Theta', Λ: 'Lambda', Σ: 'Sigma', Φ: 'Phi',
  Ψ: 'Psi', Ω: 'Omega',
} // prettier-ignore

const relations: Readonly<Record<string, Relation>> = {
  '=': '=',
  '<': '<',
  '≤': '≤',
  '>': '>',
  '≥': '≥',
  '≠': '≠',
  '≡': '=',
}

const one: Expression = { kind: 'number', value: { numerator: 1n, denominator: 1n, exponent: 0 } }

/** What the grammar does not have. */
class Unreadable extends Error {}

class Parser {
  #at = 0
  #depth = 0
  #open = 0
  constructor(
    readonly tokens: readonly Token[],
    readonly language: string,
  ) {}

  get done(): boolean {
    return this.#at >= this.tokens.length
  }

  #sign(offset = 0): string | null {
    const token = this.tokens[this.#at + offset]
    return token?.kind === 'sign' ? token.text : null
  }

  #take(sign: string): boolean {
    if (this.#sign() !== sign) return false
    this.#at++
    return true
  }

  #need(sign: string): void {
    if (!this.#take(sign)) throw new Unreadable()
  }

  #deeper<Value>(read: () => Value): Value {
    if (++this.#depth > MOST_DEPTH) throw new Unreadable()
    const value = read()
    this.#depth--
    return value
  }

  /** A whole answer: solutions parted by commas or "or" are a set. */
  answer(): MathValue {
    const items: MathValue[] = [this.member()]
    let or = false
    while (!this.done) {
      or ||= this.#isOr()
      if (!this.#separator()) throw new Unreadable()
      if (this.done) break
      items.push(this.member())
    }
    if (items.length === 1) return items[0]
    return { kind: 'set', items: solutions(items), or }
  }

  #isOr(): boolean {
    const token = this.tokens[this.#at]
    const text = token?.kind === 'number' ? '' : (token?.text ?? '')
    return text === '∨' || listWords(this.language).or.includes(text.toLowerCase().trim())
  }

  #separator(): boolean {
    const token = this.tokens[this.#at]
    if (token?.kind === 'sign' && (token.text === ',' || token.text === ';' || token.text === '∨')) {
      this.#at++
      this.#listWord()
      return true
    }
    return this.#listWord()
  }

  #listWord(): boolean {
    const token = this.tokens[this.#at]
    if (token?.kind !== 'text' && token?.kind !== 'name') return false
    const { and, or } = listWords(this.language)
    const text = token.text.toLowerCase().replace(/[,،]/g, '').trim()
    if (![...and, ...or].includes(text)) return false
    this.#at++
    return true
  }

  /** Relations, memberships, unions; or one expression. */
  member(): MathValue {
    return this.#deeper(() => {
      const first = this.#structure()
      if (this.#sign() === '∪' || this.#letterUnion()) {
        const parts = [first]
        while (this.#take('∪') || this.#takeLetterUnion()) parts.push(this.#structure())
        return { kind: 'union', parts }
      }
      if (this.#take('∈')) return this.member()
      const operators: Relation[] = []
      const terms: Expression[] = []
      if (first.kind === 'expression') terms.push(first.tree)
      for (let operator = this.#relation(); operator; operator = this.#relation()) {
        operators.push(operator)
        const next = this.#structure()
        if (operators.length === 1 && (first.kind !== 'expression' || next.kind !== 'expression')) {
          // "S = {1, 2}": a label.
          if (operator === '=' && first.kind === 'expression' && this.#relation() === null) return next
          throw new Unreadable()
        }
        if (next.kind !== 'expression') throw new Unreadable()
        terms.push(next.tree)
      }
      if (operators.length === 0) return first
      if (operators.length === 1) return { kind: 'relation', operator: operators[0], left: terms[0], right: terms[1] }
      return { kind: 'chain', operators, terms }
    })
  }

  #letterUnion(): boolean {
    const token = this.tokens[this.#at]
    const before = this.#at > 0 ? this.#sign(-1) : null
    const after = this.#sign(1)
    return (
      token?.kind === 'name' &&
      token.text === 'U' &&
      before !== null &&
      /^[)\]]$/.test(before) &&
      after !== null &&
      /^[([]$/.test(after)
    )
  }

  #takeLetterUnion(): boolean {
    if (!this.#letterUnion()) return false
    this.#at++
    return true
  }

  #relation(): Relation | null {
    const operator = relations[this.#sign() ?? '']
    if (operator) this.#at++
    return operator ?? null
  }

  /** A set, a tuple or an interval, a matrix; else an expression and its unit. */
  #structure(): MathValue {
    const open = this.#sign()
    if (open === '∅') {
      this.#at++
      return { kind: 'set', items: [] }
    }
    const close = open === null ? null : this.#listEnd(open)
    if (open !== null && close !== null) {
      const { items, sign } = this.#list(open, close)
      if (open === '{' || open === '\\{') return { kind: 'set', items: items.map(unlabelled) }
      // ]0, 1[ is how some countries write (0, 1).
      return { kind: 'tuple', open: open === ']' ? '(' : open, close: sign === '[' ? ')' : sign, items }
    }
    const token = this.tokens[this.#at]
    if (token?.kind === 'command' && token.text === 'begin') return this.#matrix()
    const tree = this.sum()
    const unit = this.tokens[this.#at]
    if (unit?.kind === 'text' && !this.#isListWord(unit.text)) {
      this.#at++
      return { kind: 'expression', tree, unit: unit.text }
    }
    return { kind: 'expression', tree, unit: '' }
  }

  #isListWord(text: string): boolean {
    const { and, or } = listWords(this.language)
    return [...and, ...or].includes(text.toLowerCase().replace(/[,،]/g, '').trim())
  }

  /** Does what was read stand alone, rather than as a factor of something? */
  #ended(): boolean {
    if (this.done) return true
    const token = this.tokens[this.#at]
    if (token.kind === 'text') return true
    if (token.kind === 'name') return this.#isListWord(token.text) || this.#letterUnion()
    return token.kind === 'sign' && /^(?:[,;)\]}∪∨=<>≤≥]|\\\}|&|\\\\)$/.test(token.text)
  }

  /** Where the list that opens here closes, or null when it is no list but parentheses within an expression. */
  #listEnd(open: string): number | null {
    if (!/^(?:\\?\{|[([\]])$/.test(open)) return null
    let depth = 0
    let parted = false
    for (let at = this.#at; at < this.tokens.length; at++) {
      const token = this.tokens[at]
      if (token.kind !== 'sign') continue
      const sign = token.text
      if (open === ']' && depth === 1 && sign === '[' && parted) depth = 0
      else if (/^(?:\\?\{|[([])$/.test(sign) || at === this.#at) depth++
      else if (/^(?:\\?\}|[)\]])$/.test(sign)) depth--
      // [0, 1[ leaves its last bracket open.
      if (open === '[' && sign === '[' && depth === 2 && parted && this.#endsAfter(at)) depth = 0
      if (depth === 1 && (sign === ',' || sign === ';')) parted = true
      if (depth > 0) continue
      const empty = at === this.#at + 1
      return this.#endsAfter(at) &&
        (parted || open === '[' || open === '\\{' || (open === '{' && (empty || this.#at === 0)))
        ? at
        : null
    }
    return null
  }

  #endsAfter(at: number): boolean {
    const here = this.#at
    this.#at = at + 1
    const ended = this.#ended()
    this.#at = here
    return ended
  }

  #list(open: string, end: number): { items: MathValue[]; sign: string } {
    this.#need(open)
    const items: MathValue[] = []
    while (this.#at < end) {
      items.push(this.member())
      if (this.#at < end && !this.#separator()) throw new Unreadable()
    }
    const closing = this.tokens[this.#at++]
    return { items, sign: closing?.kind === 'sign' ? closing.text : '' }
  }

  #matrix(): MathValue {
    this.#at++
    const rows: MathValue[][] = [[]]
    for (;;) {
      const token = this.tokens[this.#at]
      if (!token) throw new Unreadable()
      if (token.kind === 'command' && token.text === 'end') {
        this.#at++
        if (rows[rows.length - 1].length === 0) rows.pop()
        return { kind: 'matrix', rows }
      }
      if (this.#take('&')) continue
      if (this.#take('\\\\')) rows.push([])
      else rows[rows.length - 1].push(this.member())
    }
  }

  sum(): Expression {
    return this.#deeper(() => {
      let left: Expression | null = null
      const terms: Expression[] = []
      if (this.#take('±')) left = { kind: 'either', left: null, right: this.#term() }
      else left = this.#term()
      terms.push(left)
      for (;;) {
        if (this.#take('+')) terms.push(this.#term())
        else if (this.#take('-')) terms.push({ kind: 'minus', of: this.#term() })
        else if (this.#take('±')) {
          const before: Expression = terms.length === 1 ? terms[0] : { kind: 'sum', terms: [...terms] }
          terms.splice(0, terms.length, { kind: 'either', left: before, right: this.#term() })
        } else break
      }
      return terms.length === 1 ? terms[0] : { kind: 'sum', terms }
    })
  }

  #term(): Expression {
    let result = this.#unary()
    for (;;) {
      if (this.#take('*')) result = times(result, this.#unary())
      else if (this.#take('/')) result = { kind: 'quotient', left: result, right: this.#unary() }
      else if (this.#startsFactor()) result = this.#implicit(result)
      else return result
    }
  }

  /** "2 1/2" and "2\frac{1}{2}" are mixed numbers, "2x" a product. */
  #implicit(left: Expression): Expression {
    const before = this.tokens[this.#at - 1]
    const token = this.tokens[this.#at]
    const whole = left.kind === 'number' && before?.kind === 'number' && left.value.exponent >= 0
    if (whole && token.kind === 'command' && token.text === 'frac') {
      const part = this.#power()
      const value =
        part.kind === 'quotient' && part.left.kind === 'number' && part.right.kind === 'number'
          ? ratio(part.left.value, part.right.value)
          : null
      const total = value && sum(left.value, value)
      return total ? { kind: 'number', value: total } : times(left, part)
    }
    const next = this.tokens[this.#at + 2]
    if (token.kind === 'number' && before?.kind !== 'number') return times(left, this.#power())
    if (token.kind === 'number') {
      if (!whole || this.#sign(1) !== '/' || next?.kind !== 'number') throw new Unreadable()
      this.#at += 3
      const value = ratio(token.value, next.value)
      const total = value && sum(left.value, value)
      if (!total) throw new Unreadable()
      return { kind: 'number', value: total }
    }
    return times(left, this.#power())
  }

  #startsFactor(): boolean {
    const token = this.tokens[this.#at]
    if (!token) return false
    if (token.kind === 'number') return true
    if (token.kind === 'name') return !this.#isListWord(token.text) && !this.#letterUnion()
    if (token.kind === 'sign' && token.text === '|') return this.#open === 0
    if (token.kind === 'command') return token.text !== 'end' && token.text !== 'begin'
    return token.kind === 'sign' && /^[({√∞⌊⌈]$|^\[$/.test(token.text) && token.text !== '['
  }

  #unary(): Expression {
    return this.#deeper(() => {
      if (this.#take('-')) return { kind: 'minus', of: this.#unary() }
      if (this.#take('+')) return this.#unary()
      return this.#power()
    })
  }

  #power(): Expression {
    let base = this.#postfix(this.#atom())
    if (this.#take('^')) {
      if (this.#sign() === '°') {
        this.#at++
        base = { kind: 'function', name: 'degree', of: [base] }
      } else if (this.#sign() === '{' && this.#sign(1) === '°' && this.#sign(2) === '}') {
        this.#at += 3
        base = { kind: 'function', name: 'degree', of: [base] }
      } else base = { kind: 'power', left: base, right: this.#exponent() }
    }
    return this.#postfix(base)
  }

  #exponent(): Expression {
    return this.#deeper(() => {
      if (this.#take('-')) return { kind: 'minus', of: this.#exponent() }
      const base = this.#sign() === '{' ? this.#group('{', '}') : this.#atom()
      return this.#take('^') ? { kind: 'power', left: base, right: this.#exponent() } : base
    })
  }

  #postfix(base: Expression): Expression {
    let result = base
    for (;;) {
      const token = this.tokens[this.#at]
      if (this.#take('!')) result = { kind: 'function', name: 'factorial', of: [result] }
      else if (this.#take('%'))
        result = {
          kind: 'quotient',
          left: result,
          right: { kind: 'number', value: { numerator: 1n, denominator: 1n, exponent: 2 } },
        }
      else if (this.#take('°') || (token?.kind === 'name' && /^deg(?:rees?)?$/.test(token.text) && ++this.#at))
        result = { kind: 'function', name: 'degree', of: [result] }
      else return result
    }
  }

  #group(open: string, close: string): Expression {
    this.#need(open)
    const inside = this.sum()
    this.#need(close)
    return inside
  }

  #braced(): Expression {
    if (this.#sign() === '{') return this.#group('{', '}')
    const token = this.tokens[this.#at]
    // \frac12 is one half: a bare argument is one digit.
    if (token?.kind === 'number' && /^\d{2,}$/.test(token.digits)) {
      const [first, rest] = [token.digits[0], token.digits.slice(1)]
      ;(this.tokens as Token[])[this.#at] = { kind: 'number', value: integer(rest), digits: rest }
      return { kind: 'number', value: integer(first) }
    }
    return this.#atom()
  }

  #atom(): Expression {
    return this.#deeper(() => {
      const token = this.tokens[this.#at]
      if (!token) throw new Unreadable()
      if (token.kind === 'number') {
        this.#at++
        if (this.#sign() === '_') {
          // 123_8: a number in another base is compared as it is written.
          this.#at++
          return { kind: 'symbol', name: `${token.digits}_${this.#index()}` }
        }
        return this.#repeating({ kind: 'number', value: token.value }, token.digits)
      }
      if (token.kind === 'name') return this.#name(token.text, token.latex)
      if (token.kind === 'command') return this.#command(token.text)
      if (token.kind === 'text') {
        this.#at++
        return { kind: 'symbol', name: token.text.toLowerCase() }
      }
      switch (token.text) {
        case '(':
          return this.#group('(', ')')
        case '{':
          return this.#group('{', '}')
        case '[':
          return this.#group('[', ']')
        case '|':
          return this.#bars()
        case '⌊':
          return { kind: 'function', name: 'floor', of: [this.#group('⌊', '⌋')] }
        case '⌈':
          return { kind: 'function', name: 'ceil', of: [this.#group('⌈', '⌉')] }
        case '∞':
          this.#at++
          return { kind: 'constant', name: 'inf' }
        case '√':
          this.#at++
          return { kind: 'function', name: 'sqrt', of: [this.#power()] }
        default:
          throw new Unreadable()
      }
    })
  }

  /** |x|; within bars a bar closes them. */
  #bars(): Expression {
    this.#open++
    const of = this.#group('|', '|')
    this.#open--
    return { kind: 'function', name: 'abs', of: [of] }
  }

  /** 0.\overline{3} */
  #repeating(start: Expression & { kind: 'number' }, digits: string): Expression {
    const token = this.tokens[this.#at]
    if (token?.kind !== 'command' || !/^(?:overline|bar|dot)$/.test(token.text) || !/[.,]/.test(digits)) return start
    this.#at++
    this.#need('{')
    const period = this.tokens[this.#at++]
    if (period?.kind !== 'number' || !/^\d{1,200}$/.test(period.digits)) throw new Unreadable()
    this.#need('}')
    const nines = 10n ** BigInt(period.digits.length) - 1n
    const places = digits.length - Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(',')) - 1
    const part = exact(BigInt(period.digits), nines, -places)
    const value = part && sum(start.value, part)
    if (!value) throw new Unreadable()
    return { kind: 'number', value }
  }

  #command(name: string): Expression {
    this.#at++
    if (name === 'frac') return { kind: 'quotient', left: this.#braced(), right: this.#braced() }
    if (name === 'binom') return { kind: 'function', name: 'binomial', of: [this.#braced(), this.#braced()] }
    if (name === 'sqrt') {
      const degree = this.#sign() === '[' ? this.#group('[', ']') : null
      const of = this.#braced()
      return degree
        ? { kind: 'function', name: 'root', of: [of, degree] }
        : { kind: 'function', name: 'sqrt', of: [of] }
    }
    if (name === 'overline' || name === 'bar') {
      const inside = this.#braced()
      return { kind: 'function', name: 'call overline', of: [inside] }
    }
    if (name === 'opaque') {
      // Sums, integrals and limits are not evaluated: all that follows is compared as it is written.
      const rest = this.tokens.slice(this.#at - 1)
      this.#at = this.tokens.length
      return { kind: 'opaque', text: written(rest) }
    }
    throw new Unreadable()
  }

  #name(given: string, latex: boolean): Expression {
    this.#at++
    const name = greek[given] ?? given
    const known = functions[name]
    if (known) return this.#function(known)
    if (name === 'pi' || name === 'π') return { kind: 'constant', name: 'pi' }
    if (name === 'infinity' || name === 'inf' || name === 'oo') return { kind: 'constant', name: 'inf' }
    if (name === 'set-R') return { kind: 'symbol', name: 'set-R' }
    let full = name
    // The points of an angle or a triangle have an order.
    if (latex && /^(?:angle|triangle)$/.test(name))
      for (
        let next = this.tokens[this.#at];
        next?.kind === 'name' && /^\p{Lu}$/u.test(next.text);
        next = this.tokens[this.#at]
      ) {
        full += ` ${next.text}`
        this.#at++
      }
    if (this.#sign() === '_') {
      this.#at++
      full += `_${this.#index()}`
    }
    while (this.#take("'")) full += "'"
    if ((full === 'e' || full === 'i') && !/_/.test(full)) return { kind: 'constant', name: full }
    const called =
      (/^[fghFGP]['_\d]*$/.test(full) || (latex && full.length > 1 && !(given in greek) && !greekNames.has(name))) &&
      this.#sign() === '('
    if (called) return this.#call(full)
    return { kind: 'symbol', name: full }
  }

  #call(name: string): Expression {
    this.#need('(')
    const of = [this.sum()]
    while (this.#take(',')) of.push(this.sum())
    this.#need(')')
    return { kind: 'function', name: `call ${name}`, of }
  }

  #index(): string {
    if (!this.#take('{')) {
      const token = this.tokens[this.#at++]
      return token ? written([token]) : ''
    }
    const start = this.#at
    while (!this.done && this.#sign() !== '}') this.#at++
    const text = written(this.tokens.slice(start, this.#at))
    this.#need('}')
    return text
  }

  #function(name: string): Expression {
    let base: Expression | null = null
    let exponent: Expression | null = null
    if (this.#take('_')) base = this.#sign() === '{' ? this.#group('{', '}') : this.#braced()
    if (this.#take('^')) exponent = this.#exponent()
    const of = this.#argument()
    const inverse =
      exponent?.kind === 'minus' &&
      exponent.of.kind === 'number' &&
      exponent.of.value.numerator === 1n &&
      inverses[name]
    if (inverse) return { kind: 'function', name: inverse, of: [of] }
    const call: Expression = { kind: 'function', name, of: base ? [of, base] : [of] }
    return exponent ? { kind: 'power', left: call, right: exponent } : call
  }

  /** "(x + 1)", or a product without parentheses up to the next function: sin 2x cos x. */
  #argument(): Expression {
    if (this.#sign() === '(') {
      const inside = this.#postfix(this.#group('(', ')'))
      return inside
    }
    if (this.#sign() === '{') return this.#group('{', '}')
    if (this.#take('-')) return { kind: 'minus', of: this.#argument() }
    let result = this.#power()
    while (this.#startsFactor()) {
      const token = this.tokens[this.#at]
      if ((token.kind === 'name' && functions[token.text]) || (token.kind === 'sign' && token.text === '(')) break
      result = times(result, this.#power())
    }
    return result
  }
}

const greekNames = new Set(['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa', 'lambda', 'mu', 'nu', 'xi', 'rho', 'sigma', 'tau', 'upsilon', 'phi', 'chi', 'psi', 'omega', 'Gamma', 'Delta', 'Theta', 'Lambda', 'Xi', 'Pi', 'Sigma', 'Upsilon', 'Phi', 'Psi', 'Omega', 'ell', 'hbar']) // prettier-ignore

const integer = (digits: string): Exact => ({ numerator: BigInt(digits), denominator: 1n, exponent: 0 })

function ratio(a: Exact, b: Exact): Exact | null {
  return exact(a.numerator * b.denominator, a.denominator * b.numerator, a.exponent - b.exponent)
}

function times(left: Expression, right: Expression): Expression {
  const terms = left.kind === 'product' ? [...left.terms, right] : [left, right]
  return { kind: 'product', terms }
}

function written(tokens: readonly Token[]): string {
  const text = tokens.map((token) => (token.kind === 'number' ? token.digits : token.text)).join(' ')
  return text.replace(/\{ (\S+) \}/g, '$1')
}

/** "x = 1 or x = 2" are 1 and 2; "x = 1, y = 2" stay as they are. */
function solutions(items: readonly MathValue[]): MathValue[] {
  const labels = new Set(
    items.map((item) =>
      item.kind === 'relation' && item.operator === '=' && item.left.kind === 'symbol' ? item.left.name : '',
    ),
  )
  return labels.size > 1 && !labels.has('') ? [...items] : items.map(unlabelled)
}

/** "x = 3" as a solution among others is 3. */
function unlabelled(value: MathValue): MathValue {
  if (value.kind === 'relation' && value.operator === '=' && value.left.kind === 'symbol')
    return { kind: 'expression', tree: value.right, unit: '' }
  return value
}

/**
 * The ways an answer can be read as mathematics, LaTeX or plain: usually one, two where a comma could be in a number or
 * between members of a list, none where it is no mathematics.
 *
 * @param text at most a few thousand code units; longer is not read
 * @example readMath('\\frac{1}{2}', 'en').length // 1
 */
export function readMath(text: string, language: string): MathValue[] {
  if (text.length > 4000) return []
  const readings: MathValue[] = []
  const modes = /\p{Nd}(?:,|\{,\}|٬|،)\p{Nd}/u.test(text) ? (['numbers', 'lists'] as const) : (['numbers'] as const)
  for (const mode of modes) {
    const tokens = mathTokens(text, language, mode)
    if (!tokens || tokens.length === 0) continue
    try {
      readings.push(new Parser(tokens, language).answer())
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
    }
  }
  return readings
}

export { one }
