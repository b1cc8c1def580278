/**
 * A map from two integers to one, in typed arrays: what a vocabulary of half a million merges needs to be looked up fast
 * and kept small. All numbers are non-negative; there is no way to take a pair out again.
 */
export class PairTable {
  #firsts: Int32Array
  #seconds: Int32Array
  #values: Int32Array
  #mask: number
  #size = 0

  /** @param expected Room for so many pairs; it grows when there are more. */
  constructor(expected = 16) {
    let slots = 32
    while (slots < 2 * expected) slots *= 2
    this.#mask = slots - 1
    this.#firsts = new Int32Array(slots)
    this.#seconds = new Int32Array(slots)
    this.#values = new Int32Array(slots).fill(-1)
  }

  get size(): number {
    return this.#size
  }

  /** The value of a pair, or -1. */
  get(first: number, second: number): number {
    return this.#values[this.#slot(first, second)]
  }

  set(first: number, second: number, value: number): void {
    let slot = this.#slot(first, second)
    if (this.#values[slot] < 0) {
      if (2 * ++this.#size > this.#mask) {
        this.#grow()
        slot = this.#slot(first, second)
      }
      this.#firsts[slot] = first
      this.#seconds[slot] = second
    }
    this.#values[slot] = value
  }

  /** Where the pair is, or the free slot where it belongs. */
  #slot(first: number, second: number): number {
    let hash = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    let slot = (hash ^ (hash >>> 13)) & this.#mask
    while (this.#values[slot] >= 0 && (this.#firsts[slot] !== first || this.#seconds[slot] !== second))
      slot = (slot + 1) & this.#mask
    return slot
  }

  #grow(): void {
    const [firsts, seconds, values] = [this.#firsts, this.#seconds, this.#values]
    const slots = 2 * values.length
    this.#mask = slots - 1
    this.#firsts = new Int32Array(slots)
    this.#seconds = new Int32Array(slots)
    this.#values = new Int32Array(slots).fill(-1)
    for (let i = 0; i < values.length; i++) {
      if (values[i] < 0) continue
      const slot = this.#slot(firsts[i], seconds[i])
      this.#firsts[slot] = firsts[i]
      this.#seconds[slot] = seconds[i]
      this.#values[slot] = values[i]
    }
  }
}
