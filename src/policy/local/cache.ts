import type { Value } from '../../engine/index.js'
import type { DecoderConfig } from '../../models/index.js'

/** One layer's array, and the one it had before: the next change of capacity moves back into it. */
interface Layer {
  current: Float32Array
  spare: Float32Array | undefined
}

/**
 * Keys and values of what each slot has read, [slots, keyValueHeads, capacity, headDimension] for every layer, written by
 * plain code and read in place by the decoding program. Active slots are kept at the front, so that a step runs over the
 * active ones only; capacity grows and shrinks with the longest.
 * A cache is kept from one call to the next: memory that is asked for anew has to be cleared by the system each time.
 */
export class KeyValueCache {
  readonly slots: number
  capacity = 0
  readonly #config: DecoderConfig
  readonly #keys: Layer[] = []
  readonly #values: Layer[] = []

  constructor(config: DecoderConfig, slots: number) {
    this.#config = config
    this.slots = slots
  }

  /** Forgets everything but the memory: what comes next is laid out as in a new cache, whatever came before. */
  reset(): void {
    this.capacity = 0
  }

  /** Makes room for `needed` tokens a slot, keeping the first `used[slot]` tokens of each. */
  resize(needed: number, used: readonly number[]): void {
    const wanted = Math.ceil(Math.max(needed, 1) / 32) * 32
    // Shrinking copies what is in use; do it only when it halves the work.
    if (wanted <= this.capacity && wanted * 2 > this.capacity) return
    const { keyValueHeads: heads, headDimension: width, layers } = this.#config
    const size = this.slots * heads * wanted * width
    const move = (old: Float32Array | undefined, spare: Float32Array | undefined): Float32Array => {
      // What is left in a used array is past every slot's length, where the mask hides it; it is finite.
      const target = spare && spare.length >= size ? spare : new Float32Array(size)
      if (old)
        used.forEach((length, slot) => {
          const kept = Math.min(length, wanted) * width
          for (let head = 0; head < heads; head++) {
            const from = (slot * heads + head) * this.capacity * width
            target.set(old.subarray(from, from + kept), (slot * heads + head) * wanted * width)
          }
        })
      return target
    }
    for (const sides of [this.#keys, this.#values])
      for (let layer = 0; layer < layers; layer++) {
        const { current, spare } = sides[layer] ?? {}
        sides[layer] = { current: move(current, spare), spare: current }
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
        this.#keys[layer].current.set(keys.subarray(from, from + count * width), to)
        this.#values[layer].current.set(values.subarray(from, from + count * width), to)
      }
    }
  }

  /** Moves a slot's first `count` tokens to another slot. */
  move(from: number, to: number, count: number): void {
    const { keyValueHeads: heads, headDimension: width } = this.#config
    for (const { current: array } of [...this.#keys, ...this.#values])
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
    this.#keys.forEach(({ current }, layer) => (feeds[`pastKey.${layer}`] = of(current)))
    this.#values.forEach(({ current }, layer) => (feeds[`pastValue.${layer}`] = of(current)))
    return feeds
  }
}
