import { join } from 'node:path'
import { Command } from 'commander'
import { MyriadError } from '../core/index.js'
import { summaryTable } from '../evaluation/index.js'
import { readRunConfig, train, type Summary, type TrainConfig } from '../training/index.js'
import { configFrom, enableTypeScriptFor, freshRunFolder, latestRunFolder } from './configs.js'
import { onInterrupt } from './interrupt.js'
import { resolveModel } from './models.js'
import { collect, integerOption } from './options.js'
import { commandName } from './package.js'
import { requireFolder } from './paths.js'
import type { Act } from './program.js'
import { printable, type Terminal } from './terminal.js'
import { TrainView } from './train-view.js'

interface TrainOptions {
  set: string[]
  seed?: number
  out?: string
  resume?: string | true
}

const INTERRUPTED = 130

/** `myriad train`: trains by a configuration into a run folder, showing how it goes. */
export function trainCommand(act: Act): Command {
  return new Command('train')
    .description('train a model by reinforcement')
    .argument('[config]', 'name of a configuration that comes with Myriad (quickstart), or a JSON file')
    .option(
      '--set <key=value>',
      'set a field of the configuration, like algorithm.clipHigh=0.28 (repeatable)',
      collect,
      [],
    )
    .option('--seed <n>', 'seed of the run', integerOption)
    .option('--out <folder>', 'run folder; runs/NAME-seedSEED unless given')
    .option(
      '--resume [run]',
      'go on with an unfinished run: the one in this folder, in --out, or the last one of this configuration',
    )
    .option('--json', 'print the summary as one JSON document')
    .action((name: string | undefined, options: TrainOptions) => act((terminal) => run(terminal, name, options)))
}

async function run(terminal: Terminal, name: string | undefined, options: TrainOptions): Promise<number> {
  const { config: planned, out } = await plan(name, options)
  const config = await resolveModels(planned, terminal)
  const view = new TrainView(terminal)
  const resumeHint = `To go on with it: ${commandName()} train --resume ${out}`
  const interrupt = onInterrupt((time) => {
    if (time === 'first') return view.say('Finishing the step and saving. Ctrl-C once more stops at once.')
    view.clear()
    terminal.note(`Stopped at once; what was saved before is whole. ${resumeHint}`)
  })
  try {
    const resume = options.resume !== undefined
    const summary = await train(config, { out, resume, onEvent: view.onEvent, signal: interrupt.signal })
    if (!summary.finished) {
      terminal.note(`Interrupted after ${summary.steps} of ${config.steps} steps, and saved. ${resumeHint}`)
      terminal.result(summary)
      return INTERRUPTED
    }
    return finish(terminal, summary, out)
  } finally {
    interrupt.dispose()
    view.clear()
  }
}

/** The configuration with its models on this machine. */
async function resolveModels(config: TrainConfig, terminal: Terminal): Promise<TrainConfig> {
  const { model, teacher, teacherBase, teachers } = config
  const languages = Object.keys(teachers ?? {})
  const ofLanguages: Record<string, string> = {}
  for (const language of languages) ofLanguages[language] = await resolveModel(teachers![language], terminal)
  return {
    ...config,
    model: await resolveModel(model, terminal),
    ...(teacher !== undefined && { teacher: await resolveModel(teacher, terminal) }),
    ...(teacherBase !== undefined && { teacherBase: await resolveModel(teacherBase, terminal) }),
    ...(teachers && { teachers: ofLanguages }),
  }
}

/** @returns the exit code */
function finish(terminal: Terminal, summary: Summary, out: string): number {
  const report = join(out, 'report.html')
  terminal.print(`\n${summaryTable(summary, { colors: terminal.colors.isColorSupported })}`)
  terminal.print(`\nReport   ${report}\nTalk     ${commandName()} sample ${out}`)
  const { failure: message, warnings = [] } = summary
  for (const warning of warnings) terminal.note(`\nmyriad: ${printable(warning)}`)
  if (message !== undefined) terminal.note(`\nmyriad: ${message}`)
  terminal.result({ ...summary, report, ...(message !== undefined && { error: { code: 'runtime', message } }) })
  return message === undefined ? 0 : 1
}

/** Which configuration is run, and where. */
async function plan(name: string | undefined, options: TrainOptions): Promise<{ config: TrainConfig; out: string }> {
  const { set, seed, resume } = options
  const given = typeof resume === 'string' ? resume : options.out
  if (resume !== undefined && given !== undefined) requireFolder(given)
  if (name !== undefined) {
    const config = await configFrom(name, set, seed)
    const out = given ?? (resume === undefined ? freshRunFolder(config) : latestRunFolder(config))
    if (out === null)
      throw new MyriadError('usage', `there is no run of "${config.name}" with seed ${config.seed} to resume in runs/.`)
    return { config, out }
  }
  if (resume === undefined)
    throw new MyriadError('usage', 'say what to train: a configuration such as quickstart, or a JSON file.')
  if (given === undefined) throw new MyriadError('usage', 'say which run to resume: --resume RUN.')
  if (set.length > 0 || seed !== undefined) {
    throw new MyriadError(
      'usage',
      'a run goes on with the configuration it was begun with: --set and --seed do not go with --resume RUN.',
    )
  }
  const config = await readRunConfig(given)
  enableTypeScriptFor(config)
  return { config, out: given }
}
