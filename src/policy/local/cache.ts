import type { Value } from '../../engine/index.js'
import type { DecoderConfig } from '../../models/index.js'

/**
 * Keys and values of what each slot has read, [slots, keyValueHeads, capacity, headDimension] for every layer, written by
 * plain code and read in place by the decoding program. Active slots are kept at the front, so that a step runs over the
 * active ones only; capacity grows and shrinks with the longest.
 */
export class KeyValueCache {
  readonly slots: number
  capacity = 0
  readonly #config: DecoderConfig
  #keys: Float32Array[] = []
  #values: Float32Array[] = []

  constructor(config: DecoderConfig, slots: number) {
    this.#config = config
    this.slots = slots
  }

  /** Makes room for `needed` tokens a slot, keeping the first `used[slot]` tokens of each. */
  resize(needed: number, used: readonly number[]): void {
    const wanted = Math.ceil(Math.max(needed, 1) / 32) * 32
    // Shrinking copies everything; do it only when it halves the work.
    if (wanted <= this.capacity && wanted * 2 > this.capacity) return
    const { keyValueHeads: heads, headDimension: width, layers } = this.#config
    const move = (old: Float32Array | undefined): Float32Array => {
      const fresh = new Float32Array(this.slots * heads * wanted * width)
      if (old)
        used.forEach((length, slot) => {
          const kept = Math.min(length, wanted) * width
          for (let head = 0; head < heads; head++) {
            const from = (slot * heads + head) * this.capacity * width
            fresh.set(old.subarray(from, from + kept), (slot * heads + head) * wanted * width)
          }
        })
      return fresh
    }
    for (let layer = 0; layer < layers; layer++) {
      this.#keys[layer] = move(this.#keys[layer])
      this.#values[layer] = move(this.#values[layer])
    }
    this.capacity = wanted
  }

  /** Copies new keys and values [rows, heads, time, width] of one row into a slot at `offset`. */
  write(outputs: Record<string, Value>, row: number, time: number, slot: number, offset: number, count: number): void {
    const { keyValueHeads: heads, headDimension: width, layers } = this.#config
    for (let layer = 0; layer < layers; layer++) {
      const keys = outputs[`key.${layer}`].data as Float32Array
      const values = outputs[`value.${layer}`].data as Float32Array
      for (let head = 0; head < heads; head++) {
        const from = (row * heads + head) * time * width
        const to = ((slot * heads + head) * this.capacity + offset) * width
        this.#keys[layer].set(keys.subarray(from, from + count * width), to)
        this.#values[layer].set(values.subarray(from, from + count * width), to)
      }
    }
  }

  /** Moves a slot's first `count` tokens to another slot. */
  move(from: number, to: number, count: number): void {
    const { keyValueHeads: heads, headDimension: width } = this.#config
    for (const array of [...this.#keys, ...this.#values])
      for (let head = 0; head < heads; head++) {
        const source = (from * heads + head) * this.capacity * width
        array.copyWithin((to * heads + head) * this.capacity * width, source, source + count * width)
      }
  }

  /** Feeds of the first `count` slots, no copy. */
  front(count: number): Record<string, Value> {
    const { keyValueHeads: heads, headDimension: width } = this.#config
    const shape = [count, heads, this.capacity, width]
    const length = count * heads * this.capacity * width
    return this.#feeds((array) => ({ data: array.subarray(0, length), shape }))
  }

  /** Feeds of chosen slots, copied together, with room for `length` tokens each. */
  gather(slots: readonly number[], length: number): Record<string, Value> {
    const { keyValueHeads: heads, headDimension: width } = this.#config
    const shape = [slots.length, heads, length, width]
    return this.#feeds((array) => {
      const data = new Float32Array(slots.length * heads * length * width)
      slots.forEach((slot, row) => {
        for (let head = 0; head < heads; head++) {
          const from = (slot * heads + head) * this.capacity * width
          data.set(array.subarray(from, from + length * width), (row * heads + head) * length * width)
        }
      })
      return { data, shape }
    })
  }

  #feeds(of: (array: Float32Array) => Value): Record<string, Value> {
    const feeds: Record<string, Value> = {}
    this.#keys.forEach((array, layer) => (feeds[`pastKey.${layer}`] = of(array)))
    this.#values.forEach((array, layer) => (feeds[`pastValue.${layer}`] = of(array)))
    return feeds
  }
}
