/** Ready-made training runs by name: what `myriad train NAME` runs. One file each. */
import { MyriadError } from '../core/index.js'
import type { TrainConfigInput } from '../training/index.js'
import { quickstart } from './quickstart.js'

/** A configuration that leaves the model to the caller. */
export type Recipe = Omit<TrainConfigInput, 'model'>

const recipes: Readonly<Record<string, Recipe>> = { quickstart }

/** Names of all recipes. */
export function listRecipes(): string[] {
  return Object.keys(recipes)
}

/**
 * A recipe's configuration.
 *
 * @throws MyriadError 'usage' that lists the names there are
 * @example train({ ...recipeByName('quickstart'), model: 'models/base' })
 */
export function recipeByName(name: string): Recipe {
  const recipe = Object.hasOwn(recipes, name) ? recipes[name] : undefined
  if (recipe) return recipe
  throw new MyriadError('usage', `there is no recipe "${name}"; there are ${listRecipes().join(', ')}`)
}
