import { z } from 'zod'
import { MyriadError, suggestion } from '../core/index.js'
import { groupAdvantages } from './advantages.js'
import { clippedLoss } from './clipped.js'
import { compose, type ComposeOptions, type Stage } from './compose.js'
import { objective, type Kind, type Objective } from './objective.js'
import { makeObjective } from './options.js'
import type { Algorithm, Needs } from './types.js'
import { AGGREGATIONS } from './weights.js'

const named = z.looseObject({ name: z.string().min(1) })
const part = z.union([z.string().min(1), named])

/** The parts of an algorithm by name, each alone or with its options. */
export const partsShape = {
  /** Change rewards, in this order. */
  shaping: z.array(part).default([]),
  /** GRPO's unless given. */
  advantage: part.optional(),
  /** Change advantages, in this order. */
  adjustments: z.array(part).default([]),
  /** Weigh tokens of scored sequences, in this order. */
  selections: z.array(part).default([]),
  /** The clipped loss unless given. */
  loss: part.optional(),
  /** Further losses, each times its coefficient (1). */
  regularizers: z.array(part).default([]),
}

const options = z.strictObject({
  ...partsShape,
  aggregation: z.enum(AGGREGATIONS).default('token-mean'),
  /** L of the aggregation 'fixed-length', in tokens. */
  fixedLength: z.number().positive().optional(),
  /** Replies cut off by a limit: ordinary, not trained on, or punished by length. */
  overlong: z
    .union([
      z.enum(['keep', 'mask']),
      z.strictObject({
        maxTokens: z.int().min(1),
        marginTokens: z.int().min(0),
        weight: z.number().min(0).default(1),
      }),
    ])
    .default('keep'),
  /** Leave out groups whose rewards are all equal. */
  dynamicSampling: z.boolean().default(true),
})

type PartEntry = z.output<typeof part>
export type PartsByName = Partial<z.output<z.ZodObject<typeof partsShape>>>

/** Parts that were found by name, and what they need. */
export type FoundParts = Pick<ComposeOptions, 'shaping' | 'adjustments' | 'selections' | 'regularizers' | 'needs'> &
  Partial<Pick<ComposeOptions, 'advantage' | 'loss'>>

/**
 * The method whose parts a configuration names: `{ name: 'composed', advantage: 'rloo', regularizers: [{ name, coefficient }] }`.
 *
 * @param known where parts are looked up
 */
export function composedMethod(known: () => readonly Objective[]): Objective {
  return objective({
    kind: 'method',
    name: 'composed',
    family: 'policy-gradient',
    summary: 'An algorithm out of parts by name: shaping, advantage, adjustments, selections, loss, regularizers.',
    formula: 'L = sum of c_t l_t + sum of coefficient * regularizer',
    reference: 'the parts say where they are from',
    standing: 'ours',
    use: 'To try a combination that has no name of its own. Left out, a part is what grpo has there.',
    rows: [],
    options,
    make: ({ aggregation, fixedLength, overlong, dynamicSampling, ...parts }) => {
      const { advantage, loss, ...found } = findParts(parts, known(), ['algorithm'])
      return compose({
        ...found,
        name: 'composed',
        advantage: advantage ?? groupAdvantages({ normalization: 'mean-std' }),
        loss: loss ?? clippedLoss(),
        aggregation,
        fixedLength,
        overlong,
        dynamicSampling,
      })
    },
  })
}

/**
 * Looks parts up by name and makes them.
 *
 * @param where the fields of the configuration that lead to the parts
 * @throws MyriadError 'usage' for an unknown name, a part of another kind, a wrong option, or needs that exclude each other
 */
export function findParts(parts: PartsByName, known: readonly Objective[], where: readonly PropertyKey[]): FoundParts {
  const needs: Needs[] = []
  const find = <K extends Kind>(entry: PartEntry, kind: K, ...at: PropertyKey[]) => {
    const { name, ...given } = typeof entry === 'string' ? { name: entry } : entry
    const declared = partByName(name, kind, known, [...where, ...at])
    if (declared.needs) needs.push(declared.needs)
    return { name, declared, given, make: () => makeObjective(declared, given, [...where, ...at]) }
  }
  const stages = <K extends 'shaping' | 'adjustment' | 'selection'>(
    entries: readonly PartEntry[] | undefined,
    kind: K,
    field: string,
  ): Stage<ReturnType<Objective<K>['make']>>[] => {
    const seen = new Map<string, number>()
    return (entries ?? []).map((entry, i) => {
      const { name, make } = find(entry, kind, field, i)
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      return { name: times === 1 ? name : `${name}-${times}`, run: make() }
    })
  }
  const found: FoundParts = {
    shaping: stages(parts.shaping, 'shaping', 'shaping'),
    ...(parts.advantage !== undefined && { advantage: find(parts.advantage, 'advantage', 'advantage').make() }),
    adjustments: stages(parts.adjustments, 'adjustment', 'adjustments'),
    selections: stages(parts.selections, 'selection', 'selections'),
    ...(parts.loss !== undefined && { loss: find(parts.loss, 'loss', 'loss').make() }),
    regularizers: (parts.regularizers ?? []).map((entry, i) => {
      const { declared, given } = find(entry, 'loss', 'regularizers', i)
      // A loss that has a coefficient of its own is given it; for others it is the factor of the sum.
      if ('coefficient' in (z.toJSONSchema(declared.options, { io: 'input', unrepresentable: 'any' }).properties ?? {}))
        return { loss: makeObjective(declared, given, [...where, 'regularizers', i]), coefficient: 1 }
      const { coefficient = 1, ...rest } = given as { coefficient?: unknown }
      const at = [...where, 'regularizers', i]
      if (typeof coefficient !== 'number' || !Number.isFinite(coefficient))
        throw new MyriadError('usage', `${pathOf([...at, 'coefficient'])}: expected a finite number`)
      return { loss: makeObjective(declared, rest, at), coefficient }
    }),
  }
  return { ...found, needs: mergeNeeds(needs, pathOf(where)) }
}

