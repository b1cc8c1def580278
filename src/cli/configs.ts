import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError, suggestion } from '../core/index.js'
import { listRecipes, recipeByName } from '../recipes/index.js'
import { listTasks } from '../tasks/index.js'
import { applyOverrides, parseConfig, readConfigFile, type TrainConfig } from '../training/index.js'
import { baseModel } from './models.js'
import { requireFile } from './paths.js'
import { enableTypeScript } from './typescript.js'

/**
 * The configuration meant on the command line: a recipe's name or a JSON file, with `--set` and `--seed` applied, the model
 * that comes with Myriad where none is named, checked.
 *
 * @throws MyriadError 'usage' that says which field, file or name is wrong
 */
export async function configFrom(name: string, set: readonly string[], seed: number | undefined): Promise<TrainConfig> {
  const isFileName = /\.json$|[\\/]/.test(name)
  if (isFileName) requireFile(name)
  const base = isFileName ? await readConfigFile(name) : recipe(name)
  const overrides = seed === undefined ? set : [...set, `seed=${seed}`]
  const config = parseConfig(
    applyOverrides({ model: baseModel(), ...base }, overrides),
    isFileName ? name : 'the configuration',
  )
  checkTaskNames(config)
  enableTypeScriptFor(config)
  return config
}

/** Lets the modules of a configuration be TypeScript. */
export function enableTypeScriptFor(config: Pick<TrainConfig, 'modules'>): void {
  if (config.modules.some((path) => /\.m?ts$/.test(path))) enableTypeScript()
}

function recipe(name: string): object {
  const names = listRecipes()
  if (names.includes(name)) return recipeByName(name)
  const file = existsSync(`${name}.json`) ? ` (for the file of that name, write ${name}.json)` : ''
  throw new MyriadError(
    'usage',
    `there is no configuration "${name}".${suggestion(name, names)} Give one of ${names.join(', ')}, or a JSON file${file}.`,
  )
}

/** Where all tasks are built in, a name that is none of them gets the nearest suggested. */
function checkTaskNames({ tasks, modules }: TrainConfig): void {
  if (modules.length > 0) return
  const known = listTasks().map((task) => task.id)
  for (const [i, { id }] of tasks.entries()) {
    if (known.includes(id)) continue
    throw new MyriadError(
      'usage',
      `tasks[${i}].id: there is no task "${id}".${suggestion(id, known)} The tasks are ${known.join(', ')}.`,
    )
  }
}

/** The run folder for a name and seed that is not there yet: runs/NAME-seedSEED, or with -2, -3 ... */
export function freshRunFolder({ name, seed }: TrainConfig): string {
  return runFolders(name, seed).find((folder) => !existsSync(folder)) as string
}

/** The last run folder there is for a name and seed, or null. */
export function latestRunFolder({ name, seed }: TrainConfig): string | null {
  const folders = runFolders(name, seed)
  const fresh = folders.findIndex((folder) => !existsSync(folder))
  return fresh === 0 ? null : folders[fresh - 1]
}

function runFolders(name: string, seed: number): string[] {
  return Array.from({ length: 1000 }, (_, i) => join('runs', `${name}-seed${seed}${i === 0 ? '' : `-${i + 1}`}`))
}
