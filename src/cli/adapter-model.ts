import { messageOf, MyriadError } from '../core/index.js'
import { readAdapterConfig } from '../models/index.js'
import { holdsAdapter, locateModel, resolveModel } from './models.js'
import type { Terminal } from './terminal.js'

/** What `openLocalPolicy` takes: a model, and the adapter to put on it. */
export interface AdaptedModel {
  model: string
  adapter?: { folder: string }
}

/**
 * As `resolveModel`, and of an adapter's folder (also of a run that trained one) the model that it names as its base: a path
 * as PEFT takes it, from the working directory, or a model of the hub.
 *
 * @throws MyriadError 'usage' when the adapter names no base, or there is none of that name; those of `resolveModel`
 */
export async function resolveAdapted(text: string | undefined, terminal: Terminal): Promise<AdaptedModel> {
  const folder = await locateModel(text, terminal)
  if (!holdsAdapter(folder)) return { model: folder }
  const { base } = readAdapterConfig(folder)
  const field = `"base_model_name_or_path" in its adapter_config.json`
  if (base === undefined)
    throw new MyriadError('usage', `${folder} is an adapter that names no base: write a model folder as ${field}.`)
  try {
    return { model: await resolveModel(base, terminal), adapter: { folder } }
  } catch (error) {
    const code = error instanceof MyriadError ? error.code : 'runtime'
    throw new MyriadError(code, `${folder} is an adapter of ${base}, but ${messageOf(error)} (Its base is ${field}.)`, {
      cause: error,
    })
  }
}
