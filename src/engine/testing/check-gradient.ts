/** For tests: derivatives of a graph against central finite differences. */
import { createRandom, deriveSeed, type Random } from '../../core/index.js'
import { createGraph, type Graph } from '../graph.js'
import { grad } from '../grad.js'
import { compile } from '../program.js'
import { sizeOf, type DataType, type Shape, type Tensor, type TypedArray, type Value } from '../types.js'

/** An input of a case: its symbolic shape, and its elements (standard normal unless given). */
export interface CaseInput {
  shape: Shape
  dtype?: DataType
  /** Elements by place, e.g. indices or values away from a kink. */
  values?: (random: Random, size: number, lengths: readonly number[]) => ArrayLike<number>
}

export interface GradientCase {
  inputs: Record<string, CaseInput>
  /** Lengths of the named dimensions; random in [1, 4] unless given. */
  lengths?: Record<string, number>
  build(tensors: Record<string, Tensor>, graph: Graph): Tensor
}

export interface GradientReport {
  /** Per float32 input: norm of the difference over the norm of the finite differences. */
  errors: Record<string, number>
  /** Names of the operations in the forward part. */
  operations: Set<string>
}

/** Numbers at least 0.2 apart in random order: no two elements tie or come near a kink at multiples of 0.2. */
export function spaced(random: Random, size: number): number[] {
  return random.shuffle(Array.from({ length: size }, (_, i) => (i - Math.floor(size / 2)) * 0.2 + 0.1))
}

/** Uniform in [low, high]. */
export function between(low: number, high: number): CaseInput['values'] {
  return (random, size) => Array.from({ length: size }, () => low + (high - low) * random.uniform())
}

function typed(values: ArrayLike<number>, dtype: DataType): TypedArray {
  if (dtype === 'float32') return Float32Array.from(values)
  if (dtype === 'int64') return BigInt64Array.from(Array.from(values, BigInt))
  return dtype === 'int32' ? Int32Array.from(values) : Uint8Array.from(values)
}

const step = 1e-2

/**
 * Projects the output on random weights, differentiates, and compares every element of every float32 input with
 * (f(x + h) - f(x - h)) / 2h. The projection is summed in float64, so that only the program itself is rounded.
 */
export async function checkGradient(seed: string, definition: GradientCase): Promise<GradientReport> {
  const random = createRandom(deriveSeed(seed))
  const lengths = new Map(Object.entries(definition.lengths ?? {}))
  const lengthOf = (dimension: string | number): number => {
    if (typeof dimension === 'number') return dimension
    if (!lengths.has(dimension)) lengths.set(dimension, random.integer(1, 4))
    return lengths.get(dimension)!
  }
  const graph = createGraph()
  const tensors: Record<string, Tensor> = {}
  const feeds: Record<string, Value> = {}
  for (const [name, { shape, dtype = 'float32', values }] of Object.entries(definition.inputs)) {
    tensors[name] = graph.input(name, shape, dtype)
    const sizes = shape.map(lengthOf)
    const size = sizeOf(sizes)
    const elements = values?.(random, size, sizes) ?? Array.from({ length: size }, () => random.normal())
    feeds[name] = { data: typed(elements, dtype), shape: sizes }
  }
  const y = definition.build(tensors, graph)
  const operations = operationsOf(y)
  const seedTensor = graph.input('seed', y.shape)
  const wrt = Object.keys(tensors).filter((name) => tensors[name].dtype === 'float32')
  const derivatives = grad(
    y,
    wrt.map((name) => tensors[name]),
    { seed: seedTensor },
  )
  const forward = await compile(graph, { outputs: { y }, inline: true })
  const needed = Object.fromEntries(forward.inputs.map(({ name }) => [name, feeds[name]]))
  const first = (await forward.run(needed)).y
  const weights = Float32Array.from({ length: first.data.length }, () => random.normal())
  const project = async (): Promise<number> => {
    const { data } = (await forward.run(needed)).y as { data: Float32Array }
    return data.reduce((sum, value, i) => sum + value * weights[i], 0)
  }

  const outputs = Object.fromEntries(wrt.map((name, index) => [name, derivatives[index]]))
  const backward = await compile(graph, { outputs, inline: true })
  const available: Record<string, Value> = { ...feeds, seed: { data: weights, shape: first.shape } }
  const analytic = await backward.run(Object.fromEntries(backward.inputs.map(({ name }) => [name, available[name]])))

  const errors: Record<string, number> = {}
  for (const name of wrt) {
    const data = feeds[name].data as Float32Array
    let difference = 0
    let total = 0
    for (let i = 0; i < data.length; i++) {
      const original = data[i]
      data[i] = original + step
      const up = await project()
      const upper = data[i]
      data[i] = original - step
      const numeric = (up - (await project())) / (upper - data[i])
      data[i] = original
      difference += (numeric - (analytic[name].data as Float32Array)[i]) ** 2
      total += numeric ** 2
    }
    errors[name] = difference === 0 ? 0 : Math.sqrt(difference / Math.max(total, 1e-6))
  }
  await forward.close()
  await backward.close()
  return { errors, operations }
}

function operationsOf(output: Tensor): Set<string> {
  const names = new Set<string>()
  const seen = new Set<Tensor>()
  const pending = [output]
  for (let tensor = pending.pop(); tensor; tensor = pending.pop()) {
    if (seen.has(tensor)) continue
    seen.add(tensor)
    names.add(tensor.op)
    pending.push(...tensor.node.inputs)
  }
  return names
}
