import { z } from 'zod'
import type { Loss } from '../../policy/types.js'
import { weigh } from '../compose.js'
import { objective, type About, type Objective } from '../objective.js'
import type { Algorithm, Group, LearnContext, Needs } from '../types.js'
import { lessonOf, pairGroups, pairingOptions, type Comparisons, type PairingOptions } from './comparisons.js'

/** Makes comparisons of the replies of each group. */
export type Compare = (groups: readonly Group[], context: LearnContext) => Comparisons[]

/**
 * A method of a loss on compared replies: every step the replies to each problem are compared by their rewards, and the loss
 * is taken of the comparisons. Unlike groups of a policy gradient, equal rewards teach nothing and are not there.
 *
 * @example preferenceMethod({ name: 'mine', loss, needs: { reference: 'initial' }, truncated: 'keep', compare })
 */
export function preferenceMethod(options: {
  name: string
  loss: Loss
  needs: Needs
  truncated: PairingOptions['truncated']
  compare: Compare
}): Algorithm {
  const { name, loss, needs, compare } = options
  return {
    name,
    loss,
    needs,
    learn: (groups, context) => lessonOf(groups, options, context, compare),
    weigh: (sequences) => weigh(sequences, 'sequence-mean-token-mean'),
  }
}

interface Declared<Shape extends z.ZodRawShape> extends Omit<About, 'family'> {
  /** Options of the loss. */
  shape: Shape
  loss: (options: z.output<z.ZodObject<Shape>>) => Loss
  /** Whether these options need a reference; yes or no for all of them. */
  referenceNeeded: boolean | ((options: z.output<z.ZodObject<Shape>>) => boolean)
  needs?: Needs
  /** How the method pairs unless told otherwise ('best-worst'). */
  pairing?: PairingOptions['pairing']
  /** Other comparisons than pairs by reward. */
  compare?: (options: PairingOptions & z.output<z.ZodObject<Shape>>) => Compare
}

const referenceRate = z.number().gt(0).max(1).optional()

/**
 * Declares a loss on comparisons and the method of the same name that makes its comparisons on-line: NAME-loss and NAME.
 *
 * @example const { loss: dpoLossPart, method: dpo } = lossAndMethod({ name: 'dpo', shape: { beta }, loss: dpoLoss, ... })
 */
export function lossAndMethod<Shape extends z.ZodRawShape>(
  declared: Declared<Shape>,
): {
  loss: Objective<'loss', z.ZodObject<Shape>>
  method: Objective<'method', z.ZodObject<Shape & typeof pairingOptions & { referenceRate: typeof referenceRate }>>
} {
  const { shape, loss, referenceNeeded, needs = {}, compare, pairing = 'best-worst', ...rest } = declared
  const about: About = { ...rest, family: 'preference' }
  const needsOf = (options: z.output<z.ZodObject<Shape>>, rate?: number): Needs => {
    const isNeeded = typeof referenceNeeded === 'function' ? referenceNeeded(options) : referenceNeeded
    return isNeeded ? { ...needs, reference: rate === undefined ? 'initial' : { rate } } : needs
  }
  return {
    loss: objective({
      ...about,
      kind: 'loss',
      name: `${about.name}-loss`,
      options: z.strictObject(shape),
      ...(referenceNeeded === true ? { needs: { ...needs, reference: 'initial' as const } } : {}),
      make: loss,
    }) as unknown as Objective<'loss', z.ZodObject<Shape>>,
    method: objective({
      ...about,
      kind: 'method',
      options: z.strictObject({
        ...shape,
        ...pairingOptions,
        pairing: pairingOptions.pairing.removeDefault().default(pairing),
        /** The reference follows the policy at this rate after every step; it is the initial policy unless given. */
        referenceRate,
      }),
      make: (given: unknown) => {
        const options = given as PairingOptions & z.output<z.ZodObject<Shape>> & { referenceRate?: number }
        return preferenceMethod({
          name: about.name,
          loss: loss(options),
          needs: needsOf(options, options.referenceRate),
          truncated: options.truncated,
          compare: compare?.(options) ?? ((groups, context) => pairGroups(groups, options, context)),
        })
      },
    }) as unknown as Objective<
      'method',
      z.ZodObject<Shape & typeof pairingOptions & { referenceRate: typeof referenceRate }>
    >,
  }
}
