/** A pair of neighbouring symbols, packed into one number, and how often it was seen. */
export interface PairCount {
  count: number
  key: number
}

/** A binary heap: the highest count first; of equal counts, the smallest key. */
export class PairHeap {
  readonly #counts: number[] = []
  readonly #keys: number[] = []

  get size(): number {
    return this.#keys.length
  }

  push(count: number, key: number): void {
    let hole = this.#keys.length
    this.#counts.push(count)
    this.#keys.push(key)
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      if (!this.#before(count, key, parent)) break
      this.#move(parent, hole)
      hole = parent
    }
    this.#counts[hole] = count
    this.#keys[hole] = key
  }

  pop(): PairCount | null {
    if (this.#keys.length === 0) return null
    const top = { count: this.#counts[0], key: this.#keys[0] }
    const count = this.#counts.pop() as number
    const key = this.#keys.pop() as number
    const size = this.#keys.length
    if (size === 0) return top
    let hole = 0
    for (;;) {
      let child = 2 * hole + 1
      if (child >= size) break
      if (child + 1 < size && this.#before(this.#counts[child + 1], this.#keys[child + 1], child)) child++
      if (this.#before(count, key, child)) break
      this.#move(child, hole)
      hole = child
    }
    this.#counts[hole] = count
    this.#keys[hole] = key
    return top
  }

  #before(count: number, key: number, index: number): boolean {
    return count > this.#counts[index] || (count === this.#counts[index] && key < this.#keys[index])
  }

  #move(from: number, to: number): void {
    this.#counts[to] = this.#counts[from]
    this.#keys[to] = this.#keys[from]
  }
}
