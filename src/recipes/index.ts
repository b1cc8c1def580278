/** Ready-made training runs by name: what `myriad train NAME` runs. One file each. */
import { MyriadError } from '../core/index.js'
import { quickstart } from './quickstart.js'
import { smollm2Lora } from './smollm2-lora.js'
import type { Recipe } from './types.js'

export type { Recipe } from './types.js'

const recipes: Readonly<Record<string, Recipe>> = { quickstart, 'smollm2-lora': smollm2Lora }

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
