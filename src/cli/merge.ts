import { existsSync, readdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { Command, InvalidArgumentError, Option } from 'commander'
import { MyriadError } from '../core/index.js'
import {
  interpolate,
  mergeAdapter,
  modelCard,
  parameterCount,
  readAdapter,
  readCheckpoint,
  writeCheckpoint,
  type DecoderConfig,
  type StoredType,
  type Weights,
} from '../models/index.js'
import { tokenizerFilesOf } from '../text/index.js'
import { resolveAdapted, type AdaptedModel } from './adapter-model.js'
import { holdsAdapter, locateModel, resolveModel } from './models.js'
import type { Act } from './program.js'
import type { Terminal } from './terminal.js'

interface MergeOptions {
  adapter?: string
  weight?: number
  out: string
  dtype: StoredType
}

/** `myriad merge`: a model with its adapter added to its weights, or a model between two others. */
export function mergeCommand(act: Act): Command {
  return new Command('merge')
    .description('make one model of a model and its adapter, or of two models of the same shape')
    .argument('<model>', 'folder of a model or a run, GGUF file or model of the hub; or an adapter that names its base')
    .argument('[other]', 'another model of the same shape, to go part of the way to')
    .option('--adapter <folder>', 'low-rank adapter to add to the weights, or a run that trained one')
    .option('--weight <x>', 'how far to go from the first model to the other, 0 to 1; 0.5 unless given', shareOption)
    .requiredOption('--out <folder>', 'where the result goes; must not be there yet')
    .addOption(new Option('--dtype <type>', 'how values are stored').choices(['F32', 'F16', 'BF16']).default('F32'))
    .option('--json', 'print what was written as one JSON document')
    .addHelpText(
      'after',
      '\nExamples:\n  $ myriad merge models/mine --adapter runs/mine-seed1 --out models/merged --dtype F16\n  $ myriad merge models/one models/two --weight 0.3 --out models/between',
    )
    .action((model: string, other: string | undefined, options: MergeOptions) =>
      act((terminal) => run(terminal, model, other, options)),
    )
}

interface Merged {
  config: DecoderConfig
  weights: Weights
  /** Whose tokenizer goes along. */
  path: string
  /** How it was made, in Markdown. */
  text: string
}

async function run(terminal: Terminal, model: string, other: string | undefined, options: MergeOptions): Promise<void> {
  const { out, dtype, adapter, weight } = options
  if (existsSync(out)) throw new MyriadError('usage', `${out} is there already; give the name of a new folder.`)
  if (other !== undefined && adapter !== undefined)
    throw new MyriadError('usage', 'merge takes another model or --adapter, not both.')
  if (other === undefined && weight !== undefined)
    throw new MyriadError('usage', '--weight is of two models: name the other one too.')
  const { config, weights, path, text } =
    other === undefined
      ? await withAdapter(await adapted(terminal, model, adapter))
      : await between(terminal, model, other, weight ?? 0.5)
  const files = await tokenizerFilesOf(path)
  const title = out.split(/[\\/]/).findLast((part) => part !== '') ?? out
  writeCheckpoint(out, config, weights, { dtype, files: { ...files, 'README.md': modelCard({ title, text }) } })
  const parameters = parameterCount(config)
  terminal.print(`${out}  ${config.modelType}, ${(parameters / 1e6).toFixed(1)}M parameters, ${dtype}`)
  terminal.result({ folder: out, modelType: config.modelType, parameters, dtype, files: readdirSync(out).sort() })
}

/** The adapter that is named, on the model that is named; or an adapter on the base that it names itself. */
async function adapted(
  terminal: Terminal,
  model: string,
  adapter: string | undefined,
): Promise<Required<AdaptedModel>> {
  if (adapter === undefined) {
    const found = await resolveAdapted(model, terminal)
    if (found.adapter) return { model: found.model, adapter: found.adapter }
    throw new MyriadError('usage', `say what to merge ${model} with: --adapter FOLDER, or another model.`)
  }
  const folder = await locateModel(adapter, terminal)
  if (!holdsAdapter(folder))
    throw new MyriadError(
      'usage',
      `--adapter: ${folder} is no adapter: there is no adapter_config.json without a model in it.`,
    )
  return { model: await resolveModel(model, terminal), adapter: { folder } }
}

async function withAdapter({ model, adapter: { folder } }: Required<AdaptedModel>): Promise<Merged> {
  const { config, weights } = await readCheckpoint(model)
  const { adapter, weights: own } = readAdapter(folder, config)
  if (adapter.kind !== 'lora')
    throw new MyriadError(
      'usage',
      `${folder} is a ${adapter.kind}: virtual tokens have no place in a model's weights; keep it beside the model.`,
    )
  const text = `Merged by Myriad: \`${model}\` with the adapter \`${folder}\`.`
  const merged = mergeAdapter(config, weights, adapter, own, { inPlace: true })
  return { config: merged.config, weights: merged.weights, path: model, text }
}

async function between(terminal: Terminal, model: string, other: string, weight: number): Promise<Merged> {
  const [path, otherPath] = [await resolveModel(model, terminal), await resolveModel(other, terminal)]
  const [a, b] = [await readCheckpoint(path), await readCheckpoint(otherPath)]
  requireAlike([path, a.config], [otherPath, b.config])
  const [words, otherWords] = [await tokenizerFilesOf(path), await tokenizerFilesOf(otherPath)]
  if (words['tokenizer.json'] !== otherWords['tokenizer.json'])
    terminal.note(`The tokenizer.json of ${otherPath} is another than that of ${path}, which goes along.`)
  const text = `Merged by Myriad: ${1 - weight} of \`${path}\` and ${weight} of \`${otherPath}\`, weight by weight.`
  return { config: a.config, weights: interpolate(a.weights, b.weights, weight), path, text }
}

/** Refuses models whose weights do not mean the same things, naming what differs. */
function requireAlike([path, a]: [string, DecoderConfig], [otherPath, b]: [string, DecoderConfig]): void {
  const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])] as (keyof DecoderConfig)[]
  const differing = fields.filter((field) => !isDeepStrictEqual(a[field], b[field]))
  if (differing.length === 0) return
  const told = differing.map((field) => `${field} ${briefly(a[field])} and ${briefly(b[field])}`)
  throw new MyriadError(
    'usage',
    `${path} and ${otherPath} are not of the same shape, so there is nothing between them: they have ${told.join('; ')}.`,
  )
}

/** A value of a configuration; lists of one entry per layer are counted instead of written out. */
function briefly(value: unknown): string {
  if (!Array.isArray(value)) return JSON.stringify(value) ?? 'unset'
  const counts = new Map<string, number>()
  for (const entry of value) counts.set(JSON.stringify(entry), (counts.get(JSON.stringify(entry)) ?? 0) + 1)
  return `[${[...counts].map(([entry, count]) => (count === 1 ? entry : `${count} times ${entry}`)).join(', ')}]`
}

function shareOption(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 1)) throw new InvalidArgumentError('It must be from 0 to 1.')
  return value
}
