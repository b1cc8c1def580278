/** An operation that computes nothing and says when. */
import { operation } from '../operation.js'
import type { Tensor } from '../types.js'

export const afterOperation = operation<Record<never, never>>({
  name: 'after',
  infer: ([{ shape, dtype }]) => [{ shape, dtype }],
  // A reshape to the shape it has, whose target cannot be worked out before the dependency is: to the known lengths are
  // joined none of its elements. A reshape shares the memory of what it reads, and no element is looked at, NaN or not.
  lower: (context, { names: [x, dependency], inputs: [{ shape }] }) => {
    const [flat] = context.emit('Reshape', [dependency, context.integers([-1])])
    const zero = context.integers([0])
    const [none] = context.emit('Slice', [flat, zero, zero])
    const [empty] = context.emit('Cast', [none], { to: { int: 7 } })
    const [target] = context.emit('Concat', [context.integers(shape.map(() => 0)), empty], { axis: { int: 0 } })
    return context.emit('Reshape', [x, target])
  },
  gradient: ({ cotangent }) => [cotangent, undefined],
})

/**
 * x itself, but not before `dependency` has been computed, and never the same node as x: what is computed from it again is
 * computed then. Costs no copy. Its derivative passes through to x.
 *
 * @example const second = matmul(after(x, first), w) // runs once `first` is there, and reads x
 */
export function after(x: Tensor, dependency: Tensor): Tensor {
  return x.graph.apply(afterOperation, [x, dependency], {})[0]
}
