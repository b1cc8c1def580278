import { realValue } from './evaluate.js'
import { cached, fold, intlTag } from './locale.js'
import { toFloat } from './exact.js'
import { readMath } from './math-parser.js'
import { currencies, currencyOf, numberAt, numbersIn, numberText } from './read-number.js'

/** A unit in base units: value × factor + offset. */
interface Unit {
  /** Powers of base units: metre, kilogram, second, kelvin, ampere, mole, radian, byte, a currency. */
  base: Readonly<Record<string, number>>
  factor: number
  offset: number
}

const unit = (base: Readonly<Record<string, number>>, factor = 1, offset = 0): Unit => ({ base, factor, offset })

const prefixes: Readonly<Record<string, number>> = {
  T: 1e12, G: 1e9, M: 1e6, k: 1e3, h: 1e2, d: 1e-1, c: 1e-2, m: 1e-3, µ: 1e-6, μ: 1e-6, n: 1e-9, p: 1e-12,
} // prettier-ignore

// Factors from the SI brochure (9th edition) and the international yard and pound agreement of 1959.
const prefixed: Readonly<Record<string, Unit>> = {
  m: unit({ m: 1 }), g: unit({ kg: 1 }, 1e-3), s: unit({ s: 1 }), l: unit({ m: 3 }, 1e-3), L: unit({ m: 3 }, 1e-3), A: unit({ A: 1 }),
  K: unit({ K: 1 }), mol: unit({ mol: 1 }), N: unit({ kg: 1, m: 1, s: -2 }), J: unit({ kg: 1, m: 2, s: -2 }), W: unit({ kg: 1, m: 2, s: -3 }),
  Pa: unit({ kg: 1, m: -1, s: -2 }), Hz: unit({ s: -1 }), V: unit({ kg: 1, m: 2, s: -3, A: -1 }), C: unit({ A: 1, s: 1 }),
  'Ω': unit({ kg: 1, m: 2, s: -3, A: -2 }), F: unit({ kg: -1, m: -2, s: 4, A: 2 }), eV: unit({ kg: 1, m: 2, s: -2 }, 1.602176634e-19),
  B: unit({ byte: 1 }), bit: unit({ byte: 1 }, 1 / 8), cal: unit({ kg: 1, m: 2, s: -2 }, 4.184), Wh: unit({ kg: 1, m: 2, s: -2 }, 3600),
} // prettier-ignore

const plainUnits: Readonly<Record<string, Unit>> = {
  min: unit({ s: 1 }, 60), h: unit({ s: 1 }, 3600), hr: unit({ s: 1 }, 3600), hrs: unit({ s: 1 }, 3600), sec: unit({ s: 1 }), d: unit({ s: 1 }, 86400),
  t: unit({ kg: 1 }, 1000), ton: unit({ kg: 1 }, 1000), tons: unit({ kg: 1 }, 1000), tonne: unit({ kg: 1 }, 1000), tonnes: unit({ kg: 1 }, 1000),
  ha: unit({ m: 2 }, 1e4), bar: unit({ kg: 1, m: -1, s: -2 }, 1e5), atm: unit({ kg: 1, m: -1, s: -2 }, 101325), rad: unit({ rad: 1 }),
  radians: unit({ rad: 1 }), radian: unit({ rad: 1 }), '°': unit({ rad: 1 }, Math.PI / 180), deg: unit({ rad: 1 }, Math.PI / 180),
  '°C': unit({ K: 1 }, 1, 273.15), '°F': unit({ K: 1 }, 5 / 9, 459.67 * (5 / 9)), in: unit({ m: 1 }, 0.0254), ft: unit({ m: 1 }, 0.3048),
  yd: unit({ m: 1 }, 0.9144), mi: unit({ m: 1 }, 1609.344), lb: unit({ kg: 1 }, 0.45359237), lbs: unit({ kg: 1 }, 0.45359237),
  oz: unit({ kg: 1 }, 0.028349523125), mph: unit({ m: 1, s: -1 }, 0.44704), kmh: unit({ m: 1, s: -1 }, 1 / 3.6), kph: unit({ m: 1, s: -1 }, 1 / 3.6),
  cc: unit({ m: 3 }, 1e-6), newton: unit({ kg: 1, m: 1, s: -2 }), newtons: unit({ kg: 1, m: 1, s: -2 }), joule: unit({ kg: 1, m: 2, s: -2 }),
  joules: unit({ kg: 1, m: 2, s: -2 }), watt: unit({ kg: 1, m: 2, s: -3 }), watts: unit({ kg: 1, m: 2, s: -3 }), '%': unit({}, 0.01),
} // prettier-ignore