/**
 * A composed method with further parts: shapings, adjustments, selections and regularizers act after its own; an advantage or a
 * loss takes the place of its own.
 *
 * @throws MyriadError 'usage' when the method is not composed of such parts alone
 * @example withParts(algorithmByName('gspo'), findParts({ regularizers: ['entropy-bonus'] }, listObjectives(), []))
 */
export function withParts(algorithm: Algorithm, found: FoundParts): Algorithm {
  const { composition, needs } = algorithm
  const changed = (['loss', 'learn', 'refine', 'weigh'] as const).some(
    (key) => algorithm[key] !== composition?.made[key],
  )
  if (!composition || changed)
    throw new MyriadError(
      'usage',
      `algorithm.with: "${algorithm.name}" is not made of parts alone: none can be added by name`,
    )
  const { options: own } = composition
  return compose({
    ...own,
    shaping: [...(own.shaping ?? []), ...(found.shaping ?? [])],
    advantage: found.advantage ?? own.advantage,
    adjustments: [...(own.adjustments ?? []), ...(found.adjustments ?? [])],
    selections: [...(own.selections ?? []), ...(found.selections ?? [])],
    loss: found.loss ?? own.loss,
    regularizers: [...(own.regularizers ?? []), ...(found.regularizers ?? [])],
    needs: mergeNeeds([needs, found.needs ?? {}], 'algorithm.with'),
  })
}

/**
 * What several parts need together.
 *
 * @throws MyriadError 'usage' when two ask for different references, teachers or control tokens
 * @example mergeNeeds([{ old: true }, { alternatives: 8 }, { alternatives: 4 }]) // { old: true, alternatives: 8 }
 */
export function mergeNeeds(all: readonly Needs[], where = 'algorithm'): Needs {
  const one = <Field extends 'reference' | 'teacher' | 'control'>(field: Field): Needs[Field] => {
    const asked = all.flatMap((needs) => (needs[field] === undefined ? [] : [needs[field]]))
    const kinds = new Set(asked.map((value) => JSON.stringify(value)))
    if (kinds.size > 1)
      throw new MyriadError('usage', `${where}: its parts need different ${field}s: ${[...kinds].join(' and ')}`)
    return asked[0] as Needs[Field]
  }
  const [reference, teacher, control] = [one('reference'), one('teacher'), one('control')]
  const alternatives = Math.max(0, ...all.map((needs) => needs.alternatives ?? 0))
  const continuations = Math.max(0, ...all.map((needs) => needs.continuations ?? 0))
  const any = (field: 'old' | 'values' | 'demonstrations' | 'greedy'): boolean => all.some((needs) => needs[field])
  return {
    ...(reference !== undefined && { reference }),
    ...(teacher !== undefined && { teacher }),
    ...(control !== undefined && { control }),
    ...(any('old') && { old: true }),
    ...(any('values') && { values: true }),
    ...(any('demonstrations') && { demonstrations: true }),
    ...(any('greedy') && { greedy: true }),
    ...(continuations > 0 && { continuations }),
    ...(alternatives > 0 && { alternatives }),
  }
}

function partByName<K extends Kind>(
  name: string,
  kind: K,
  known: readonly Objective[],
  where: readonly PropertyKey[],
): Objective<K> {
  const declared = known.find((candidate) => candidate.name === name)
  if (declared?.kind === kind) return declared as unknown as Objective<K>
  const fitting = known.filter((candidate) => candidate.kind === kind).map((candidate) => candidate.name)
  const problem = declared
    ? `"${name}" is ${article(declared.kind)}, not ${article(kind)}.`
    : `there is no ${kind} "${name}".${suggestion(name, fitting)}`
  throw new MyriadError('usage', `${pathOf(where)}: ${problem} There are ${fitting.join(', ')}`)
}

/** 'a loss', 'an advantage'. */
export function article(kind: Kind): string {
  return `${kind.startsWith('a') ? 'an' : 'a'} ${kind}`
}

function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map((field) => (typeof field === 'number' ? `[${field}]` : `.${String(field)}`))
    .join('')
    .replace(/^\./, '')
}
