/** The value head: one number from the last hidden state, what the policy expects of the rest of its episode. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError } from '../../core/index.js'
import { readSafetensors, type NamedTensor, type Weights } from '../../models/index.js'

/** A file of its own, so that whoever loads the model's weights or the adapter's never meets it. */
export const valueHeadFile = 'value_head.safetensors'

export const valueHeadWeight = 'value_head.weight'
export const valueHeadBias = 'value_head.bias'

/** weight [hidden] and bias [1] */
export function valueHeadShapes(hiddenSize: number): Record<string, number[]> {
  return { [valueHeadWeight]: [hiddenSize], [valueHeadBias]: [1] }
}

/** A head that says 0 of everything. */
export function newValueHead(hiddenSize: number): Weights {
  return { [valueHeadWeight]: new Float32Array(hiddenSize), [valueHeadBias]: new Float32Array(1) }
}

/**
 * The head that was saved in a folder; undefined where there is none.
 *
 * @throws MyriadError 'checkpoint' when it is damaged or another model's
 */
export function readValueHead(folder: string, hiddenSize: number): Weights | undefined {
  const file = join(folder, valueHeadFile)
  if (!existsSync(file)) return undefined
  const { tensors } = readSafetensors(file)
  return Object.fromEntries(
    Object.entries(valueHeadShapes(hiddenSize)).map(([name, shape]) => {
      if (tensors[name]?.shape.join() !== shape.join())
        throw new MyriadError(
          'checkpoint',
          `${file} lacks tensor "${name}" [${shape}]: it is another model's value head`,
        )
      return [name, tensors[name].data]
    }),
  )
}

/** The head among a policy's weights, as a further file of its folder; nothing where it has none. */
export function valueHeadTensors(weights: Weights): Record<string, Record<string, NamedTensor>> {
  const weight = weights[valueHeadWeight]
  if (!weight) return {}
  const shapes = valueHeadShapes(weight.length)
  return {
    [valueHeadFile]: Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [name, { shape, data: weights[name] }]),
    ),
  }
}
