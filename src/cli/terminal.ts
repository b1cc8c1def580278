import { stripVTControlCharacters } from 'node:util'
import pc from 'picocolors'

type Colors = ReturnType<typeof pc.createColors>

/** Where a command prints. */
export interface Terminal {
  /** For people: standard output, or standard error when the result is to be JSON. */
  print(text: string): void
  /** Progress and warnings: always standard error. */
  note(text: string): void
  /** The result for machines: one document, once. Does nothing without --json. */
  result(value: unknown): void
  readonly json: boolean
  /** Colours of `print`; all plain when it is no terminal or NO_COLOR is set. */
  readonly colors: Colors
  /** True when notes go to a person's terminal, so that a block may be refreshed in place. */
  readonly live: boolean
  readonly columns: number
}

/**
 * The process's own terminal. With `json`, everything that anything (a task of the user's, a library) writes to standard
 * output goes to standard error, and only the result document reaches standard output.
 */
export function openTerminal(json: boolean): Terminal {
  const write = process.stdout.write.bind(process.stdout)
  if (json) process.stdout.write = process.stderr.write.bind(process.stderr)
  const colored = (stream: NodeJS.WriteStream): boolean =>
    stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return {
    json,
    print: (text) => void (json ? process.stderr : process.stdout).write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    result: (value) => {
      if (json) write(`${JSON.stringify(value, null, 2)}\n`)
    },
    colors: pc.createColors(colored(json ? process.stderr : process.stdout)),
    live: process.stderr.isTTY === true && process.env.TERM !== 'dumb' && !process.env.CI,
    get columns() {
      return process.stderr.columns ?? 100
    },
  }
}

/** Text of a model or a task, safe to print: control characters other than line breaks and tabs are shown as pictures. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => {
    const code = control.charCodeAt(0)
    if (code === 0x09 || code === 0x0a) return control
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\uFFFD'
  })
}

/** Columns a text takes, counting East Asian wide characters and emoji twice and combining marks not at all. */
export function displayWidth(text: string): number {
  let width = 0
  for (const character of stripVTControlCharacters(text)) {
    if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(character)) continue
    width +=
      /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u.test(
        character,
      )
        ? 2
        : 1
  }
  return width
}

/** Text padded with spaces to a width in columns. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** Rows of cells as aligned lines, two spaces between columns, nothing after the last. */
export function columns(rows: readonly (readonly string[])[]): string {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, i) => Math.max(0, ...rows.map((row) => displayWidth(row[i] ?? ''))))
  return rows
    .map((row) => row.map((cell, i) => (i === row.length - 1 ? cell : padEnd(cell, widths[i]))).join('  '))
    .join('\n')
}
