import { MyriadError, suggestion } from '../core/index.js'
import { afterTrainingObjectives } from './after-training/index.js'
import { article, composedMethod, findParts, withParts, type PartsByName } from './composed.js'
import { creditObjectives } from './credit/index.js'
import { distillationObjectives } from './distillation/index.js'
import { explorationObjectives } from './exploration/index.js'
import { labelFreeObjectives } from './label-free/index.js'
import { multiObjectives } from './multi/index.js'
import { FAMILIES, type Objective } from './objective.js'
import { makeObjective } from './options.js'
import { policyGradientObjectives } from './policy-gradient/index.js'
import { preferenceObjectives } from './preference/index.js'
import { rewardModelObjectives } from './reward-model/index.js'
import { supervisedObjectives } from './supervised/index.js'
import type { Algorithm } from './types.js'
import { valueBasedObjectives } from './value-based/index.js'

const builtIn: readonly Objective[] = [
  ...policyGradientObjectives,
  ...multiObjectives,
  ...creditObjectives,
  ...explorationObjectives,
  ...labelFreeObjectives,
  ...preferenceObjectives,
  ...rewardModelObjectives,
  ...supervisedObjectives,
  ...distillationObjectives,
  ...afterTrainingObjectives,
  ...valueBasedObjectives,
]

/**
 * Every objective that comes with Myriad, and those of your own, by family.
 *
 * @throws MyriadError 'usage' when two have one name
 * @example listObjectives().filter(({ kind }) => kind === 'method')
 */
export function listObjectives(own: readonly Objective[] = []): readonly Objective[] {
  const all: Objective[] = [composedMethod(() => all), ...builtIn, ...own]
  const names = new Set<string>()
  for (const { name } of all) {
    if (names.has(name)) throw new MyriadError('usage', `two objectives are called "${name}"`)
    names.add(name)
  }
  return all.sort((one, other) => FAMILIES.indexOf(one.family) - FAMILIES.indexOf(other.family))
}

/**
 * An objective by its name.
 *
 * @throws MyriadError 'usage' that names the nearest
 * @example objectiveByName('grpo').formula
 */
export function objectiveByName(name: string, own: readonly Objective[] = []): Objective {
  const all = listObjectives(own)
  const found = all.find((candidate) => candidate.name === name)
  if (found) return found
  const near = suggestion(
    name,
    all.map((candidate) => candidate.name),
  )
  throw new MyriadError('usage', `there is no objective "${name}".${near} "myriad algorithms" lists them`)
}

/**
 * The method that a configuration names, made from its options.
 *
 * @param own objectives beside the built-in ones
 * @param parts further parts for a composed method, by name
 * @throws MyriadError 'usage' for an unknown name, one that is no method, or a wrong option
 * @example algorithmByName('grpo', { klCoefficient: 0.01 })
 */
export function algorithmByName(
  name: string,
  options: Readonly<Record<string, unknown>> = {},
  own: readonly Objective[] = [],
  parts?: PartsByName,
): Algorithm {
  const all = listObjectives(own)
  const found = all.find((candidate) => candidate.name === name)
  const methods = all.filter(({ kind }) => kind === 'method').map((candidate) => candidate.name)
  if (!found)
    throw new MyriadError(
      'usage',
      `algorithm.name: there is no method "${name}".${suggestion(name, methods)} "myriad algorithms" lists them`,
    )
  if (found.kind !== 'method')
    throw new MyriadError(
      'usage',
      `algorithm.name: "${name}" is ${article(found.kind)}, not a method. Use it in { "name": "composed", ... }, or ` +
        `choose one of ${methods.join(', ')}`,
    )
  const algorithm = makeObjective(found as Objective<'method'>, options, ['algorithm'])
  return parts ? withParts(algorithm, findParts(parts, all, ['algorithm', 'with'])) : algorithm
}

/** Whether a value that a module exports declares an objective. */
export function isObjective(value: unknown): value is Objective {
  const declared = value as Partial<Objective> | null
  return (
    typeof value === 'object' &&
    typeof declared?.kind === 'string' &&
    typeof declared.name === 'string' &&
    typeof declared.make === 'function' &&
    typeof declared.options?.safeParse === 'function'
  )
}
