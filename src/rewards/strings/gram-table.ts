/**
 * Counts of n-grams of whole numbers (characters or words), of all orders up to a depth at once: a tree of prefixes whose
 * edges lie in one open hash table. Made once and used again: a new count costs no memory.
 */
export class GramTable {
  readonly #depth: number
  /** By slot: what edge it holds, and of which round. */
  #rounds = new Int32Array(0)
  #parents = new Int32Array(0)
  #items = new Int32Array(0)
  #children = new Int32Array(0)
  /** By node: how often its n-gram may still be matched; and how often the reference that is being read has it. */
  #allowed = new Int32Array(0)
  #seen = new Int32Array(0)
  #readers = new Int32Array(0)
  #mask = 0
  #round = 0
  #reader = 0
  #nodes = 0

  /** @param depth longest n-gram */
  constructor(depth: number) {
    this.#depth = depth
  }

  /**
   * Forgets what was counted and makes room for references of so many items together.
   */
  begin(items: number): void {
    const edges = items * this.#depth + 1
    if (edges * 2 > this.#rounds.length) {
      const size = 2 ** Math.ceil(Math.log2(edges * 2 + 64))
      this.#rounds = new Int32Array(size)
      this.#parents = new Int32Array(size)
      this.#items = new Int32Array(size)
      this.#children = new Int32Array(size)
      this.#allowed = new Int32Array(size)
      this.#seen = new Int32Array(size)
      this.#readers = new Int32Array(size)
      this.#mask = size - 1
      this.#round = 0
      this.#reader = 0
    }
    this.#round++
    this.#nodes = 0
  }

  /** Reads a reference. Of several, an n-gram may be matched as often as the one that has it most often does. */
  add(items: Int32Array, length: number): void {
    this.#reader++
    for (let start = 0; start < length; start++) {
      let node = 0
      const end = Math.min(length, start + this.#depth)
      for (let i = start; i < end; i++) {
        node = this.#extend(node, items[i])
        if (this.#readers[node] !== this.#reader) {
          this.#readers[node] = this.#reader
          this.#seen[node] = 0
        }
        if (++this.#seen[node] > this.#allowed[node]) this.#allowed[node] = this.#seen[node]
      }
    }
  }

  /** Adds to `matches`, by order from 0, how many n-grams are in a reference, each counted no more often than there. Once a round. */
  match(items: Int32Array, length: number, matches: Float64Array): void {
    for (let start = 0; start < length; start++) {
      let node = 0
      const end = Math.min(length, start + this.#depth)
      // An n-gram whose beginning is nowhere is nowhere either.
      for (let i = start; i < end; i++) {
        node = this.#find(node, items[i])
        if (node < 0) break
        if (this.#allowed[node] > 0) {
          this.#allowed[node]--
          matches[i - start]++
        }
      }
    }
  }

  #find(parent: number, item: number): number {
    let slot = slotOf(parent, item) & this.#mask
    while (this.#rounds[slot] === this.#round) {
      if (this.#parents[slot] === parent && this.#items[slot] === item) return this.#children[slot]
      slot = (slot + 1) & this.#mask
    }
    return -1
  }

  #extend(parent: number, item: number): number {
    let slot = slotOf(parent, item) & this.#mask
    while (this.#rounds[slot] === this.#round) {
      if (this.#parents[slot] === parent && this.#items[slot] === item) return this.#children[slot]
      slot = (slot + 1) & this.#mask
    }
    const node = ++this.#nodes
    this.#rounds[slot] = this.#round
    this.#parents[slot] = parent
    this.#items[slot] = item
    this.#children[slot] = node
    this.#allowed[node] = 0
    this.#readers[node] = 0
    return node
  }
}

function slotOf(parent: number, item: number): number {
  const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(item, 0x85ebca77)
  return mixed ^ (mixed >>> 15)
}

/** Items of a text, in memory that is used again: valid until the next text is read into it. */
export class ItemBuffer {
  items = new Int32Array(256)
  length = 0

  /** Room for so many items. */
  reserve(count: number): Int32Array {
    if (this.items.length < count) this.items = new Int32Array(count * 2)
    return this.items
  }
}
