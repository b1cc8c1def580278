import { existsSync, readdirSync } from 'node:fs'
import { Command, Option } from 'commander'
import { MyriadError } from '../core/index.js'
import { modelCard, parameterCount, readCheckpoint, writeCheckpoint, type StoredType } from '../models/index.js'
import { tokenizerFilesOf } from '../text/index.js'
import { resolveModel } from './models.js'
import type { Act } from './program.js'
import type { Terminal } from './terminal.js'

interface ConvertOptions {
  dtype: StoredType
  shardSize: number
}

/** `myriad convert MODEL FOLDER`: any model that can be read, written as a Hugging Face model folder. */
export function convertCommand(act: Act): Command {
  return new Command('convert')
    .description('write a model (GGUF file, model of the hub, run) as a folder of safetensors that transformers reads')
    .argument('<model>', 'model folder, run folder, GGUF file or model of the hub')
    .argument('<folder>', 'where it goes; must not be there yet')
    .addOption(new Option('--dtype <type>', 'how values are stored').choices(['F32', 'F16', 'BF16']).default('F32'))
    .option('--shard-size <gigabytes>', 'most gigabytes of one file', Number, 5)
    .option('--json', 'print what was written as one JSON document')
    .addHelpText('after', '\nExample:\n  $ myriad convert model.Q4_1.gguf models/mine --dtype BF16')
    .action((model: string, folder: string, options: ConvertOptions) =>
      act((terminal) => run(terminal, model, folder, options)),
    )
}

async function run(terminal: Terminal, model: string, folder: string, options: ConvertOptions): Promise<void> {
  if (existsSync(folder)) throw new MyriadError('usage', `${folder} is there already; give the name of a new folder.`)
  if (!(options.shardSize > 0)) throw new MyriadError('usage', '--shard-size must be more than 0.')
  const path = await resolveModel(model, terminal)
  const { config, weights } = await readCheckpoint(path)
  const files = await tokenizerFilesOf(path)
  const { dtype, shardSize } = options
  const text = `Written by Myriad from \`${model}\`, values stored as ${dtype}.`
  writeCheckpoint(folder, config, weights, {
    dtype,
    shardBytes: shardSize * 1e9,
    files: { ...files, 'README.md': modelCard({ title: folder.split(/[\\/]/).at(-1) ?? folder, text }) },
  })
  const parameters = parameterCount(config)
  terminal.print(`${folder}  ${config.modelType}, ${(parameters / 1e6).toFixed(1)}M parameters, ${dtype}`)
  terminal.result({ folder, modelType: config.modelType, parameters, dtype, files: readdirSync(folder).sort() })
}
