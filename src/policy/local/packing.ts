/**
 * Packs sequences into rows of one length. Sequences that begin with the same prompt (everything before the first
 * trainable token) share it: a group of samples is stored as a tree, its prompt once, each continuation a branch that
 * sees the prompt and itself and nothing else.
 */

import type { Value } from '../../engine/index.js'

/** What packing needs to know of a sequence. */
export interface PackItem {
  tokens: readonly number[]
  /** 1 on tokens whose logprob is wanted. [tokens] */
  mask: Uint8Array
}

export interface PackedRows {
  rows: number
  /** Tokens per row, padding included. */
  length: number
  /** Token ids [rows, length]; padding is 0. */
  tokens: Int32Array
  /** Position of each token in its own sequence [rows, length]. */
  positions: Int32Array
  /** 0 where token i of a row may look at token j, else a large negative number [rows, 1, length, length]. */
  attention: Float32Array
  /** Of each wanted logprob: flat index of the token before it, and the token itself. [wanted] */
  select: Int32Array
  targets: Int32Array
  /** Where each wanted logprob comes from: index of the sequence in the input and of the token in it. [wanted] */
  sequence: Int32Array
  entry: Int32Array
  /** Tokens that are not padding. */
  used: number
}

interface Tree {
  prompt: number
  branches: { sequence: number; from: number; to: number }[]
  size: number
}

/** The closed part of a score. Not -Infinity: a row of padding must stay finite after softmax. */
const closed = -1e9

/** Index of the first wanted token: where a branch leaves its prompt. */
function promptLength(item: PackItem): number {
  const first = item.mask.indexOf(1)
  return first < 0 ? item.tokens.length : first
}

/** Sequences that share a prompt, in order of first appearance. */
export function groupByPrompt(items: readonly PackItem[]): number[][] {
  const groups = new Map<string, number[]>()
  items.forEach((item, index) => {
    const key = item.tokens.slice(0, promptLength(item)).join()
    const group = groups.get(key)
    if (group) group.push(index)
    else groups.set(key, [index])
  })
  return [...groups.values()]
}

/**
 * @param options.length preferred row length; longer sequences make longer rows
 * @param options.tokenBudget most tokens (rows times length) of one micro-batch
 */
export function pack(items: readonly PackItem[], options: { length: number; tokenBudget: number }): PackedRows[] {
  const longest = items.reduce((max, item) => Math.max(max, item.tokens.length), 0)
  const length = Math.max(options.length, Math.ceil(longest / 32) * 32)
  const trees: Tree[] = []
  for (const group of groupByPrompt(items)) {
    const prompt = promptLength(items[group[0]])
    const own: Tree[] = []
    for (const sequence of group) {
      if (items[sequence].mask.indexOf(1) < 0) continue
      const to = items[sequence].tokens.length
      let tree = own.find((candidate) => candidate.size + to - prompt <= length)
      if (!tree) own.push((tree = { prompt, branches: [], size: prompt }))
      tree.branches.push({ sequence, from: prompt, to })
      tree.size += to - prompt
    }
    trees.push(...own)
  }
  // First fit, longest first; equal sizes keep their order, so that packing is a function of the batch alone.
  trees.sort((a, b) => b.size - a.size)
  const rows: { trees: Tree[]; free: number }[] = []
  for (const tree of trees) {
    let row = rows.find((candidate) => candidate.free >= tree.size)
    if (!row) rows.push((row = { trees: [], free: length }))
    row.trees.push(tree)
    row.free -= tree.size
  }
  const perBatch = Math.max(1, Math.floor(options.tokenBudget / length))
  const batches: PackedRows[] = []
  for (let start = 0; start < rows.length; start += perBatch)
    batches.push(
      fill(
        items,
        rows.slice(start, start + perBatch).map((row) => row.trees),
        length,
      ),
    )
  return batches
}

function fill(items: readonly PackItem[], rows: readonly Tree[][], length: number): PackedRows {
  const count = rows.length
  const tokens = new Int32Array(count * length)
  const positions = new Int32Array(count * length)
  const attention = new Float32Array(count * length * length).fill(closed)
  const select: number[] = []
  const targets: number[] = []
  const sequences: number[] = []
  const entries: number[] = []
  let used = 0
  rows.forEach((trees, row) => {
    const base = row * length
    let offset = 0
    for (const tree of trees) {
      const start = offset
      const place = (index: number, item: PackItem): void => {
        tokens[base + offset] = item.tokens[index]
        positions[base + offset] = index
        offset++
      }
      const first = items[tree.branches[0].sequence]
      for (let t = 0; t < tree.prompt; t++) {
        const line = (base + offset) * length
        attention.fill(0, line + start, line + offset + 1)
        place(t, first)
      }
      for (const branch of tree.branches) {
        const item = items[branch.sequence]
        const begin = offset
        for (let t = branch.from; t < branch.to; t++) {
          const line = (base + offset) * length
          attention.fill(0, line + start, line + start + tree.prompt)
          attention.fill(0, line + begin, line + offset + 1)
          if (item.mask[t]) {
            // The first token of a branch follows the last of the prompt, wherever the branch was placed.
            select.push(t === branch.from ? base + start + tree.prompt - 1 : base + offset - 1)
            targets.push(item.tokens[t])
            sequences.push(branch.sequence)
            entries.push(t)
          }
          place(t, item)
        }
      }
    }
    used += offset
  })
  return {
    rows: count,
    length,
    tokens,
    positions,
    attention,
    select: Int32Array.from(select),
    targets: Int32Array.from(targets),
    sequence: Int32Array.from(sequences),
    entry: Int32Array.from(entries),
    used,
  }
}

/** Numbers of the wanted tokens: [wanted], or with `count` so many a token, [wanted, count]. */
export function pick(rows: PackedRows, of: (sequence: number) => Float32Array, count?: number): Value {
  const width = count ?? 1
  const data = new Float32Array(rows.select.length * width)
  for (let i = 0; i < rows.select.length; i++) {
    const from = rows.entry[i] * width
    const array = of(rows.sequence[i])
    for (let k = 0; k < width; k++) data[i * width + k] = array[from + k]
  }
  return { data, shape: count === undefined ? [rows.select.length] : [rows.select.length, count] }
}

/** Ids of the wanted tokens' alternatives [wanted, count]; the first of the vocabulary stands in where there is none. */
export function pickIds(rows: PackedRows, count: number, of: (sequence: number) => Int32Array): Value {
  const data = new Int32Array(rows.select.length * count)
  for (let i = 0; i < rows.select.length; i++)
    for (let k = 0; k < count; k++) data[i * count + k] = Math.max(0, of(rows.sequence[i])[rows.entry[i] * count + k])
  return { data, shape: [rows.select.length, count] }
}