/** CLDR's names of units that Intl knows. */
const named: Readonly<Record<string, Unit>> = {
  kilometer: unit({ m: 1 }, 1000), meter: unit({ m: 1 }), centimeter: unit({ m: 1 }, 0.01), millimeter: unit({ m: 1 }, 0.001), mile: unit({ m: 1 }, 1609.344),
  foot: unit({ m: 1 }, 0.3048), inch: unit({ m: 1 }, 0.0254), yard: unit({ m: 1 }, 0.9144), kilogram: unit({ kg: 1 }), gram: unit({ kg: 1 }, 1e-3),
  pound: unit({ kg: 1 }, 0.45359237), ounce: unit({ kg: 1 }, 0.028349523125), stone: unit({ kg: 1 }, 6.35029318), liter: unit({ m: 3 }, 1e-3),
  milliliter: unit({ m: 3 }, 1e-6), gallon: unit({ m: 3 }, 0.003785411784), second: unit({ s: 1 }), minute: unit({ s: 1 }, 60), hour: unit({ s: 1 }, 3600),
  day: unit({ s: 1 }, 86400), week: unit({ s: 1 }, 604800), month: unit({ month: 1 }), year: unit({ month: 1 }, 12), millisecond: unit({ s: 1 }, 1e-3),
  celsius: unit({ K: 1 }, 1, 273.15), fahrenheit: unit({ K: 1 }, 5 / 9, 459.67 * (5 / 9)), degree: unit({ rad: 1 }, Math.PI / 180),
  acre: unit({ m: 2 }, 4046.8564224), hectare: unit({ m: 2 }, 1e4), byte: unit({ byte: 1 }), kilobyte: unit({ byte: 1 }, 1e3), megabyte: unit({ byte: 1 }, 1e6),
  gigabyte: unit({ byte: 1 }, 1e9), terabyte: unit({ byte: 1 }, 1e12), 'kilometer-per-hour': unit({ m: 1, s: -1 }, 1 / 3.6),
  'meter-per-second': unit({ m: 1, s: -1 }), 'mile-per-hour': unit({ m: 1, s: -1 }, 0.44704),
} // prettier-ignore

/** Names of units by CLDR, folded: what stands around the number. */
const namesOfTag = cached((tag): ReadonlyMap<string, Unit> => {
  const names = new Map<string, Unit>()
  const add = (options: Intl.NumberFormatOptions, part: 'unit' | 'currency', meaning: Unit): void => {
    const format = new Intl.NumberFormat(tag, { ...options, numberingSystem: 'latn' })
    for (const value of [1, 2, 3, 5, 11, 100]) {
      const words = format.formatToParts(value).flatMap(({ type, value: text }) => (type === part ? [fold(text)] : []))
      const text = words.join(' ').trim()
      if (/[\p{L}°]/u.test(text) && !names.has(text)) names.set(text, meaning)
    }
  }
  for (const [name, meaning] of Object.entries(named))
    for (const unitDisplay of ['long', 'short', 'narrow'] as const)
      add({ style: 'unit', unit: name, unitDisplay }, 'unit', meaning)
  for (const code of currencies)
    add({ style: 'currency', currency: code, currencyDisplay: 'name' }, 'currency', unit({ [`currency ${code}`]: 1 }))
  return names
})

