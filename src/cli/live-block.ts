/** Lines at the bottom of a terminal that are redrawn in place. */
export class LiveBlock {
  readonly #write: (text: string) => void
  #lines = 0

  /** @param write to the terminal that shows the block */
  constructor(write: (text: string) => void) {
    this.#write = write
  }

  /** Replaces what was shown. Lines must not be wider than the terminal. */
  show(lines: readonly string[]): void {
    this.#write(`${this.#back()}${lines.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`)
    this.#lines = lines.length
  }

  /** Puts a line above the block that stays. */
  above(text: string): void {
    this.#write(`${this.#back()}\x1b[J${text}\n`)
    this.#lines = 0
  }

  /** Takes the block away. */
  clear(): void {
    if (this.#lines === 0) return
    this.#write(`${this.#back()}\x1b[J`)
    this.#lines = 0
  }

  #back(): string {
    return this.#lines === 0 ? '' : `\x1b[${this.#lines}A\r`
  }
}
