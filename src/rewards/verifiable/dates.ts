import { cached, foldMarks, intlTag } from './locale.js'
import { plainNumbers } from './number-text.js'

type Calendar = 'gregory' | 'buddhist' | 'islamic-umalqura' | 'persian'

/** A day, month or year of a calendar, counted from 1. */
export interface CalendarDate {
  calendar: Calendar
  year: number
  month: number | null
  day: number | null
}

const NOON = 12 * 3_600_000

/** Names of the months, folded, in a language and in English: gregorian ones, and those of a marked calendar. */
const monthNames = cached((key): ReadonlyMap<string, number> => {
  const [calendar, language] = key.split(' ')
  const names = new Map<string, number>()
  for (const tag of new Set([intlTag(language), 'en', 'en-GB']))
    for (const month of ['long', 'short'] as const)
      for (const context of [
        { month },
        { month, day: 'numeric' },
        { month, day: 'numeric', year: 'numeric' },
      ] as const) {
        const format = new Intl.DateTimeFormat(`${tag}-u-nu-latn`, { ...context, calendar, timeZone: 'UTC' })
        const numbers = numbersOf(calendar as Calendar)
        for (let day = 0; day < 380; day += 9) {
          const date = Date.UTC(2023, 0, 1 + day)
          const name = format.formatToParts(date).find(({ type }) => type === 'month')?.value
          const number = Number(numbers.formatToParts(date).find(({ type }) => type === 'month')?.value)
          if (name && /\p{L}/u.test(name)) names.set(foldMarks(name).replace(/\.$/, ''), number)
        }
      }
  return names
})

const numbersOf = cached(
  (calendar): Intl.DateTimeFormat =>
    new Intl.DateTimeFormat('en-u-nu-latn', {
      calendar,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      timeZone: 'UTC',
    }),
)

/** The order in which a language writes numbers of a date, as "day month year". */
const orderOf = cached((language): string =>
  new Intl.DateTimeFormat(intlTag(language), { calendar: 'gregory', year: 'numeric', month: 'numeric', day: 'numeric' })
    .formatToParts(0)
    .flatMap(({ type }) => (type === 'year' || type === 'month' || type === 'day' ? [type] : []))
    .join(' '),
)

// A calendar other than the Gregorian is read only where it is named.
const marks: readonly [Calendar, RegExp][] = [
  ['buddhist', /พ\.?\s?ศ\.?|พุทธศักราช|(?<![a-z])b\.?e\.?(?![a-z])|仏暦|佛历/iu],
  ['persian', /ه\s?\.?\s?ش\.?|هجری شمسی|(?<![a-z])(?:s\.?h|a\.?p)\.?(?![a-z])/iu],
  ['islamic-umalqura', /ه\s?\.?\s?ق\.?|هـ|هجري|هجریہ|(?<![a-z])a\.?h\.?(?![a-z])/iu],
]
const eras: Readonly<Record<string, number>> = { 令和: 2018, 平成: 1988, 昭和: 1925, 大正: 1911, 明治: 1867 }

/**
 * The first date in a text, or null: ISO 8601, numbers in the language's order, names of months in it or in English by CLDR, digits of
 * any script, 年月日, Japanese eras; Buddhist, Hijri (Umm al-Qura) and Persian years where they are marked. A month with its year, or a
 * year alone as the whole text, is a date without what is missing.
 *
 * @example readDate('5 марта 2024 г.', 'ru') // { calendar: 'gregory', year: 2024, month: 3, day: 5 }
 */
export function readDate(given: string, language: string): CalendarDate | null {
  const text = foldMarks(plainNumbers(given.slice(0, 2000)))
  if (/(?<![a-z])b\.?\s?c\.?(?:e\.?)?(?![a-z])|قبل الميلاد|до н\.? ?э|紀元前|公元前/u.test(text)) return null
  const marked = marks.find(([, mark]) => mark.test(text))
  const calendar = marked?.[0] ?? 'gregory'
  const plain = (marked ? text.replace(marked[1], ' ') : text)
    .replace(/ค\.?\s?ศ\.?|คริสต์ศักราช|(?<![a-z])(?:a\.?d|c\.?e)\.?(?![a-z])/iu, ' ')
    .replace(
      /(令和|平成|昭和|大正|明治)\s*(元|\d{1,2})\s*年/u,
      (_, era: string, year: string) => `${eras[era] + (year === '元' ? 1 : Number(year))}年`,
    )
    .replace(/\s+/g, ' ')
    .trim()
  const found =
    east(plain) ?? iso(plain) ?? named(plain, calendar, language) ?? numeric(plain, language) ?? yearAlone(plain)
  if (!found) return null
  const date = { calendar, ...found }
  return valid(date) ? date : null
}

type Parts = Omit<CalendarDate, 'calendar'>

