import { MyriadError } from '../core/index.js'
import { vectorJacobian } from './grad.js'
import type { Node } from './graph.js'
import { operation } from './operation.js'
import { after } from './ops/ordering.js'
import type { Tensor } from './types.js'

/**
 * Inputs of a node: `inputs` arguments, then `captured` tensors from outside, then the results themselves. Lowered, it is
 * nothing; `grad` sees one node in place of all that the function built.
 */
const recomputeOperation = operation<{ inputs: number; captured: number }>({
  name: 'recompute',
  infer: (tensors, { inputs, captured }) =>
    tensors.slice(inputs + captured).map(({ shape, dtype }) => ({ shape, dtype })),
  lower: (_, { names, attributes: { inputs, captured } }) => names.slice(inputs + captured),
  gradient: ({ inputs: tensors, attributes: { inputs, captured }, cotangents }) => {
    const outside = tensors.slice(0, inputs + captured)
    const results = tensors.slice(inputs + captured)
    const arrived = cotangents.filter((cotangent) => cotangent !== undefined)
    const again = new Map(
      outside.map((tensor, i) => [tensor, i < inputs ? arrived.reduce(after, tensor) : tensor] as const),
    )
    for (const node of nodesWithin(results, outside)) {
      if (node.inputs.every((input) => !again.has(input))) continue
      const operands = node.inputs.map((input) => again.get(input) ?? input)
      const outputs = node.inputs[0].graph.apply(node.operation, operands, node.attributes)
      node.outputs.forEach((output, i) => again.set(output, outputs[i]))
    }
    const read = outside.map((tensor) => again.get(tensor)!)
    const pairs = results.flatMap((result, i) => {
      const cotangent = cotangents[i]
      return cotangent ? [{ output: again.get(result) ?? result, cotangent }] : []
    })
    return vectorJacobian(pairs, read)
  },
})

/** The nodes that make the results from what is outside, in the order in which they were made. */
function nodesWithin(results: readonly Tensor[], outside: readonly Tensor[]): Node[] {
  const border = new Set(outside)
  const nodes = new Set<Node>()
  const pending = results.filter((tensor) => !border.has(tensor))
  for (let tensor = pending.pop(); tensor; tensor = pending.pop()) {
    if (nodes.has(tensor.node)) continue
    nodes.add(tensor.node)
    pending.push(...tensor.node.inputs.filter((operand) => !border.has(operand)))
  }
  return [...nodes].sort((a, b) => a.id - b.id)
}

/**
 * fn(...inputs), of which only the inputs are kept for the backward pass: what fn builds is computed again there, once the
 * derivative with respect to its results has arrived (https://arxiv.org/abs/1604.06174). Costs one more forward pass of fn and
 * saves the memory of all that lies between its inputs and its results. Tensors that fn reads without being given them,
 * such as weights, have their derivatives too. May be nested.
 *
 * @example x = recompute((h) => layer(i, h), [x])
 */
export function recompute(fn: (...inputs: Tensor[]) => Tensor, inputs: readonly Tensor[]): Tensor
export function recompute(fn: (...inputs: Tensor[]) => readonly Tensor[], inputs: readonly Tensor[]): Tensor[]
export function recompute(
  fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
): Tensor | Tensor[] {
  if (inputs.length === 0) throw new MyriadError('usage', 'recompute: the list of inputs is empty')
  const { graph } = inputs[0]
  // A node of its own in front of each input: everything fn makes of it is newer than the marker, even if the same was made
  // before, and what is older was captured.
  const marker = graph.size
  const own = inputs.map((tensor) => graph.apply(argumentOperation, [tensor], { marker })[0])
  const made = fn(...own)
  const results = Array.isArray(made) ? (made as readonly Tensor[]) : [made as Tensor]
  const captured = capturedBy(results, own, marker)
  const outputs = graph.apply(recomputeOperation, [...own, ...captured, ...results], {
    inputs: own.length,
    captured: captured.length,
  })
  return Array.isArray(made) ? [...outputs] : outputs[0]
}

/** The tensor itself under a name of its own. */
const argumentOperation = operation<{ marker: number }>({
  name: 'argument',
  infer: ([{ shape, dtype }]) => [{ shape, dtype }],
  lower: (_, { names }) => names,
  gradient: ({ cotangent }) => [cotangent],
})

/** Float tensors older than the marker that the results read, other than through the arguments. */
function capturedBy(results: readonly Tensor[], own: readonly Tensor[], marker: number): Tensor[] {
  const border = new Set(own)
  const captured = new Set<Tensor>()
  const seen = new Set<Tensor>()
  const pending = [...results]
  for (let tensor = pending.pop(); tensor; tensor = pending.pop()) {
    if (seen.has(tensor) || border.has(tensor)) continue
    seen.add(tensor)
    if (tensor.node.id >= marker) pending.push(...tensor.node.inputs)
    else captured.add(tensor)
  }
  return [...captured]
}