const dollars: ReadonlyMap<string, Unit> = new Map(
  ['dollar', 'dollars'].map((name) => [name, unit({ 'currency USD': 1 })]),
)

/** A unit by its name, in a language or in English. */
function namedUnit(name: string, language: string): Unit | null {
  const folded = fold(name)
  for (const names of [namesOfTag(intlTag(language)), namesOfTag('en'), namesOfTag('en-GB'), dollars]) {
    const found = names.get(folded)
    if (found) return found
  }
  return null
}

function symbolUnit(symbol: string): Unit | null {
  if (Object.hasOwn(plainUnits, symbol)) return plainUnits[symbol]
  if (Object.hasOwn(prefixed, symbol)) return prefixed[symbol]
  const [prefix] = symbol
  const rest = symbol.slice(prefix?.length ?? 0)
  if (prefix && Object.hasOwn(prefixes, prefix) && Object.hasOwn(prefixed, rest)) {
    const found = prefixed[rest]
    return { ...found, factor: found.factor * prefixes[prefix] }
  }
  return null
}

function simpleUnit(text: string, language: string): Unit | null {
  const currency = currencyOf(text)
  if (currency) return unit({ [`currency ${currency}`]: 1 })
  return symbolUnit(text) ?? namedUnit(text, language)
}

/** A unit as it is written: a sign or a name, a product, a quotient or a power of them; null when it is none. */
export function readUnit(given: string, language: string): Unit | null {
  if (given.length > 200) return null
  const text = given
    .replace(/\\(?:text|mathrm|mbox|operatorname)\s*\{([^{}]*)\}/g, '$1')
    .replace(/\\[,;:! ]|~/g, ' ')
    .replace(/\\cdot/g, '·')
    .replace(/\^?\\circ|\^\{\\circ\}|\^°/g, '°')
    .replace(/[°º] ?(?=[CF]\b)/g, '°')
    .replace(/[.。]$/u, '')
    .trim()
  if (text === '') return null
  const whole = simpleUnit(text, language)
  if (whole) return whole
  const raised = /^(square|sq\.?|cubic) (.+)$/iu.exec(text)
  const inner = raised && simpleUnit(raised[2], language)
  if (raised && inner && inner.offset === 0) {
    const power = raised[1].toLowerCase() === 'cubic' ? 3 : 2
    const powers = Object.entries(inner.base).map(([name, exponent]) => [name, exponent * power])
    return { base: Object.fromEntries(powers) as Record<string, number>, factor: inner.factor ** power, offset: 0 }
  }
  const base: Record<string, number> = {}
  let factor = 1
  let sign = 1
  for (const piece of text.split(/(\s*(?:\/|\bper\b)\s*|\s*[·*⋅×]\s*|\s+)/u)) {
    if (/\/|per/.test(piece)) sign = -1
    else if (piece.trim() !== '' && !/^\s*[·*⋅×]\s*$/u.test(piece)) {
      const parts = /^([^\d^{}()-]+?)(?:\^?\{?(-?\d)\}?)?$/u.exec(piece.replace(/[()]/g, ''))
      const found = parts && simpleUnit(parts[1], language)
      if (!parts || !found || found.offset !== 0) return null
      const power = sign * Number(parts[2] ?? 1)
      factor *= found.factor ** power
      for (const [name, exponent] of Object.entries(found.base)) base[name] = (base[name] ?? 0) + exponent * power
    }
  }
  return { base, factor, offset: 0 }
}

/** A number with a unit as it is written. */
export interface Quantity {
  value: number
  unit: string
}

/**
 * The quantity that a text is: a number or a constant expression, and a unit behind it, or before it where a language writes it there.
 *
 * @example readQuantity('kilomita 5', 'sw') // { value: 5, unit: 'kilomita' }
 */
