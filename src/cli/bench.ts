import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { MyriadError, suggestion } from '../core/index.js'
import { BENCH_SEEDS, benchMethods, NOT_COMPARED } from '../recipes/algorithm-bench.js'
import { runBench, type BenchResult } from '../recipes/algorithm-bench-run.js'
import { benchCells, benchRows } from '../recipes/algorithm-bench-table.js'
import { onInterrupt } from './interrupt.js'
import { integerOption } from './options.js'
import { commandName, packageFolder, packageVersion } from './package.js'
import type { Act } from './program.js'
import { columns, type Terminal } from './terminal.js'

interface BenchAlgorithmsOptions {
  methods?: string
  seeds?: string
  steps?: number
  parallel: number
  out: string
}

const INTERRUPTED = 130

/** `myriad bench algorithms`: the same small training run with every method. */
export function benchCommand(act: Act): Command {
  const command = new Command('bench').description('compare methods on the same work')
  command
    .command('algorithms')
    .description('train the base model for the same small budget with each method, and print a table')
    .option('--methods <names>', 'only these, separated by commas; all trainable ones unless given')
    .option('--seeds <numbers>', 'separated by commas', BENCH_SEEDS.join(','))
    .option('--steps <n>', 'training steps of a run', integerOption)
    .option('--parallel <n>', 'runs at a time, each on one core', integerOption, Math.max(1, cpus().length))
    .option('--out <folder>', 'folder of the results; what is there already is not run again', 'runs/bench-algorithms')
    .option('--json', 'print the table as one JSON document')
    .action((options: BenchAlgorithmsOptions) => act((terminal) => algorithms(terminal, options)))
  return command
}

async function algorithms(terminal: Terminal, options: BenchAlgorithmsOptions): Promise<number> {
  const methods = chosenMethods(options.methods)
  const seeds = numbersOf(options.seeds ?? BENCH_SEEDS.join(','))
  if (options.parallel < 1) throw new MyriadError('usage', '--parallel must be at least 1.')
  const began = performance.now()
  const interrupt = onInterrupt(() => terminal.note('Finishing the steps in flight. What is done is kept.'))
  const minutes = (): string => `${((performance.now() - began) / 60_000).toFixed(1)} min`
  try {
    const results = await runBench({
      methods,
      seeds,
      out: options.out,
      model: join(packageFolder(), 'models', 'base'),
      steps: options.steps,
      parallel: options.parallel,
      signal: interrupt.signal,
      onNote: (text) => terminal.note(text),
      onResult: (result, done, total) => terminal.note(`${done}/${total} ${minutes()}  ${lineOf(result)}`),
    })
    const rows = benchRows(results)
    const cells = benchCells(rows)
    terminal.print(columns(cells))
    for (const [name, why] of Object.entries(NOT_COMPARED))
      terminal.print(terminal.colors.dim(`${name} is left out: it ${why}`))
    const table = {
      command: `${commandName()} bench algorithms`,
      version: packageVersion(),
      machine: `${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} cores`,
      node: process.version,
      seeds,
      parallel: options.parallel,
      minutes: Number(((performance.now() - began) / 60_000).toFixed(1)),
      rows,
    }
    writeFileSync(join(options.out, 'table.json'), `${JSON.stringify(table, null, 2)}\n`)
    writeFileSync(join(options.out, 'table.md'), markdown(cells))
    terminal.result(table)
    if (interrupt.signal.aborted) {
      terminal.note(`Interrupted. The same command goes on where it stopped.`)
      return INTERRUPTED
    }
    return 0
  } finally {
    interrupt.dispose()
  }
}

function chosenMethods(names: string | undefined): { name: string; family: string }[] {
  const all = benchMethods()
  if (names === undefined) return all
  return names.split(',').map((name) => {
    const found = all.find((method) => method.name === name.trim())
    if (found) return found
    const known = all.map((method) => method.name)
    throw new MyriadError(
      'usage',
      `--methods: there is no "${name}".${suggestion(name, known)} There are ${known.join(', ')}`,
    )
  })
}

function numbersOf(text: string): number[] {
  return text.split(',').map(integerOption)
}

function lineOf({ method, seed, error, before, after, trainSeconds }: BenchResult): string {
  if (error !== null) return `${method} seed ${seed}: ${error.split('\n')[0]}`
  return `${method} seed ${seed}: reward ${before.reward.toFixed(2)} -> ${after.reward.toFixed(2)} in ${trainSeconds.toFixed(0)} s`
}

function markdown([head, ...rows]: readonly string[][]): string {
  const line = (cells: readonly string[]): string => `| ${head.map((_, i) => cells[i] ?? '').join(' | ')} |`
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`
}
