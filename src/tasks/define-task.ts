import { MyriadError, createRandom, deriveSeed, type Json, type Random } from '../core/index.js'
import { proposeInSplit } from './split.js'
import type { Episode, GenerateOptions, Outcome, Problem, Task, Turn } from './types.js'

/** What the author of a task states; `Data` is whatever describes one problem, as plain JSON. */
export interface TaskSpec<Data extends Json> extends Omit<Task, 'generate' | 'play' | 'lexicon'> {
  /** Words of right replies by language (see `Task.lexicon`); a function when they come out of a data package. */
  lexicon?: Task['lexicon'] | (() => Task['lexicon'])
  /**
   * Proposes a problem. It is asked again until the key falls in the wanted split, so it must not look at the split. The
   * key is the content without its wording; without one, the JSON of the data is the key.
   */
  generate(random: Random, options: Omit<GenerateOptions, 'split'>): { data: Data; key?: string }
  /** Starts an episode. Its `respond` may forget about turn limits and hostile lengths: both are seen to here. */
  play(data: Data, problem: Problem): Episode
  /** What an episode is worth whose turns ran out; 0.1 unless given: more than a malformed reply, far less than success. */
  outOfTurns?: Outcome
}

/** Longest reply a task is shown; the rest is cut. */
const longestReply = 4000

/**
 * Makes a task of any number of turns: checks what it is asked, keeps the splits apart and ends endless episodes.
 *
 * @throws MyriadError 'usage' from `generate` for an unknown language or a difficulty outside [0, 1]; 'task' when the
 *   generator throws
 * @example see docs/add-a-task.md
 */
export function defineTask<Data extends Json>(spec: TaskSpec<Data>): Task {
  const { lexicon, outOfTurns = { reward: 0.1, success: false, wellFormed: true }, ...rest } = spec
  let words: Task['lexicon']
  return {
    ...rest,
    get lexicon() {
      return (words ??= typeof lexicon === 'function' ? lexicon() : lexicon)
    },
    generate(seed, options) {
      check(spec, options)
      const random = createRandom(deriveSeed('problem', spec.id, seed, options.language))
      let attempt = 0
      // Languages may draw unequally often within a proposal, so shared ones begin anew each time.
      const randomOf = () =>
        options.shared ? createRandom(deriveSeed('shared problem', spec.id, seed, attempt++)) : random
      const { key, data } = proposeInSplit(spec.id, options.split, () => {
        const proposal = spec.generate(randomOf(), options)
        return { data: proposal.data, key: `${spec.id}:${proposal.key ?? JSON.stringify(proposal.data)}` }
      })
      const { language, difficulty, split } = options
      return { task: spec.id, language, difficulty, split, key, data }
    },
    play(problem) {
      if (problem.task !== spec.id)
        throw new MyriadError('task', `task "${spec.id}" was given a problem of task "${problem.task}"`)
      // The problem came from this task's own generator, possibly over a network: its shape is what `generate` made.
      const episode = spec.play(problem.data as Data, problem)
      let turns = 0
      let over = false
      const close = (turn: Turn): Turn => {
        turns++
        const closed =
          turn.done || turns < spec.maxTurns ? turn : { ...turn, messages: [], done: true, outcome: outOfTurns }
        over = closed.done
        if (closed.done && closed.outcome)
          return { ...closed, outcome: { ...closed.outcome, metrics: { turns, ...closed.outcome.metrics } } }
        return closed
      }
      return {
        ...episode,
        respond(reply, respondOptions) {
          if (over) throw new MyriadError('task', `task "${spec.id}": the episode is over, no reply was awaited`)
          const turn = episode.respond(reply.slice(0, longestReply), respondOptions)
          return turn instanceof Promise ? turn.then(close) : close(turn)
        },
      }
    },
  }
}

function check(task: Pick<Task, 'id' | 'languages'>, { language, difficulty, split }: GenerateOptions): void {
  if (!task.languages.includes(language))
    throw new MyriadError(
      'usage',
      `task "${task.id}" does not speak "${language}"; its languages are ${task.languages.join(', ')}`,
    )
  if (!(difficulty >= 0 && difficulty <= 1))
    throw new MyriadError('usage', `task "${task.id}": difficulty must be a number in [0, 1], got ${difficulty}`)
  if (split !== 'train' && split !== 'eval')
    throw new MyriadError('usage', `task "${task.id}": split must be "train" or "eval", got "${String(split)}"`)
}

/** The end of an episode. */
export function end(outcome: Outcome): Turn {
  return { messages: [], done: true, outcome }
}

/** The end of an episode by a reply that is not in the form asked for: the worst there is, so that it never pays. */
export const malformed: Turn = { messages: [], done: true, outcome: { reward: 0, success: false, wellFormed: false } }

/** The world goes on: one message to read. */
export function say(content: string, role: 'user' | 'tool' = 'user'): Turn {
  return { messages: [{ role, content }], done: false }
}

/** An integer between two ends, by difficulty. */
export function scale(difficulty: number, easiest: number, hardest: number): number {
  return Math.round(easiest + difficulty * (hardest - easiest))
}
