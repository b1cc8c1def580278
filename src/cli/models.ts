import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findGguf } from '../core/gguf.js'
import { messageOf, MyriadError } from '../core/index.js'
import {
  downloadModel,
  hasSafetensors,
  isHubModel,
  readAdapterConfig,
  type Download,
  type DownloadProgress,
} from '../models/index.js'
import { LiveBlock } from './live-block.js'
import { commandName, packageFolder } from './package.js'
import { isFile, isFolder, requireFolder } from './paths.js'
import type { Terminal } from './terminal.js'

/** The folder of the small multilingual model that comes with Myriad. */
export function baseModel(): string {
  return join(packageFolder(), 'models', 'base')
}

/**
 * The model folder or GGUF file meant by a text: a path to one, or of a run its final model, else its newest checkpoint;
 * a model of the Hugging Face hub (`OWNER/NAME`, `OWNER/NAME@REVISION`, `OWNER/NAME:FILE.gguf`), which is fetched where it
 * is not in the cache; the model that comes with Myriad when there is no text.
 *
 * @throws MyriadError 'usage' when there is none, or an adapter only; those of `downloadModel`
 */
export async function resolveModel(text: string | undefined, terminal: Terminal): Promise<string> {
  const path = await locateModel(text, terminal)
  if (!holdsAdapter(path)) return path
  const { adapter, base = 'its base' } = readAdapterConfig(path)
  if (adapter.kind !== 'lora')
    throw new MyriadError(
      'usage',
      `${path} is a ${adapter.kind} adapter, and a whole model is needed here. Its virtual tokens have no place in a model's ` +
        `weights, so it stays a folder of its own beside ${base}: sample, eval and PEFT take it as it is.`,
    )
  throw new MyriadError(
    'usage',
    `${path} is an adapter, and a whole model is needed here. To make one of it: ${commandName()} merge ${path} --out FOLDER`,
  )
}

/** As {@link resolveModel}, but what is found may be the folder of an adapter. */
export async function locateModel(text: string | undefined, terminal: Terminal): Promise<string> {
  if (text !== undefined && isHubModel(text)) return (await fetchModel(text, terminal)).path
  const path = text ?? baseModel()
  if (!path.endsWith('.gguf') || !existsSync(path)) requireFolder(path)
  const checkpoints = join(path, 'checkpoints')
  if (holdsModel(path) || !isFolder(checkpoints)) return path
  const steps = readdirSync(checkpoints)
    .filter((name) => /^step-\d+$/.test(name))
    .sort()
    .reverse()
  const found = [join(checkpoints, 'final'), ...steps.map((step) => join(checkpoints, step, 'policy'))].find(holdsModel)
  if (found !== undefined) return found
  throw new MyriadError('usage', `the run ${path} has no checkpoint yet, so there is no model in it.`)
}

function holdsModel(path: string): boolean {
  return hasSafetensors(path) || findGguf(path) !== undefined || holdsAdapter(path)
}

/** Is this the folder of an adapter, without the model it belongs to? */
export function holdsAdapter(path: string): boolean {
  return isFolder(path) && isFile(join(path, 'adapter_config.json')) && !isFile(join(path, 'config.json'))
}

/** Fetches a model of the hub, showing how far it is. */
export async function fetchModel(
  id: string,
  terminal: Terminal,
  options: { revision?: string; signal?: AbortSignal } = {},
): Promise<Download> {
  const view = downloadView(terminal, id)
  try {
    return await downloadModel(id, { ...options, onProgress: view.progress })
  } catch (error) {
    if (!(error instanceof MyriadError) || error.code !== 'usage') throw error
    throw new MyriadError('usage', `there is no folder ${id} here, and on the hub: ${messageOf(error)}`, {
      cause: error,
    })
  } finally {
    view.clear()
  }
}

/** A line that is redrawn on a terminal; elsewhere one for every file and every ten seconds. */
function downloadView(
  terminal: Terminal,
  id: string,
): { progress: (progress: DownloadProgress) => void; clear: () => void } {
  const block = terminal.live ? new LiveBlock((text) => process.stderr.write(text)) : null
  let shown = -Infinity
  let file = ''
  return {
    progress: (progress) => {
      const now = performance.now()
      const isNew = progress.file !== file
      if (!isNew && now - shown < (block ? 100 : 10_000) && progress.bytes < progress.total) return
      shown = now
      file = progress.file
      const line = `${id}  ${sizeOf(progress.bytes)} of ${sizeOf(progress.total)}  ${progress.file}`
      if (block) block.show([line.slice(0, terminal.columns - 1)])
      else if (isNew || progress.bytes < progress.total) terminal.note(line)
    },
    clear: () => block?.clear(),
  }
}

/** 98362432 -> "98.4 MB". */
export function sizeOf(bytes: number): string {
  const [unit, name] = bytes >= 1e9 ? [1e9, 'GB'] : bytes >= 1e6 ? [1e6, 'MB'] : [1e3, 'kB']
  return `${(bytes / unit).toFixed(1)} ${name}`
}
