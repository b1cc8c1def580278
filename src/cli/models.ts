import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError } from '../core/index.js'
import { packageFolder } from './package.js'
import { isFile, isFolder, requireFolder } from './paths.js'

/** The folder of the small multilingual model that comes with Myriad. */
export function baseModel(): string {
  return join(packageFolder(), 'models', 'base')
}

/**
 * The model folder meant by a path: a model folder itself, or of a run its final model, else its newest checkpoint; the
 * model that comes with Myriad when there is no path.
 *
 * @throws MyriadError 'usage' when there is none
 */
export function resolveModel(path: string | undefined): string {
  const folder = path ?? baseModel()
  requireFolder(folder)
  const checkpoints = join(folder, 'checkpoints')
  if (isFile(join(folder, 'model.safetensors')) || !isFolder(checkpoints)) return folder
  const steps = readdirSync(checkpoints)
    .filter((name) => /^step-\d+$/.test(name))
    .sort()
    .reverse()
  const found = [join(checkpoints, 'final'), ...steps.map((step) => join(checkpoints, step, 'policy'))].find(
    (candidate) => isFile(join(candidate, 'model.safetensors')),
  )
  if (found !== undefined) return found
  throw new MyriadError('usage', `the run ${folder} has no checkpoint yet, so there is no model in it.`)
}
