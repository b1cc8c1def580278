/**
 * Arithmetic on named dimensions. A dimension is a polynomial with integer coefficients in the names; its text form is
 * canonical, so that two dimensions are equal exactly when their texts are.
 */
import { MyriadError } from '../core/index.js'
import type { Dimension, Shape } from './types.js'

/** From a product of names ('' is the constant term, 'batch*time') to its coefficient. */
type Polynomial = Map<string, number>

/** One term of a dimension: coefficient times names. */
export interface Term {
  coefficient: number
  names: string[]
}

function parse(dimension: Dimension): Polynomial {
  const polynomial: Polynomial = new Map()
  if (typeof dimension === 'number') {
    if (!Number.isInteger(dimension)) throw new MyriadError('shape', `dimension ${dimension} is not an integer`)
    return dimension === 0 ? polynomial : polynomial.set('', dimension)
  }
  for (const term of dimension.replaceAll('-', '+-').split('+')) {
    if (term === '') continue
    let coefficient = 1
    const names: string[] = []
    for (const factor of term.split('*')) {
      const match = /^(-?)(?:(\d+)|([A-Za-z_]\w*))$/.exec(factor.trim())
      if (!match) {
        throw new MyriadError('shape', `dimension '${dimension}': '${factor}' is neither a number nor a name`)
      }
      if (match[1]) coefficient = -coefficient
      if (match[2]) coefficient *= Number(match[2])
      else names.push(match[3])
    }
    const key = names.sort().join('*')
    polynomial.set(key, (polynomial.get(key) ?? 0) + coefficient)
  }
  return polynomial
}

function format(polynomial: Polynomial): Dimension {
  const keys = [...polynomial.keys()].filter((key) => polynomial.get(key) !== 0)
  if (keys.length === 0) return 0
  if (keys.length === 1 && keys[0] === '') return polynomial.get('')!
  keys.sort((a, b) => (a === '' ? 1 : b === '' ? -1 : a < b ? -1 : 1))
  const terms = keys.map((key) => {
    const coefficient = polynomial.get(key)!
    if (key === '') return String(coefficient)
    return coefficient === 1 ? key : coefficient === -1 ? `-${key}` : `${coefficient}*${key}`
  })
  return terms.join('+').replaceAll('+-', '-')
}

/** The canonical form of a dimension. Throws `shape` when the text is not a sum of products of names and integers. */
export function canonical(dimension: Dimension): Dimension {
  return typeof dimension === 'number' ? dimension : format(parse(dimension))
}

/** The terms of a dimension, constant term last. */
export function termsOf(dimension: Dimension): Term[] {
  return [...parse(dimension)].map(([key, coefficient]) => ({
    coefficient,
    names: key === '' ? [] : key.split('*'),
  }))
}

export function addDimensions(...dimensions: Dimension[]): Dimension {
  if (dimensions.every((dimension) => typeof dimension === 'number')) return dimensions.reduce((a, b) => a + b, 0)
  const result: Polynomial = new Map()
  for (const dimension of dimensions) {
    for (const [key, coefficient] of parse(dimension)) result.set(key, (result.get(key) ?? 0) + coefficient)
  }
  return format(result)
}

export function negateDimension(dimension: Dimension): Dimension {
  return multiplyDimensions(-1, dimension)
}

export function multiplyDimensions(...dimensions: Dimension[]): Dimension {
  if (dimensions.every((dimension) => typeof dimension === 'number')) return dimensions.reduce((a, b) => a * b, 1)
  let result: Polynomial = new Map([['', 1]])
  for (const dimension of dimensions) {
    const product: Polynomial = new Map()
    for (const [keyA, a] of result) {
      for (const [keyB, b] of parse(dimension)) {
        const key = [...keyA.split('*'), ...keyB.split('*')]
          .filter((name) => name !== '')
          .sort()
          .join('*')
        product.set(key, (product.get(key) ?? 0) + a * b)
      }
    }
    result = product
  }
  return format(result)
}

/**
 * a / b where b is one term that divides every term of a; undefined where it does not.
 *
 * @example divideDimension('4*batch*time', '2*time') // '2*batch'
 */
export function divideDimension(a: Dimension, b: Dimension): Dimension | undefined {
  const divisor = termsOf(b)
  if (divisor.length !== 1) return a === b ? 1 : undefined
  const result: Polynomial = new Map()
  for (const { coefficient, names } of termsOf(a)) {
    const rest = [...names]
    for (const name of divisor[0].names) {
      const at = rest.indexOf(name)
      if (at < 0) return a === b ? 1 : undefined
      rest.splice(at, 1)
    }
    if (coefficient % divisor[0].coefficient !== 0) return undefined
    const key = rest.join('*')
    result.set(key, (result.get(key) ?? 0) + coefficient / divisor[0].coefficient)
  }
  return format(result)
}

/** The number of elements of a shape, as a dimension. */
export function productOf(shape: Shape): Dimension {
  return multiplyDimensions(...shape)
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dimension, axis) => dimension === b[axis])
}

/** `[batch, 4, time]`, for messages. */
export function describeShape(shape: Shape): string {
  return `[${shape.join(', ')}]`
}

/** The shape two shapes broadcast to (NumPy's rule), or undefined when they do not. */
export function broadcastShapes(a: Shape, b: Shape): Shape | undefined {
  const rank = Math.max(a.length, b.length)
  const result: Dimension[] = []
  for (let axis = 0; axis < rank; axis++) {
    const x = a[axis - rank + a.length] ?? 1
    const y = b[axis - rank + b.length] ?? 1
    if (x !== y && x !== 1 && y !== 1) return undefined
    result.push(x === 1 ? y : x)
  }
  return result
}
