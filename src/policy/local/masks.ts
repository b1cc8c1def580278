/** Additive attention masks of layers that see only so far back. */
import type { Program, Value } from '../../engine/index.js'
import type { PackedRows } from './packing.js'

/** Closes a score. Not -Infinity: a row of padding must stay finite after softmax. */
export const closed = -1e9

/** The mask of packed rows, where each token sees at most the `window` positions that end with its own. [rows, 1, length, length] */
export function windowMask(
  rows: Pick<PackedRows, 'rows' | 'length' | 'positions' | 'attention'>,
  window: number,
): Float32Array {
  const { length, positions } = rows
  const mask = rows.attention.slice()
  for (let row = 0; row < rows.rows; row++)
    for (let i = 0; i < length; i++) {
      const line = (row * length + i) * length
      const first = positions[row * length + i] - window
      for (let j = 0; j < i; j++) if (positions[row * length + j] <= first) mask[line + j] = closed
    }
  return mask
}

/** Among `time` new tokens in a row, whatever their offset: causal, within the window where there is one. */
export function newMask(time: number, window?: number): Value {
  const data = new Float32Array(time * time)
  for (let i = 0; i < time; i++) {
    data.fill(closed, i * time + i + 1, (i + 1) * time)
    if (window !== undefined) data.fill(closed, i * time, i * time + Math.max(0, i - window + 1))
  }
  return { data, shape: [1, 1, time, time] }
}

/** Hides what lies past each row's cached length. [rows, 1, 1, capacity] */
export function pastMask(lengths: readonly number[], capacity: number): Value {
  const data = new Float32Array(lengths.length * capacity)
  lengths.forEach((length, row) => data.fill(closed, row * capacity + length, (row + 1) * capacity))
  return { data, shape: [lengths.length, 1, 1, capacity] }
}

/** As {@link pastMask}, for `time` new tokens that see only a window back. [rows, 1, time, capacity] */
export function pastWindowMask(lengths: readonly number[], capacity: number, time: number, window: number): Value {
  const data = new Float32Array(lengths.length * time * capacity).fill(closed)
  lengths.forEach((length, row) => {
    for (let t = 0; t < time; t++) {
      const line = (row * time + t) * capacity
      data.fill(0, line + Math.max(0, length + t - window + 1), line + length)
    }
  })
  return { data, shape: [lengths.length, 1, time, capacity] }
}

/** The feeds that a program reads: where all layers slide, it has no use for the mask of the others. */
export function readBy(program: Program, feeds: Record<string, Value>): Record<string, Value> {
  const names = new Set(program.inputs.map(({ name }) => name))
  return Object.fromEntries(Object.entries(feeds).filter(([name]) => names.has(name) || !/[mM]ask$/.test(name)))
}
