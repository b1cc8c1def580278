import { Command, CommanderError } from 'commander'
import { algorithmsCommand } from './algorithms.js'
import { benchCommand } from './bench.js'
import { convertCommand } from './convert.js'
import { downloadCommand } from './download.js'
import { evaluateCommand } from './evaluate.js'
import { failureOf, stackOf } from './failure.js'
import { languagesCommand } from './languages.js'
import { mergeCommand } from './merge.js'
import { packageVersion } from './package.js'
import { reportCommand } from './report.js'
import { rewardsCommand } from './rewards.js'
import { sampleCommand } from './sample.js'
import { scoreCommand } from './score.js'
import { tasksCommand } from './tasks.js'
import { openTerminal, type Terminal } from './terminal.js'
import { trainCommand } from './train.js'

/** What a command does with its terminal; it answers the exit code, 0 unless given. */
export type Act = (run: (terminal: Terminal) => Promise<number | void>) => Promise<void>

/**
 * Runs `myriad ARGUMENTS` and answers the exit code: 0 done, 1 failed while running, 2 wrong usage or configuration,
 * 130 interrupted (the run was saved).
 */
export async function runCommandLine(
  args: readonly string[],
  terminal = openTerminal(args.includes('--json')),
): Promise<number> {
  let exitCode = 0
  const act: Act = async (run) => {
    exitCode = (await run(terminal)) ?? 0
  }
  try {
    await buildProgram(act, terminal).parseAsync(args.length === 0 ? ['--help'] : [...args], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0 // --help and --version
    const failure = failureOf(error)
    terminal.note(`myriad: ${failure.message}`)
    if (process.env.MYRIAD_DEBUG) terminal.note(stackOf(error))
    else if (failure.exitCode === 2) terminal.note('Run "myriad --help", or "myriad COMMAND --help".')
    terminal.result({ error: { code: failure.code, message: failure.message } })
    return failure.exitCode
  }
}

function buildProgram(act: Act, terminal: Terminal): Command {
  const program = new Command('myriad')
    .description(
      'Reinforcement-learning post-training of language models: many tasks, many languages, many turns, one loop.',
    )
    .version(packageVersion())
    .showSuggestionAfterError()
    .configureOutput({ writeErr: () => undefined, writeOut: (text) => terminal.print(text.trimEnd()) })
    .exitOverride()
  for (const command of [
    trainCommand,
    evaluateCommand,
    sampleCommand,
    tasksCommand,
    benchCommand,
    rewardsCommand,
    algorithmsCommand,
    languagesCommand,
    scoreCommand,
    reportCommand,
    downloadCommand,
    convertCommand,
    mergeCommand,
  ]) {
    program.addCommand(settle(command(act)))
  }
  program.addHelpText(
    'after',
    `
Examples:
  $ myriad train quickstart                 train the small model that comes with Myriad, about 3 minutes
  $ myriad train quickstart --set steps=5   the same, shorter; every key of the configuration can be set so
  $ myriad tasks show sort --language sw    look at a few problems
  $ myriad sample runs/quickstart           talk to what you trained

Exit codes: 0 done, 1 failed while running, 2 wrong usage or configuration, 130 interrupted (and saved).`,
  )
  return program
}

/** Commands inherit neither exitOverride nor output settings when they are added ready-made. */
function settle(command: Command): Command {
  command
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ writeErr: () => undefined })
  command.commands.forEach(settle)
  return command
}
