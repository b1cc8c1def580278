const months = 'January February March April May June July August September October November December'.split(' ')
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

const two = (value: number): string => String(value).padStart(2, '0')

const directives: Readonly<Record<string, (time: Date) => string>> = {
  Y: (time) => String(time.getFullYear()),
  y: (time) => two(time.getFullYear() % 100),
  m: (time) => two(time.getMonth() + 1),
  B: (time) => months[time.getMonth()],
  b: (time) => months[time.getMonth()].slice(0, 3),
  d: (time) => two(time.getDate()),
  e: (time) => String(time.getDate()).padStart(2, ' '),
  A: (time) => days[time.getDay()],
  a: (time) => days[time.getDay()].slice(0, 3),
  H: (time) => two(time.getHours()),
  I: (time) => two(time.getHours() % 12 || 12),
  p: (time) => (time.getHours() < 12 ? 'AM' : 'PM'),
  M: (time) => two(time.getMinutes()),
  S: (time) => two(time.getSeconds()),
  '%': () => '%',
}

/**
 * A local time in the words of C's strftime, in English whatever the machine speaks; `%-d` leaves the zero out. Directives
 * that are not known stay as they are.
 *
 * @example
 * strftime(new Date(2024, 6, 26), '%d %b %Y') // '26 Jul 2024'
 */
export function strftime(time: Date, format: string): string {
  return format.replaceAll(/%(-?)([A-Za-z%])/g, (whole, bare: string, letter: string) => {
    const text = directives[letter]?.(time)
    if (text === undefined) return whole
    return bare === '' ? text : text.replace(/^[0 ](?=.)/, '')
  })
}
