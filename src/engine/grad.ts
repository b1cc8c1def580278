import { MyriadError } from '../core/index.js'
import { describeShape, sameShape } from './dimensions.js'
import type { Node } from './graph.js'
import { add } from './ops/arithmetic.js'
import { constant, zeros } from './ops/constants.js'
import type { Tensor } from './types.js'

/**
 * Adds the backward nodes to the graph: the derivative of `output` with respect to each of `wrt`, of its shape.
 * Reverse mode; any tensor may be asked for, inputs included. What does not influence the output has derivative zero.
 *
 * @param output a scalar; or any shape with `seed`, the derivative of what follows with respect to it (same shape)
 * @throws MyriadError `shape` when the output is not a scalar and no seed is given, or the seed's shape differs;
 *   `usage` when an operation on the way is not differentiable
 * @example const [dW] = grad(mean(square(sub(matmul(x, w), y))), [w])
 */
export function grad(output: Tensor, wrt: readonly Tensor[], options: { seed?: Tensor } = {}): Tensor[] {
  const { graph } = output
  const { seed = output.shape.length === 0 ? constant(graph, 1) : undefined } = options
  if (!seed) {
    throw new MyriadError(
      'shape',
      `grad: output is ${describeShape(output.shape)}; give a seed of that shape, or reduce it to a scalar`,
    )
  }
  if (!sameShape(seed.shape, output.shape)) {
    throw new MyriadError(
      'shape',
      `grad: seed is ${describeShape(seed.shape)}, but output is ${describeShape(output.shape)}`,
    )
  }

  return backward([{ output, cotangent: seed }], wrt, new Set())
}

/** The derivative of several outputs, given what arrives at each. Nothing flows on from a tensor of `wrt` to what it is made of. */
export function vectorJacobian(
  outputs: readonly { output: Tensor; cotangent: Tensor }[],
  wrt: readonly Tensor[],
): Tensor[] {
  return backward(outputs, wrt, new Set(wrt))
}

function backward(
  outputs: readonly { output: Tensor; cotangent: Tensor }[],
  wrt: readonly Tensor[],
  border: ReadonlySet<Tensor>,
): Tensor[] {
  const cotangents = new Map<Tensor, Tensor>()
  const arrive = (tensor: Tensor, cotangent: Tensor): void => {
    const sum = cotangents.get(tensor)
    cotangents.set(tensor, sum ? add(sum, cotangent) : cotangent)
  }
  for (const { output, cotangent } of outputs) arrive(output, cotangent)
  const made = outputs.map(({ output }) => output)
  for (const node of nodesBetween(made, new Set(wrt), border)) {
    const arriving = node.outputs.map((tensor) => (border.has(tensor) ? undefined : cotangents.get(tensor)))
    if (arriving.every((cotangent) => cotangent === undefined)) continue
    if (!node.operation.gradient) {
      if (!node.outputs.some((tensor) => tensor.dtype === 'float32')) continue
      throw new MyriadError('usage', `grad: ${node.operation.name} is not differentiable; put stopGradient around it`)
    }
    const derivatives = node.operation.gradient({
      inputs: node.inputs,
      outputs: node.outputs,
      attributes: node.attributes,
      cotangents: arriving,
      cotangent: arriving[0]!,
    })
    node.inputs.forEach((input, index) => {
      const derivative = derivatives[index]
      if (!derivative || input.dtype !== 'float32') return
      if (!sameShape(derivative.shape, input.shape)) {
        throw new MyriadError(
          'shape',
          `grad: ${node.operation.name} gave ${describeShape(derivative.shape)} for input ${index}, which is ${describeShape(input.shape)}`,
        )
      }
      arrive(input, derivative)
    })
  }
  return wrt.map((tensor) => cotangents.get(tensor) ?? zeros(tensor.graph, tensor.shape))
}

/** The nodes on a path from one of `wrt` to an output, last first. */
function nodesBetween(outputs: readonly Tensor[], wrt: ReadonlySet<Tensor>, border: ReadonlySet<Tensor>): Node[] {
  const reached = new Set<Node>()
  const pending = outputs.flatMap((output) => (border.has(output) ? [] : [output.node]))
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (reached.has(node)) continue
    reached.add(node)
    for (const input of node.inputs) if (!border.has(input)) pending.push(input.node)
  }
  const ascending = [...reached].sort((a, b) => a.id - b.id)
  const influenced = new Set<Node>()
  for (const node of ascending) {
    // stopGradient has a gradient that answers nothing; no need to tell it apart here.
    if (node.inputs.some((input) => wrt.has(input) || influenced.has(input.node))) influenced.add(node)
  }
  return ascending.filter((node) => influenced.has(node)).reverse()
}
