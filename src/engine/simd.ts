/**
 * Loops over float32 arrays, four elements an instruction: JavaScript's own loops take them one by one, in float64. The few
 * instructions of WebAssembly that such a loop needs are functions here, composed as a formula is; `compileLoop` makes a module
 * of them. Binary format and opcodes: https://webassembly.github.io/spec/core/binary/index.html
 */

/** Instructions that leave one value: four numbers. */
export type Lanes = readonly number[]

/** What is used of the global of that name, which Node's types leave to the browser's. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: Record<string, unknown> }
}

const magic = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
const vector = 0xfd

/** Unsigned LEB128. */
function unsigned(value: number): number[] {
  const bytes: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest]
    bytes.push((rest & 0x7f) | 0x80)
  }
}

const sized = (bytes: readonly number[]): number[] => [...unsigned(bytes.length), ...bytes]
const section = (id: number, ...items: (readonly number[])[]): number[] => [
  id,
  ...sized([...unsigned(items.length), ...items.flat()]),
]
const name = (text: string): number[] => sized([...text].map((letter) => letter.charCodeAt(0)))
const getLocal = (index: number): number[] => [0x20, index]

const binary =
  (opcode: number) =>
  (a: Lanes, b: Lanes): Lanes => [...a, ...b, vector, ...unsigned(opcode)]

export const add = binary(0xe4)
export const sub = binary(0xe5)
export const mul = binary(0xe6)
export const div = binary(0xe7)
export const sqrt = (a: Lanes): Lanes => [...a, vector, ...unsigned(0xe3)]

/** What a loop's formulas are made of: its arrays at the current place, its scalars, and values computed before. */
export interface LoopBody {
  load(array: number): Lanes
  scalar(index: number): Lanes
  /** Computes once what is used several times. */
  keep(value: Lanes): Lanes
  store(array: number, value: Lanes): void
}

/** Runs over the first `length` elements of the blocks. */
export interface Loop {
  /** One array of `blockLength` elements for each of the loop's arrays: its input and output. */
  readonly blocks: readonly Float32Array[]
  run(length: number, ...scalars: number[]): void
}

/** Elements of a block: four of these fit into the second-level cache. */
export const blockLength = 2 ** 14

/**
 * Compiles a loop over `arrays` blocks with `scalars` numbers that are the same for all elements.
 *
 * @example
 * const scale = compileLoop(1, 1, ({ load, scalar, store }) => store(0, mul(load(0), scalar(0))))
 * scale.blocks[0].set([1, 2, 3])
 * scale.run(3, 10) // blocks[0] begins 10, 20, 30
 */
export function compileLoop(arrays: number, scalars: number, body: (loop: LoopBody) => void): Loop {
  const f32 = 0x7d
  const i32 = 0x7f
  const lanes = 0x7b
  const offset = (array: number): number[] => unsigned(array * blockLength * 4)
  // Locals: the end in bytes, the scalars, the place in bytes, then what is kept.
  const place = scalars + 1
  const code: number[] = []
  let kept = 0
  body({
    load: (array) => [...getLocal(place), vector, 0x00, 0x04, ...offset(array)],
    scalar: (index) => [...getLocal(index + 1), vector, 0x13],
    keep: (value) => {
      const local = place + 1 + kept++
      code.push(...value, 0x21, local)
      return getLocal(local)
    },
    store: (array, value) => void code.push(...getLocal(place), ...value, vector, 0x0b, 0x04, ...offset(array)),
  })
  const step = [...getLocal(place), 0x41, 16, 0x6a, 0x22, place, ...getLocal(0), 0x49, 0x0d, 0]
  const locals = [2, 1, i32, ...unsigned(kept), lanes]
  const pages = Math.ceil((arrays * blockLength * 4) / 65536)
  const module = Uint8Array.from([
    ...magic,
    ...section(1, [0x60, ...sized([i32, ...Array<number>(scalars).fill(f32)]), 0]),
    ...section(3, [0]),
    ...section(5, [0, ...unsigned(pages)]),
    ...section(7, [...name('memory'), 2, 0], [...name('run'), 0, 0]),
    ...section(10, sized([...locals, 0x03, 0x40, ...code, ...step, 0x0b, 0x0b])),
  ])
  const { memory, run } = new WebAssembly.Instance(new WebAssembly.Module(module)).exports as unknown as {
    memory: { buffer: ArrayBuffer }
    run: (end: number, ...scalars: number[]) => void
  }
  return {
    blocks: Array.from(
      { length: arrays },
      (_, array) => new Float32Array(memory.buffer, array * blockLength * 4, blockLength),
    ),
    run: (length, ...values) => {
      if (length > 0) run(length * 4, ...values)
    },
  }
}
