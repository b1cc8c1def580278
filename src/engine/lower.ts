/** From the symbolic graph to the bytes of an ONNX model: only what the outputs need. */
import { MyriadError } from '../core/index.js'
import { describeShape, sameShape, termsOf } from './dimensions.js'
import type { Graph, Node } from './graph.js'
import type { OnnxAttribute, OnnxModel, OnnxNode, OnnxTensor } from './onnx.js'
import {
  dataTypeOf,
  holds,
  sizeOf,
  type DataType,
  type Dimension,
  type Shape,
  type Tensor,
  type TypedArray,
  type Value,
} from './types.js'

export interface EmitOptions {
  /** '' unless given. */
  domain?: string
  /** How many outputs to name; 1 unless given. */
  outputs?: number
}

/** What an operation's lowering may use. */
export interface Lowering {
  /** Whether products have few rows: what reads a large right operand least is best. */
  readonly fewRows: boolean
  /** Whether a name is known at build time. */
  isConstant(name: string): boolean
  /** Adds an ONNX node; equal nodes are one. Answers the names of its outputs. */
  emit(
    type: string,
    inputs: readonly string[],
    attributes?: Readonly<Record<string, OnnxAttribute>>,
    options?: EmitOptions,
  ): string[]
  /** An initializer; equal small ones are one. */
  constant(data: TypedArray, shape: readonly number[], dtype?: DataType): string
  /** An int64 vector known at build time. */
  integers(values: readonly number[]): string
  /** A float32 scalar. */
  scalar(value: number): string
  /** The run-time length of a dimension: int64 [1]. */
  dimension(dimension: Dimension): string
  /** The run-time shape: int64 [rank]. */
  shape(shape: Shape): string
}

export interface LowerOptions {
  /** Inputs and parameters whose values are part of the program. */
  constants?: Readonly<Record<string, Value>>
  /** Whether products have few rows; see CompileOptions. */
  fewRows?: boolean
}

export interface LoweredProgram {
  model: OnnxModel
  /** Inputs and parameters that the outputs need. */
  inputs: ReadonlyMap<string, Tensor>
  outputs: ReadonlyMap<string, Tensor>
}

/** The ONNX name of a program output: kept apart from the inputs', so that a gradient may be named as its parameter. */
export function outputName(name: string): string {
  return `out:${name}`
}

/** What is baked for an input, if it fits. */
function fitting({ name, dtype, shape }: Tensor, value: Value): [TypedArray, readonly number[], DataType] {
  const fits = holds(value.data, dtype) && sameShape(shape, value.shape) && sizeOf(value.shape) === value.data.length
  if (!fits) {
    const given = `${dataTypeOf(value.data)} ${describeShape(value.shape)} of ${value.data.length} elements`
    throw new MyriadError(
      'shape',
      `compile: constant '${name}' is ${given}, but must be ${dtype} ${describeShape(shape)}`,
    )
  }
  return [value.data, value.shape, dtype]
}

/** The nodes that the outputs depend on, inputs first. */
function neededNodes(outputs: readonly Tensor[]): Node[] {
  const nodes = new Set<Node>()
  const pending = outputs.map((tensor) => tensor.node)
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (nodes.has(node)) continue
    nodes.add(node)
    for (const input of node.inputs) pending.push(input.node)
  }
  return [...nodes].sort((a, b) => a.id - b.id)
}