export function readQuantity(given: string, language: string): Quantity | null {
  if (given.length > 1000) return null
  const text = numberText(given).trim()
  const reading = numberAt(text, 0, language, true)
  if (reading) {
    const rest = reading.percent ? '%' : (reading.currency ?? text.slice(reading.end).trim())
    const behind = rest.replace(/^[-]/, '')
    if (behind === '' || readUnit(behind, language)) return { value: toFloat(reading.value), unit: behind }
    const total = compound(text, language)
    if (total) return total
  }
  const before = /^([\p{L}\p{M}.³² /]+?)\s*(?=[-+]?\d)/u.exec(text)
  const after = before && numberAt(text, before[0].length, language, true)
  if (before && after) {
    const rest = text
      .slice(after.end)
      .replace(/[.。]$/u, '')
      .trim()
    // Some units stand around the number: Japanese 時速60キロメートル.
    const whole = rest === '' ? before[1] : `${before[1]} ${rest}`
    if (readUnit(whole, language)) return { value: toFloat(after.value), unit: whole }
  }
  const words = /^(.*?\S)\s+([\p{L}°%][^\s]*)$/u.exec(
    given.trim().replace(/\\(?:text|mathrm)\s*\{\s*([^{}]*)\}/g, ' $1'),
  )
  if (words && readUnit(words[2], language))
    for (const value of readMath(words[1], language)) {
      const number = value.kind === 'expression' ? realValue(value.tree) : null
      if (number !== null) return { value: number, unit: words[2] }
    }
  return null
}

/** "1 hour 30 minutes", "5 ft 3 in": the sum, in the first unit. */
function compound(text: string, language: string): Quantity | null {
  let total = 0
  let first: { unit: Unit; name: string } | null = null
  const pieces = text.match(/\d[\d.,]*\s*[^\d]+/gu) ?? []
  if (pieces.length < 2 || pieces.length > 4 || pieces.join('').length !== text.length) return null
  for (const piece of pieces) {
    const reading = numberAt(piece, 0, language, true)
    const name = reading
      ? piece
          .slice(reading.end)
          .trim()
          .replace(/(?:,|\s(?:and|y|и|و|und|et|na))$/u, '')
      : ''
    const found = readUnit(name, language)
    if (!reading || !found || found.offset !== 0 || (first && !sameBase(first.unit, found))) return null
    first ??= { unit: found, name }
    total += toFloat(reading.value) * found.factor
  }
  return first && { value: total / first.unit.factor, unit: first.name }
}

/**
 * The last number of a sentence that has a unit, or null.
 *
 * @example lastQuantity('It is 5 km away.', 'en') // { value: 5, unit: 'km' }
 */
export function lastQuantity(given: string, language: string): Quantity | null {
  const text = numberText(given.slice(-1000))
  for (const { value, end } of numbersIn(given.slice(-1000), language).reverse().slice(0, 20)) {
    const words = text
      .slice(end, end + 60)
      .split(/(?<=\s)/u)
      .slice(0, 4)
    for (let count = words.length; count > 0; count--) {
      const unitText = words
        .slice(0, count)
        .join('')
        .replace(/[\s.,;:!?。]+$/u, '')
        .trim()
      if (unitText !== '' && readUnit(unitText, language)) return { value: toFloat(value), unit: unitText }
    }
  }
  return null
}

/**
 * Are two quantities the same, after conversion? To a relative 1e-9 by default.
 *
 * @returns null when a unit is not known
 */
export function sameQuantity(a: Quantity, b: Quantity, language: string, relativeTolerance = 1e-9): boolean | null {
  const [left, right] = [readUnit(a.unit, language), readUnit(b.unit, language)]
  if (!left || !right) return fold(a.unit) === fold(b.unit) ? a.value === b.value : null
  if (!sameBase(left, right)) return false
  const [x, y] = [a.value * left.factor + left.offset, b.value * right.factor + right.offset]
  return x === y || Math.abs(x - y) <= relativeTolerance * Math.max(Math.abs(x), Math.abs(y))
}

function sameBase(a: Unit, b: Unit): boolean {
  const names = new Set([...Object.keys(a.base), ...Object.keys(b.base)])
  return [...names].every((name) => (a.base[name] ?? 0) === (b.base[name] ?? 0))
}
