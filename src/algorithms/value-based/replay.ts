import { z } from 'zod'
import type { Json, Random } from '../../core/index.js'
import { MyriadError } from '../../core/index.js'
import { objective } from '../objective.js'

/** Everything a replay memory is: plain JSON. */
export interface ReplayState<Item extends Json> {
  items: Item[]
  /** Where the next item goes. */
  next: number
  /** Raised to alpha already; as many as items. Absent where sampling is uniform. */
  priorities?: number[]
  /** The largest priority ever given. */
  highest?: number
}

export interface Drawn<Item> {
  items: Item[]
  /** To give priorities by: [items] */
  indices: number[]
  /** Importance weights, at most 1: [items] */
  weights: number[]
}

export interface Replay<Item extends Json> {
  readonly size: number
  /** Puts an item in the place of the oldest once there are `capacity`. It has the largest priority so far. */
  add(item: Item): void
  /** Items drawn with replacement; `beta` (1) is the exponent of importance weights. */
  sample(count: number, random: Random, beta?: number): Drawn<Item>
  /** What was drawn had these errors: |y - Q| or any other surprise. Does nothing where sampling is uniform. */
  prioritize(indices: readonly number[], errors: ArrayLike<number>): void
  /** A copy, to be kept in a checkpoint and given to `createReplay`. */
  state(): ReplayState<Item>
}

export const REPLAYS = ['uniform', 'proportional', 'lap'] as const

export interface ReplayOptions {
  /** Most items. */
  capacity: number
  /**
   * - `uniform`
   * - `proportional`: P ~ (|error| + epsilon)^alpha, weights (N P)^-beta over the largest of the draw
   * - `lap`: P ~ max(|error|, 1)^alpha and no weights; to go with the Huber loss
   */
  scheme?: (typeof REPLAYS)[number]
  /** (0.6; 0.4 of 'lap') */
  alpha?: number
  /** Of 'proportional' (1e-6). */
  epsilon?: number
}

/**
 * A memory of transitions that are learnt from again. Draws of prioritized memories are stratified: one from each of `count`
 * equal shares of the priorities.
 *
 * Sources: prioritized replay, arXiv 1511.05952; LAP, arXiv 2007.06049.
 *
 * @throws MyriadError 'usage' on a capacity that is no positive integer, or a state that does not fit
 * @example const replay = createReplay<Transition>({ capacity: 1000, scheme: 'proportional' })
 */
export function createReplay<Item extends Json>(options: ReplayOptions, restored?: ReplayState<Item>): Replay<Item> {
  const { capacity, scheme = 'uniform', epsilon = 1e-6 } = options
  const { alpha = scheme === 'lap' ? 0.4 : 0.6 } = options
  if (!(Number.isInteger(capacity) && capacity >= 1))
    throw new MyriadError('usage', `the capacity of a replay memory is ${capacity}; give a positive integer`)
  const items: Item[] = [...(restored?.items ?? [])]
  let next = restored?.next ?? 0
  const tree = scheme === 'uniform' ? null : sumTree(capacity)
  const priorityOf = (error: number): number =>
    (scheme === 'lap' ? Math.max(Math.abs(error), 1) : Math.abs(error) + epsilon) ** alpha
  let highest = restored?.highest ?? 1
  if (restored) {
    const fits = items.length <= capacity && (!tree || restored.priorities?.length === items.length)
    if (!fits) throw new MyriadError('usage', 'the state of a replay memory does not fit its options')
    if (tree) restored.priorities!.forEach((priority, i) => tree.set(i, priority))
  }
  return {
    get size() {
      return items.length
    },
    add: (item) => {
      items[next] = item
      tree?.set(next, highest)
      next = (next + 1) % capacity
    },
    sample: (count, random, beta = 1) => {
      if (items.length === 0) throw new MyriadError('usage', 'nothing can be drawn from an empty replay memory')
      const indices = Array.from({ length: count }, (_, i) =>
        tree ? tree.find(((i + random.uniform()) / count) * tree.total()) : random.integer(0, items.length - 1),
      )
      const weights = indices.map((i) =>
        tree && scheme === 'proportional' ? ((items.length * tree.get(i)) / tree.total()) ** -beta : 1,
      )
      const most = Math.max(...weights)
      return { items: indices.map((i) => items[i]), indices, weights: weights.map((weight) => weight / most) }
    },
    prioritize: (indices, errors) => {
      if (!tree) return
      indices.forEach((index, i) => {
        const priority = priorityOf(errors[i])
        if (!(Number.isFinite(priority) && index < items.length))
          throw new MyriadError('numeric', `item ${index} of a replay memory cannot have the error ${errors[i]}`)
        tree.set(index, priority)
        highest = Math.max(highest, priority)
      })
    },
    state: () => ({
      items: [...items],
      next,
      ...(tree ? { priorities: items.map((_, i) => tree.get(i)), highest } : {}),
    }),
  }
}

/** Sums of priorities in a binary tree: setting one and finding the item under a point take log2(capacity) steps. */
function sumTree(capacity: number): {
  set(index: number, priority: number): void
  get(index: number): number
  total(): number
  find(point: number): number
} {
  const leaves = 2 ** Math.ceil(Math.log2(capacity))
  const sums = new Float64Array(2 * leaves)
  return {
    set: (index, priority) => {
      sums[leaves + index] = priority
      for (let node = (leaves + index) >> 1; node >= 1; node >>= 1) sums[node] = sums[2 * node] + sums[2 * node + 1]
    },
    get: (index) => sums[leaves + index],
    total: () => sums[1],
    find: (point) => {
      let node = 1
      let rest = point
      while (node < leaves) {
        const [left, right] = [sums[2 * node], sums[2 * node + 1]]
        // Rounding may leave a point beyond the end; what has no priority is never found.
        const goLeft = left > 0 && (rest < left || right === 0)
        if (!goLeft) rest -= left
        node = 2 * node + (goLeft ? 0 : 1)
      }
      return node - leaves
    },
  }
}

export const replay = objective({
  kind: 'function',
  name: 'replay',
  family: 'value-based',
  summary: 'A memory of transitions: drawn uniformly, by surprise with importance weights, or by LAP.',
  formula:
    'P(i) ~ p_i^alpha, p = |delta| + eps, w_i = (N P(i))^-beta / max_j w_j;  LAP: p = max(|delta|, 1), no weights',
  reference: 'arXiv 1511.05952; LAP, arXiv 2007.06049; ours: the largest weight is that of the draw, not of the memory',
  standing: 'second-hand',
  use: 'Off-policy learning. Prioritize where few transitions carry reward; raise beta from 0.4 to 1 over the run.',
  rows: ['A096'],
  options: z.strictObject({
    capacity: z.number().int().positive().default(10_000),
    scheme: z.enum(REPLAYS).default('proportional'),
    alpha: z.number().min(0).optional(),
    epsilon: z.number().positive().default(1e-6),
  }),
  make:
    (options) =>
    <Item extends Json>(restored?: ReplayState<Item>): Replay<Item> =>
      createReplay(options, restored),
})
