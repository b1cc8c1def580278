import { join } from 'node:path'
import { Command } from 'commander'
import {
  describeLost,
  evaluate,
  evaluationTable,
  nothingMeasured,
  randomPlayer,
  type EvaluationTask,
} from '../evaluation/index.js'
import { openLocalPolicy } from '../policy/index.js'
import { listTasks, taskById } from '../tasks/index.js'
import {
  configuredScorer,
  configuredTasks,
  loadModules,
  readRunConfig,
  type Scorer,
  type TrainConfig,
} from '../training/index.js'
import { resolveAdapted } from './adapter-model.js'
import { configFrom, enableTypeScriptFor } from './configs.js'
import { dieBy, onInterrupt } from './interrupt.js'
import { LiveBlock } from './live-block.js'
import { MyriadError, suggestion } from '../core/index.js'
import { chatTemplateHelp, collect, integerOption } from './options.js'
import { isFile } from './paths.js'
import type { Act } from './program.js'
import { progressBlock, progressLine, type Standing } from './progress.js'
import type { Terminal } from './terminal.js'

interface EvaluateOptions {
  config?: string
  task: string[]
  language: string[]
  problems: number
  samples: number
  seed: number
  workers: number
  chatTemplate?: string
}

/** `myriad eval`: how a model does on withheld problems. */
export function evaluateCommand(act: Act): Command {
  return new Command('eval')
    .description('measure a model on withheld problems, greedily and at temperature 1')
    .argument(
      '[model]',
      'folder of a model, an adapter or a run, GGUF file or model of the hub; the one that comes with Myriad unless given',
    )
    .option(
      '--config <config>',
      'take tasks and rewards from this configuration; a run has its own; else all built-in tasks',
    )
    .option('--task <id>', 'only this task (repeatable)', collect, [])
    .option('--language <tag>', 'only this language (repeatable)', collect, [])
    .option('--problems <n>', 'withheld problems per task and language', integerOption, 8)
    .option('--samples <n>', 'samples per problem at temperature 1', integerOption, 8)
    .option('--seed <n>', 'chooses problems and samples', integerOption, 0)
    .option('--workers <n>', 'replicas of the model, a thread each', integerOption, 2)
    .option('--chat-template <file>', chatTemplateHelp)
    .option('--json', 'print the result as one JSON document')
    .action((model: string | undefined, options: EvaluateOptions) => act((terminal) => run(terminal, model, options)))
}

async function run(terminal: Terminal, model: string | undefined, options: EvaluateOptions): Promise<number> {
  atLeastOne('--problems', options.problems)
  atLeastOne('--samples', options.samples)
  atLeastOne('--workers', options.workers)
  const opened = await resolveAdapted(model, terminal)
  const folder = opened.adapter?.folder ?? opened.model
  const { tasks, score, chatTemplate } = await whatToPlay(model, options)
  const { policy, chat } = await openLocalPolicy(opened.model, {
    workers: options.workers,
    adapter: opened.adapter,
    chatTemplate,
  })
  const interrupt = onInterrupt(() => dieBy('SIGINT')) // nothing to save
  const view = evaluationView(terminal, folder)
  try {
    const { problems: problemsPerCell, samples, seed } = options
    const result = await evaluate({
      policy,
      chat,
      tasks,
      score,
      problemsPerCell,
      samples,
      seed,
      onProgress: view.progress,
    })
    view.clear()
    const random = await randomPlayer(tasks, { problemsPerCell, plays: 16, seed })
    terminal.print(evaluationTable({ ...result, random }, { colors: terminal.colors.isColorSupported }))
    const message = nothingMeasured(result)
    if (message !== undefined) terminal.note(`myriad: ${message}`)
    else for (const one of result.lost) terminal.note(describeLost(one))
    const error = message === undefined ? {} : { error: { code: 'runtime', message } }
    terminal.result({ model: folder, seed, problemsPerCell, samples, ...result, random, ...error })
    return message === undefined ? 0 : 1
  } finally {
    view.clear()
    interrupt.dispose()
    await policy.close()
    await score.close?.()
  }
}

/** The tasks and rewards to evaluate by, narrowed to what was asked for. */
async function whatToPlay(
  model: string | undefined,
  options: EvaluateOptions,
): Promise<{ tasks: EvaluationTask[]; score: Scorer; chatTemplate?: string }> {
  const config = await configFor(model, options.config)
  enableTypeScriptFor(config)
  const modules = await loadModules(config.modules)
  const all = configuredTasks(config, modules.tasks, taskById)
  refuseUnknown(
    'task',
    options.task,
    all.map(({ task }) => task.id),
  )
  refuseUnknown('language', options.language, [...new Set(all.flatMap(({ languages }) => languages))])
  const wanted = (list: readonly string[], item: string): boolean => list.length === 0 || list.includes(item)
  const tasks = all
    .filter(({ task }) => wanted(options.task, task.id))
    .map((one) => ({ ...one, languages: one.languages.filter((language) => wanted(options.language, language)) }))
    .filter(({ languages }) => languages.length > 0)
  if (tasks.length === 0) throw new MyriadError('usage', 'none of these tasks speaks any of these languages.')
  const chatTemplate = options.chatTemplate ?? config.chatTemplate
  return { tasks, score: configuredScorer(config.rewards, modules.rewards), chatTemplate }
}

type Plan = Pick<TrainConfig, 'tasks' | 'rewards' | 'modules' | 'chatTemplate'>

async function configFor(model: string | undefined, name: string | undefined): Promise<Plan> {
  if (name !== undefined) return configFrom(name, [], undefined)
  const isRun = model !== undefined && isFile(join(model, 'metrics.jsonl'))
  // A run's model has its template beside it.
  if (isRun) return { ...(await readRunConfig(model)), chatTemplate: undefined }
  const tasks = listTasks().map(({ id }) => ({ id, difficulty: [0, 1] as [number, number], weight: 1 }))
  return { tasks, rewards: { task: 1 }, modules: [] }
}

function refuseUnknown(what: string, asked: readonly string[], known: readonly string[]): void {
  for (const name of asked) {
    if (known.includes(name)) continue
    throw new MyriadError(
      'usage',
      `there is no ${what} "${name}" here.${suggestion(name, known)} There are ${known.join(', ')}.`,
    )
  }
}

function atLeastOne(option: string, value: number): void {
  if (value < 1) throw new MyriadError('usage', `${option} must be at least 1.`)
}

/** Progress of an evaluation: a block on a terminal, a line every few seconds elsewhere. */
function evaluationView(
  terminal: Terminal,
  name: string,
): { progress: (done: number, total: number) => void; clear: () => void } {
  const block = new LiveBlock((text) => void process.stderr.write(text))
  const began = performance.now()
  let shown = began
  return {
    progress: (done, total) => {
      const now = performance.now()
      if (now - shown < (terminal.live ? 100 : 5000)) return
      shown = now
      const secondsLeft = ((now - began) / 1000) * (total / done - 1)
      const standing: Standing = {
        name,
        phase: 'evaluating',
        done,
        total,
        tasks: new Map(),
        tokensPerSecond: null,
        secondsLeft,
        dropped: 0,
      }
      if (terminal.live) block.show(progressBlock(standing, terminal.columns - 1, terminal.colors))
      else terminal.note(progressLine(standing))
    },
    clear: () => {
      if (terminal.live) block.clear()
    },
  }
}
