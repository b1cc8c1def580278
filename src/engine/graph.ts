import { MyriadError } from '../core/index.js'
import { canonical, describeShape } from './dimensions.js'
import type { Attributes, Operation } from './operation.js'
import type { DataType, Shape, Tensor } from './types.js'

/** One application of an operation. */
export interface Node {
  /** Nodes are numbered as they are made: inputs of a node always have smaller ids. */
  readonly id: number
  readonly operation: Operation
  readonly inputs: readonly Tensor[]
  readonly attributes: Attributes
  readonly outputs: readonly Tensor[]
}

/**
 * A program under construction: inputs, parameters, and the operations applied to them. Equal operations on equal
 * inputs are one node.
 */
export interface Graph {
  /** Number of nodes so far: the id of the next. */
  readonly size: number
  /** Fed by name on every run. */
  readonly inputs: ReadonlyMap<string, Tensor>
  /** float32 inputs that are learned; `grad` is usually asked for these. */
  readonly parameters: ReadonlyMap<string, Tensor>
  /**
   * Declares an input.
   *
   * @example const ids = graph.input('ids', ['batch', 'time'], 'int64')
   */
  input(name: string, shape: Shape, dtype?: DataType): Tensor
  /** Declares a float32 parameter. */
  parameter(name: string, shape: Shape): Tensor
  /** Applies an operation, or answers the outputs of the equal node that is there already. */
  apply<A extends Attributes>(operation: Operation<A>, inputs: readonly Tensor[], attributes: A): readonly Tensor[]
  /** The outputs of an equal node, if the graph has one. */
  find<A extends Attributes>(
    operation: Operation<A>,
    inputs: readonly Tensor[],
    attributes: A,
  ): readonly Tensor[] | undefined
}

type SourceAttributes = { name: string; shape: Shape; dtype: DataType }

function sourceOperation(name: 'input' | 'parameter'): Operation<SourceAttributes> {
  return {
    name,
    infer: (_, { shape, dtype }) => [{ shape, dtype }],
    lower: (_, { attributes }) => [attributes.name],
    gradient: () => [],
  }
}

export const inputOperation = sourceOperation('input')
export const parameterOperation = sourceOperation('parameter')

/** Typed arrays up to this many elements are compared by value when equal nodes are merged. */
const comparedElements = 64

/** An empty graph. */
export function createGraph(): Graph {
  const known = new Map<string, Node>()
  const inputs = new Map<string, Tensor>()
  const parameters = new Map<string, Tensor>()
  const arrays = new WeakMap<object, number>()
  let nodeCount = 0
  let tensorCount = 0
  let arrayCount = 0

  const keyOf = (operation: Operation, operands: readonly Tensor[], attributes: Attributes): string => {
    const text = JSON.stringify(attributes, (_, value: unknown) => {
      if (!ArrayBuffer.isView(value)) return value
      const array = value as Float32Array | BigInt64Array
      if (array.length <= comparedElements) return Array.from(array, String)
      if (!arrays.has(value)) arrays.set(value, arrayCount++)
      return `array ${arrays.get(value)}`
    })
    return `${operation.name}(${operands.map((tensor) => tensor.id).join(',')})${text}`
  }

  const graph: Graph = {
    get size() {
      return nodeCount
    },
    inputs,
    parameters,
    input: (name, shape, dtype = 'float32') => declare(inputs, inputOperation, name, shape, dtype),
    parameter: (name, shape) => declare(parameters, parameterOperation, name, shape, 'float32'),
    find: (operation, operands, attributes) => known.get(keyOf(operation as Operation, operands, attributes))?.outputs,
    apply: (operation, operands, attributes) => {
      for (const operand of operands) {
        if (operand.graph !== graph) {
          throw new MyriadError('usage', `${operation.name}: an operand belongs to another graph`)
        }
      }
      const key = keyOf(operation as Operation, operands, attributes)
      const existing = known.get(key)
      if (existing) return existing.outputs
      const types = operation.infer(operands, attributes)
      const outputs: Tensor[] = []
      const node: Node = {
        id: nodeCount++,
        operation: operation as Operation,
        inputs: operands,
        attributes,
        outputs,
      }
      types.forEach(({ shape, dtype }, output) => {
        outputs.push({ graph, id: tensorCount++, shape, dtype, op: operation.name, node, output })
      })
      known.set(key, node)
      return outputs
    },
  }

  function declare(
    into: Map<string, Tensor>,
    operation: Operation<SourceAttributes>,
    name: string,
    shape: Shape,
    dtype: DataType,
  ): Tensor {
    if (inputs.has(name) || parameters.has(name)) {
      throw new MyriadError('usage', `graph ${operation.name}: '${name}' ${describeShape(shape)} is declared twice`)
    }
    const [tensor] = graph.apply(operation, [], { name, shape: shape.map(canonical), dtype })
    const named = Object.assign(tensor, { name })
    into.set(name, named)
    return named
  }

  return graph
}
