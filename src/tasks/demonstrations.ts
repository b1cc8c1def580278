import { MyriadError, createRandom, deriveSeed, type Random } from '../core/index.js'
import { isLanguage, languages, type Language } from '../data/index.js'
import type { Message } from '../text/types.js'
import { baseModelTasks, taskById } from './registry.js'
import {
  siblingExample,
  siblingIds,
  variationExample,
  variationIds,
  type SiblingId,
  type VariationId,
} from './siblings.js'
import type { Problem, Task } from './types.js'

/** A conversation for instruction tuning. */
export interface Demonstration {
  /** Id of the task, or of the sibling request. */
  task: string
  language: string
  messages: Message[]
}

/** Tasks whose demonstrations are records of random legal players: the rules of speech, no policy. */
const games: readonly string[] = ['guess', 'maze', 'nim']
/** Tasks that are never demonstrated: siblings over the same data are. */
const undemonstrated: readonly string[] = ['sort', 'reverse', 'larger']

/** Languages that demonstrations are in. */
export const demonstrationLanguages: readonly Language[] = languages

/**
 * How often a kind is drawn when none is asked for, 2 unless named: what has to be known wants more repetitions than rules
 * of speech, and long conversations fewer.
 */
const shares: Readonly<Record<string, number>> = {
  facts: 5,
  translate: 5,
  arithmetic: 4,
  lookup: 4,
  repeat: 3,
  declaration: 1,
}

/** Ids that `demonstration` knows: tasks and siblings. */
export function demonstrationIds(): string[] {
  return [
    ...baseModelTasks.map((task) => task.id).filter((id) => !undemonstrated.includes(id)),
    ...siblingIds,
    ...variationIds,
  ]
}

/** Kinds drawn when none is asked for. Variations are not: they are asked for by name. */
function drawnIds(language: string): string[] {
  return demonstrationIds().filter((id) => speaks(id, language) && !isVariation(id))
}

/**
 * A conversation for instruction tuning, out of the train split only. Where there is a right answer (facts, translate,
 * declaration, arithmetic, lookup, the siblings) it is given; games (guess, maze, nim) are played to the end by a random legal player.
 * Sort, reverse and larger are never shown.
 *
 * @param options.task one of `demonstrationIds()`; drawn when absent, by the shares above
 * @throws MyriadError 'usage' for an unknown id or language
 * @example demonstration(7, { language: 'sw', task: 'facts' }).messages
 */
export function demonstration(seed: number, options: { language: string; task?: string }): Demonstration {
  const { language } = options
  if (!isLanguage(language))
    throw new MyriadError('usage', `demonstration: unknown language "${language}"; known: ${languages.join(', ')}`)
  const random = createRandom(deriveSeed('demonstration', seed, language, options.task ?? ''))
  const known = demonstrationIds().filter((id) => speaks(id, language))
  const id =
    options.task ??
    random.pick(drawnIds(language).flatMap((name) => Array.from({ length: shares[name] ?? 2 }, () => name)))
  if (!known.includes(id))
    throw new MyriadError('usage', `demonstration: no "${id}" in ${language}; known: ${known.join(', ')}`)
  if (isSibling(id)) return { task: id, language, messages: exchange(siblingExample(id, language, random)) }
  if (isVariation(id)) return { task: id, language, messages: exchange(variationExample(id, language, random)) }
  return { task: id, language, messages: record(id, language, random) }
}

/**
 * A reply as it is written in demonstrations: after a space, so that byte-pair encoding gives its first word the token which
 * that word has within a text. Tasks trim replies; a policy so instructed copies what it read token by token.
 */
const spoken = (reply: string): string => ` ${reply}`

function isSibling(id: string): id is SiblingId {
  return (siblingIds as readonly string[]).includes(id)
}

function isVariation(id: string): id is VariationId {
  return (variationIds as readonly string[]).includes(id)
}

function speaks(id: string, language: string): boolean {
  return isSibling(id) || isVariation(id) || taskById(id).languages.includes(language)
}

function exchange({ prompt, reply }: { prompt: string; reply: string }): Message[] {
  return [
    { role: 'user', content: prompt },
    { role: 'assistant', content: spoken(reply) },
  ]
}

function record(id: string, language: string, random: Random): Message[] {
  const task = taskById(id)
  const options = { language, difficulty: random.uniform(), split: 'train' as const }
  return playThrough(
    task,
    task.generate(random.integer(0, 2 ** 31 - 1), options),
    random,
    games.includes(id) ? 'random' : 'expert',
  )
}

/** The conversation of a whole episode, played by the task's own random or right player. */
function playThrough(task: Task, problem: Problem, random: Random, player: 'random' | 'expert'): Message[] {
  const episode = task.play(problem)
  const messages = [...episode.messages]
  for (;;) {
    const reply = player === 'expert' && episode.expertReply ? episode.expertReply(random) : episode.randomReply(random)
    messages.push({ role: 'assistant', content: spoken(reply) })
    const turn = episode.respond(reply)
    if (turn instanceof Promise)
      throw new MyriadError('task', `task "${task.id}" answers asynchronously: it cannot be demonstrated`)
    if (turn.done) return messages
    messages.push(...turn.messages)
  }
}
