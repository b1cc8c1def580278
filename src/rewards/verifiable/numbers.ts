import { MyriadError } from '../../core/index.js'
import { equalExact, near, toFloat, toInteger, type Exact, type Tolerance } from './exact.js'
import { isSpelled } from './number-words.js'
import { numbersIn, readNumber, type NumberReading } from './read-number.js'
import { readQuantity, readUnit, sameQuantity } from './units.js'

export interface NumberOptions extends Tolerance {
  /** What 50% is: 0.5, as good as 50, or 50. */
  percent?: 'fraction' | 'either' | 'ignore'
  /** Numbers spelled out count, where CLDR has the language's rules. */
  words?: boolean
  several?: 'reject' | 'first' | 'last'
}

interface Context extends NumberOptions {
  language: string
  expectedLanguage?: string
  /** The text is a stated answer: two numbers in it are two answers. Else the last number counts. */
  stated: boolean
}

const hundredth = (value: Exact): Exact => ({ ...value, exponent: value.exponent - 2 })

function valuesOf({ value, percent }: NumberReading, mode: 'fraction' | 'either' | 'ignore'): Exact[] {
  if (!percent || mode === 'ignore') return [value]
  return mode === 'fraction' ? [hundredth(value)] : [hundredth(value), value]
}

/**
 * Compares texts with an expected number, exactly or within a tolerance.
 *
 * @throws MyriadError 'reward' when the expected text is no number and spells none
 */
export function sameNumber(expected: string, context: Context): (text: string) => { equal: boolean; why?: string } {
  const { language, expectedLanguage = language, percent = 'fraction', words = true } = context
  const wanted = readNumber(expected, expectedLanguage)
  if (!wanted && !/\p{L}/u.test(expected))
    throw new MyriadError('reward', `the expected answer ${JSON.stringify(expected.slice(0, 80))} is no number`)
  return (text) => {
    const spelled = words && wanted ? isSpelledAs(text, wanted.value, language) : false
    if (spelled) return { equal: true, why: 'spelled out' }
    const given = pick(text, context)
    if (given === null) return { equal: false, why: 'no number' }
    if (given === 'several') return { equal: false, why: 'several numbers' }
    if (!wanted)
      return { equal: words && isSpelledAs(expected, given.value, expectedLanguage), why: 'compared in words' }
    if (given.currency !== null && wanted.currency !== null && given.currency !== wanted.currency)
      return { equal: false, why: `${given.currency} is not ${wanted.currency}` }
    const units = unitsOf(text, expected, language, expectedLanguage)
    if (units !== null) return { equal: units }
    const equal = valuesOf(given, percent).some((x) =>
      valuesOf(wanted, percent).some((y) => equalExact(x, y) || near(x, y, context)),
    )
    return { equal }
  }
}

function isSpelledAs(text: string, value: Exact, language: string): boolean {
  // Chinese says "of a hundred parts, fifty".
  const percent = text.trim().startsWith('百分之')
  const whole = toInteger(percent ? { ...value, exponent: value.exponent + 2 } : value)
  if (percent) return whole !== null && isSpelled(text.trim().slice(3), Number(whole), language)
  return whole !== null && !/\p{Nd}/u.test(text) && isSpelled(text, Number(whole), language)
}

/** Where both have a unit that is known: the same quantity? Null where one has none. */
function unitsOf(text: string, expected: string, language: string, expectedLanguage: string): boolean | null {
  const [a, b] = [readQuantity(text, language), readQuantity(expected, expectedLanguage)]
  if (!a || !b || a.unit === '' || b.unit === '' || a.unit === '%' || b.unit === '%') return null
  return sameQuantity(a, b, language)
}

/** "42abc": letters directly behind the digits that are no unit. */
function gluedWord(text: string, rest: string, language: string): boolean {
  const letters = /^[\p{Script=Latin}\p{Script=Greek}]+/u.exec(rest)?.[0]
  if (letters === 's' && /(?<!\p{Nd})[12]\p{Nd}{2}0s/u.test(text)) return true // the 1990s
  return letters !== undefined && new RegExp(`\\p{Nd}${letters}`, 'u').test(text) && readUnit(rest, language) === null
}

function pick(text: string, { language, stated, several = 'reject' }: Context): NumberReading | 'several' | null {
  const whole = readNumber(text, language)
  if (whole && !gluedWord(text, whole.rest, language)) return whole
  const after = /=\s*([^=]*\p{Nd}[^=]*)$/u.exec(text.slice(-1000))?.[1]
  const right = after === undefined ? null : readNumber(after, language)
  if (right) return right
  const outside = numbersIn(
    stated ? text.replace(/[(（][^()（）]*[)）]/gu, (inner, at: number) => (at === 0 ? inner : ' ')) : text,
    language,
  )
  const all = outside.length > 0 || !stated ? outside : numbersIn(text, language)
  if (all.length === 0) return null
  const last = all[all.length - 1]
  const differ = all.some(({ value, percent }) => toFloat(value) !== toFloat(last.value) || percent !== last.percent)
  if (stated && differ) return several === 'reject' ? 'several' : several === 'first' ? all[0] : last
  return last
}
