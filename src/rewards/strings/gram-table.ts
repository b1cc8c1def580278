/**
 * Counts of n-grams of whole numbers (characters or words), of all orders up to a depth at once: a tree of prefixes whose
 * edges lie in one open hash table. Made once and used again: a new count costs no memory.
 */
export class GramTable {
  readonly #depth: number
  /** Four numbers a slot: the round it was written in, the edge's parent and item, and the node it leads to. */
  #slots = new Int32Array(0)
  /** By node: how often its n-gram may still be matched; how often the reference being read has it, and which one that is. */
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
    if (edges * 2 > this.#mask) {
      const size = 2 ** Math.ceil(Math.log2(edges * 2 + 64))
      this.#slots = new Int32Array(size * 4)
      this.#allowed = new Int32Array(size)
      this.#seen = new Int32Array(size)
      this.#readers = new Int32Array(size)
      this.#mask = size - 1
      this.#round = 0
    }
    this.#round++
    this.#reader = 0
    this.#nodes = 0
  }

  /** Reads a reference. Of several, an n-gram may be matched as often as the one that has it most often does. */
  add(items: Int32Array, length: number): void {
    const reader = ++this.#reader
    const slots = this.#slots
    const allowed = this.#allowed
    const mask = this.#mask
    const round = this.#round
    let nodes = this.#nodes
    for (let start = 0; start < length; start++) {
      let node = 0
      const end = Math.min(length, start + this.#depth)
      for (let i = start; i < end; i++) {
        const item = items[i]
        let at = (slotOf(node, item) & mask) << 2
        while (slots[at] === round && (slots[at + 2] !== item || slots[at + 1] !== node))
          at = (at + 4) & ((mask << 2) | 3)
        if (slots[at] === round) node = slots[at + 3]
        else {
          slots[at] = round
          slots[at + 1] = node
          slots[at + 2] = item
          slots[at + 3] = node = ++nodes
          allowed[node] = 0
          this.#readers[node] = 0
        }
        if (reader === 1) allowed[node]++
        else this.#count(node, reader)
      }
    }
    this.#nodes = nodes
  }

  #count(node: number, reader: number): void {
    if (this.#readers[node] !== reader) {
      this.#readers[node] = reader
      this.#seen[node] = 0
    }
    if (++this.#seen[node] > this.#allowed[node]) this.#allowed[node] = this.#seen[node]
  }

  /** Adds to `matches`, by order from 0, how many n-grams are in a reference, each counted no more often than there. Once a round. */
  match(items: Int32Array, length: number, matches: Float64Array): void {
    const slots = this.#slots
    const allowed = this.#allowed
    const mask = this.#mask
    const round = this.#round
    for (let start = 0; start < length; start++) {
      let node = 0
      const end = Math.min(length, start + this.#depth)
      // An n-gram whose beginning is nowhere is nowhere either.
      for (let i = start; i < end; i++) {
        const item = items[i]
        let at = (slotOf(node, item) & mask) << 2
        while (slots[at] === round && (slots[at + 2] !== item || slots[at + 1] !== node))
          at = (at + 4) & ((mask << 2) | 3)
        if (slots[at] !== round) break
        node = slots[at + 3]
        if (allowed[node] > 0) {
          allowed[node]--
          matches[i - start]++
        }
      }
    }
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