function east(text: string): Parts | null {
  const found = /(\d{1,4}) ?[年년](?: ?(\d{1,2}) ?[月월](?: ?(\d{1,2}) ?[日号일])?)?/u.exec(text)
  return (
    found && {
      year: Number(found[1]),
      month: found[2] ? Number(found[2]) : null,
      day: found[3] ? Number(found[3]) : null,
    }
  )
}

function iso(text: string): Parts | null {
  const found = /(?<!\d)(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)/.exec(text) ?? /^(\d{4})()(\d{2})(\d{2})$/.exec(text)
  if (found) return { year: Number(found[1]), month: Number(found[3]), day: Number(found[4]) }
  const month = /^(\d{4})-(\d{2})$/.exec(text)
  if (month) return { year: Number(month[1]), month: Number(month[2]), day: null }
  return /^\d{4}$/.test(text) ? { year: Number(text), month: null, day: null } : null
}

function named(text: string, calendar: Calendar, language: string): Parts | null {
  const names = monthNames(`${calendar} ${language}`)
  let best: { at: number; name: string; month: number } | null = null
  for (const [name, month] of names) {
    const at = wordAt(text, name)
    if (at >= 0 && (!best || name.length > best.name.length)) best = { at, name, month }
  }
  if (!best) return null
  const before = text.slice(0, best.at)
  const after = text.slice(best.at + best.name.length)
  const year = /(?<!\d)(\d{4})(?!\d)/.exec(after) ?? /(?<!\d)(\d{4})(?!\d)/.exec(before)
  if (!year) return null
  const dayBefore = /(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|º|ª|\.|-?го)?(?: de| d'| of|,)? *$/u.exec(before)
  const dayAfter = /^[.,]? *(?:the )?(\d{1,2})(?:st|nd|rd|th)?(?!\d)/u.exec(after)
  const day = dayBefore?.[1] ?? dayAfter?.[1] ?? null
  return { year: Number(year[1]), month: best.month, day: day === null ? null : Number(day) }
}

function wordAt(text: string, word: string): number {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const [before, after] = [text.slice(0, at), text.slice(at + word.length)]
    if (!/[\p{L}\p{M}]$/u.test(before) && !/^[\p{L}\p{M}]/u.test(after)) return at
  }
  return -1
}

function numeric(text: string, language: string): Parts | null {
  const found = /(?<![\d./-])(\d{1,2})([./-]) ?(\d{1,2})\2 ?(\d{4})(?!\d)/.exec(text)
  if (!found) return null
  const [first, second, year] = [Number(found[1]), Number(found[3]), Number(found[4])]
  const monthFirst = orderOf(language).startsWith('month') ? second <= 31 && first <= 12 : second > 12
  return monthFirst ? { year, month: first, day: second } : { year, month: second, day: first }
}

function yearAlone(text: string): Parts | null {
  const found = /^\D*(\d{4})\D*$/.exec(text)
  return found && { year: Number(found[1]), month: null, day: null }
}

function valid({ calendar, year, month, day }: CalendarDate): boolean {
  if (
    year < 1 ||
    year > 9999 ||
    (month !== null && (month < 1 || month > 12)) ||
    (day !== null && (day < 1 || day > 31))
  )
    return false
  if (month === null || day === null || calendar === 'islamic-umalqura' || calendar === 'persian') return true
  const date = new Date(0)
  date.setUTCFullYear(calendar === 'buddhist' ? year - 543 : year, month - 1, day)
  return date.getUTCMonth() === month - 1
}

/** A Gregorian date in another calendar. */
function inCalendar(date: CalendarDate, calendar: Calendar): CalendarDate | null {
  if (calendar === date.calendar) return date
  if (date.calendar === 'buddhist') return inCalendar({ ...date, calendar: 'gregory', year: date.year - 543 }, calendar)
  if (calendar === 'buddhist') return { ...date, calendar, year: date.year + 543 }
  if (date.calendar !== 'gregory' || date.month === null || date.day === null) return null
  const time = new Date(0)
  time.setUTCFullYear(date.year, date.month - 1, date.day)
  const parts = numbersOf(calendar).formatToParts(time.getTime() + NOON)
  const part = (name: string): number => Number(parts.find(({ type }) => type === name)?.value)
  return { calendar, year: part('year'), month: part('month'), day: part('day') }
}

/**
 * Compares two dates, across calendars.
 *
 * @returns the same day; and how much is right, from the year down: 0, 1/3, 2/3 or 1
 */
export function compareDates(given: CalendarDate, expected: CalendarDate): { same: boolean; share: number } {
  const [a, b] =
    given.calendar === 'gregory'
      ? [inCalendar(given, expected.calendar), expected]
      : [given, inCalendar(expected, given.calendar)]
  if (!a || !b || a.calendar !== b.calendar) return { same: false, share: 0 }
  const same = a.year === b.year && a.month === b.month && a.day === b.day
  if (same) return { same, share: 1 }
  if (a.year !== b.year) return { same, share: 0 }
  return { same, share: a.month !== null && a.month === b.month ? 2 / 3 : 1 / 3 }
}