/** Writes the part of the graph that the named outputs need as an ONNX model. */
export function lower(
  graph: Graph,
  outputs: Readonly<Record<string, Tensor>>,
  { constants: baked = {}, fewRows = false }: LowerOptions = {},
): LoweredProgram {
  const wanted = Object.entries(outputs)
  if (wanted.length === 0) throw new MyriadError('usage', 'compile: no outputs were named')
  for (const [name, tensor] of wanted) {
    if (tensor.graph !== graph) throw new MyriadError('usage', `compile: output '${name}' belongs to another graph`)
  }
  const nodes = neededNodes(wanted.map(([, tensor]) => tensor))

  const onnxNodes: OnnxNode[] = []
  const initializers = new Map<string, OnnxTensor>()
  const inputs = new Map<string, Tensor>()
  const emitted = new Map<string, string[]>()
  const constants = new Map<string, string>()
  let count = 0

  for (const { outputs: made } of nodes) {
    const name = made[0]?.name
    if (name !== undefined && !(name in baked)) inputs.set(name, made[0])
  }

  /** Lowered so far. */
  const names = new Map<Tensor, string>()

  /** The place where a name can be read when the program runs: an axis of a needed input, else of any, else of a part. */
  const findName = (name: string): { value: string; axis: number } => {
    for (const tensor of [...inputs.values(), ...graph.inputs.values(), ...graph.parameters.values()]) {
      const axis = tensor.shape.indexOf(name)
      if (axis < 0 || tensor.name! in baked) continue
      inputs.set(tensor.name!, tensor)
      return { value: tensor.name!, axis }
    }
    for (const [tensor, value] of names) {
      const axis = tensor.shape.indexOf(name)
      if (axis >= 0) return { value, axis }
    }
    throw new MyriadError(
      'shape',
      `compile: no input has an axis of length '${name}', so it cannot be known at run time`,
    )
  }

  const context: Lowering = {
    fewRows,
    isConstant: (name) => initializers.has(name),
    emit: (type, operands, attributes = {}, { domain = '', outputs: outputCount = 1 } = {}) => {
      const key = JSON.stringify([type, operands, attributes, domain])
      const known = emitted.get(key)
      if (known && known.length >= outputCount) return known
      const names = Array.from({ length: outputCount }, () => `t${count++}`)
      onnxNodes.push({ type, domain, inputs: operands, outputs: names, attributes })
      emitted.set(key, names)
      return names
    },
    constant: (data, shape, dtype = dataTypeOf(data)) => {
      const key = data.length <= 64 ? `${dtype} ${shape.join()}: ${Array.from(data, String).join()}` : undefined
      const known = key === undefined ? undefined : constants.get(key)
      if (known !== undefined) return known
      if (data.length !== sizeOf(shape)) {
        throw new MyriadError('shape', `constant: ${data.length} elements do not fill [${shape.join(', ')}]`)
      }
      const name = `c${count++}`
      initializers.set(name, { name, dtype, shape, data })
      if (key !== undefined) constants.set(key, name)
      return name
    },
    integers: (values) => context.constant(BigInt64Array.from(values, BigInt), [values.length]),
    scalar: (value) => context.constant(Float32Array.of(value), []),
    dimension: (dimension) => {
      if (typeof dimension === 'number') return context.integers([dimension])
      let sum: string | undefined
      for (const { coefficient, names } of termsOf(dimension)) {
        let product: string | undefined
        for (const name of names) {
          const { value, axis } = findName(name)
          const [length] = context.emit('Shape', [value], { start: { int: axis }, end: { int: axis + 1 } })
          product = product === undefined ? length : context.emit('Mul', [product, length])[0]
        }
        if (product === undefined) product = context.integers([coefficient])
        else if (coefficient !== 1) [product] = context.emit('Mul', [product, context.integers([coefficient])])
        sum = sum === undefined ? product : context.emit('Add', [sum, product])[0]
      }
      return sum ?? context.integers([0])
    },
    shape: (shape) => {
      if (shape.every((length) => typeof length === 'number')) return context.integers(shape)
      const parts: string[] = []
      for (let axis = 0; axis < shape.length; axis++) {
        const run: number[] = []
        for (; typeof shape[axis] === 'number'; axis++) run.push(shape[axis] as number)
        if (run.length > 0) parts.push(context.integers(run))
        if (axis < shape.length) parts.push(context.dimension(shape[axis]))
      }
      return parts.length === 1 ? parts[0] : context.emit('Concat', parts, { axis: { int: 0 } })[0]
    },
  }

  for (const node of nodes) {
    const [source] = node.outputs
    if (source?.name !== undefined && source.name in baked) {
      names.set(source, context.constant(...fitting(source, baked[source.name])))
      continue
    }
    const lowered = node.operation.lower(context, {
      names: node.inputs.map((input) => names.get(input)!),
      inputs: node.inputs,
      outputs: node.outputs,
      attributes: node.attributes,
    })
    node.outputs.forEach((tensor, index) => names.set(tensor, lowered[index]))
  }

  const outputInfos = wanted.map(([name, tensor]) => {
    onnxNodes.push({
      type: 'Identity',
      domain: '',
      inputs: [names.get(tensor)!],
      outputs: [outputName(name)],
      attributes: {},
    })
    return { name: outputName(name), dtype: tensor.dtype, shape: tensor.shape }
  })
  const model: OnnxModel = {
    nodes: onnxNodes,
    initializers: [...initializers.values()],
    inputs: [...inputs].map(([name, { dtype, shape }]) => ({ name, dtype, shape })),
    outputs: outputInfos,
  }
  return { model, inputs, outputs: new Map(wanted) }
}
