import { Command, InvalidArgumentError, Option } from 'commander'
import { createRandom, deriveSeed, MyriadError, suggestion } from '../core/index.js'
import { listTasks, taskById } from '../tasks/index.js'
import type { Message } from '../text/types.js'
import type { Outcome, Problem, Split, Task } from '../tasks/types.js'
import { integerOption } from './options.js'
import { commandName } from './package.js'
import type { Act } from './program.js'
import { columns, printable, type Terminal } from './terminal.js'

interface ShowOptions {
  language?: string
  seed: number
  difficulty?: number
  count: number
  split: Split
  player: 'random' | 'expert'
}

const DEFAULTS: ShowOptions = { seed: 1, count: 1, split: 'train', player: 'expert' }

/** `myriad tasks` lists what there is to do; `myriad tasks show ID` prints problems and how a player plays them. */
export function tasksCommand(act: Act): Command {
  const command = new Command('tasks')
    .description('list the tasks; "tasks show ID" prints example problems and a play of each')
    .argument('[id]', 'show this task, as "tasks show ID" does')
    .option('--json', 'print the list as one JSON document')
    .action((id: string | undefined) =>
      act((terminal) => (id === undefined ? list(terminal) : show(terminal, id, DEFAULTS))),
    )
  command
    .command('show')
    .description('print example problems of a task and how a player plays them')
    .argument('<id>', 'task, as "myriad tasks" lists it')
    .option('-l, --language <tag>', 'language of the problems (BCP 47); all of the task’s unless given')
    .option('--seed <n>', 'seed of the first problem', integerOption, DEFAULTS.seed)
    .option('--difficulty <d>', 'from 0 to 1; a spread unless given', difficultyOption)
    .option('--count <n>', 'problems to print per language', integerOption, 1)
    .addOption(
      new Option('--split <name>', 'problems to train on or withheld ones').choices(['train', 'eval']).default('train'),
    )
    .addOption(new Option('--player <name>', 'who plays').choices(['random', 'expert']).default('expert'))
    .option('--json', 'print the problems and plays as one JSON document')
    .action((id: string, options: ShowOptions) => act((terminal) => show(terminal, id, options)))
  return command
}

async function list(terminal: Terminal): Promise<void> {
  const tasks = listTasks()
  const { bold, dim } = terminal.colors
  const head = ['task', 'turns', 'languages', 'what it is']
  const rows = tasks.map((task) => [task.id, String(task.maxTurns), task.languages.join(' '), task.description])
  const lines = columns([head, ...rows]).split('\n')
  terminal.print([dim(lines[0]), ...lines.slice(1).map((line) => line.replace(/^\S+/, (id) => bold(id)))].join('\n'))
  terminal.print(
    dim(
      `\n"${commandName()} tasks show ${tasks[0].id}" prints problems; turns are the most replies an episode may have.`,
    ),
  )
  terminal.result(
    tasks.map(({ id, description, difficulty, languages, maxTurns, maxReplyTokens }) => ({
      id,
      description,
      difficulty,
      languages,
      maxTurns,
      maxReplyTokens,
    })),
  )
}

/** One problem, played to its end. */
interface Play {
  problem: Problem
  messages: Message[]
  outcome: Outcome
}

async function show(terminal: Terminal, id: string, options: ShowOptions): Promise<void> {
  const task = taskNamed(id)
  const { bold, dim, cyan, green, red } = terminal.colors
  const languages = options.language === undefined ? task.languages : [checkLanguage(task, options.language)]
  terminal.print(
    `${bold(task.id)}: ${task.description}\n${dim(`difficulty 0: ${task.difficulty.easiest}; 1: ${task.difficulty.hardest}`)}`,
  )
  const plays: Play[] = []
  for (const language of languages) {
    for (let i = 0; i < options.count; i++) {
      const difficulty = options.difficulty ?? (options.count === 1 ? 0.5 : i / (options.count - 1))
      const play = await playOnce(
        task,
        options.seed + i,
        { language, difficulty, split: options.split },
        options.player,
      )
      plays.push(play)
      const { success, reward } = play.outcome
      const end = `${success ? green('success') : red('no success')}, reward ${Math.round(reward * 1000) / 1000}`
      terminal.print(`\n${dim(`${language}  difficulty ${Math.round(difficulty * 100) / 100}  ${play.problem.key}`)}`)
      for (const { role, content } of play.messages) {
        terminal.print(`${role === 'assistant' ? cyan(role.padEnd(9)) : dim(role.padEnd(9))}  ${printable(content)}`)
      }
      terminal.print(dim(`${options.player} player: `) + end)
    }
  }
  terminal.result({ task: task.id, plays })
}

async function playOnce(
  task: Task,
  seed: number,
  where: { language: string; difficulty: number; split: Split },
  player: 'random' | 'expert',
): Promise<Play> {
  const problem = task.generate(seed, where)
  const episode = task.play(problem)
  const random = createRandom(deriveSeed(seed, 'show', task.id, where.language))
  const messages = [...episode.messages]
  for (let turn = 0; turn < task.maxTurns; turn++) {
    const reply = player === 'expert' && episode.expertReply ? episode.expertReply(random) : episode.randomReply(random)
    messages.push({ role: 'assistant', content: reply })
    const answer = await episode.respond(reply)
    messages.push(...answer.messages)
    if (answer.done && answer.outcome) return { problem, messages, outcome: answer.outcome }
  }
  throw new MyriadError('task', `task "${task.id}" did not end after its ${task.maxTurns} turns`)
}

/** The task with this id, or a usage error that names the nearest. */
export function taskNamed(id: string): Task {
  const known = listTasks().map((task) => task.id)
  if (!known.includes(id)) {
    throw new MyriadError(
      'usage',
      `there is no task "${id}".${suggestion(id, known)} The tasks are ${known.join(', ')}.`,
    )
  }
  return taskById(id)
}

/** The language, if the task speaks it; else a usage error that names the nearest. */
export function checkLanguage(task: Task, language: string): string {
  if (task.languages.includes(language)) return language
  const near = suggestion(language, task.languages)
  throw new MyriadError(
    'usage',
    `task "${task.id}" does not speak "${language}".${near} Its languages are ${task.languages.join(', ')}.`,
  )
}

function difficultyOption(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 1))
    throw new InvalidArgumentError('It must be a number from 0 to 1.')
  return value
}
