import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Command } from 'commander'
import { messageOf, MyriadError } from '../core/index.js'
import {
  builtinRewards,
  rewardFromConfig,
  scoreTranscripts,
  transcriptOf,
  type Reward,
  type RewardConfig,
  type Sample,
  type Transcript,
} from '../rewards/index.js'
import { loadModules } from '../training/setup.js'
import { collect } from './options.js'
import { requireFile } from './paths.js'
import type { Act } from './program.js'
import type { Terminal } from './terminal.js'

/** Lines that are scored together. */
const BATCH = 32

interface ScoreOptions {
  reward: string[]
  option: string[]
  module: string[]
}

/** A scored line: its number from 1, and its reward (null: it does not apply) or what was wrong. */
type ScoredLine =
  { line: number; reward: number | null; parts: Record<string, number> } | { line: number; error: string }

/** `myriad score --reward NAME [FILE]`: scores lines of JSON from a file or a pipe, one line of JSON each. */
export function scoreCommand(act: Act): Command {
  return new Command('score')
    .description(
      'score replies: lines of JSON with "reply" and what the reward reads (prompt, answer, references, source, language ...)',
    )
    .argument('[file]', 'lines of JSON; standard input unless given')
    .requiredOption(
      '-r, --reward <name>',
      'reward, as "myriad rewards" lists it; repeat for several, NAME=WEIGHT weighs it',
      collect,
      [],
    )
    .option(
      '-o, --option <name=value>',
      'option of a reward, as REWARD.OPTION=VALUE, or OPTION=VALUE for the only one; the value is JSON or text',
      collect,
      [],
    )
    .option('--module <path>', 'JavaScript module that exports rewards of your own', collect, [])
    .option('--json', 'print all results as one JSON document')
    .action((file: string | undefined, options: ScoreOptions) => act((terminal) => score(terminal, file, options)))
}

async function score(terminal: Terminal, file: string | undefined, options: ScoreOptions): Promise<number> {
  const reward = await openReward(options)
  if (file !== undefined) requireFile(file)
  const input: Readable = file === undefined ? process.stdin : createReadStream(file)
  const results: ScoredLine[] = []
  let batch: { line: number; text: string }[] = []
  const flush = async (): Promise<void> => {
    for (const result of await scoreLines(reward, batch)) {
      results.push(result)
      if (!terminal.json) terminal.print(JSON.stringify(result))
    }
    batch = []
  }
  let line = 0
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      line++
      if (text.trim() !== '') batch.push({ line, text })
      if (batch.length === BATCH) await flush()
    }
    await flush()
  } finally {
    await reward.close?.()
  }
  return summarize(terminal, results)
}

function summarize(terminal: Terminal, results: readonly ScoredLine[]): number {
  const scored = results.filter((result) => 'reward' in result)
  const values = scored.flatMap(({ reward: value }) => (value === null ? [] : [value]))
  const failed = results.length - scored.length
  const mean = values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
  terminal.note(
    `${values.length} scored${mean === null ? '' : `, mean ${Number(mean.toFixed(6))}`}` +
      `${scored.length > values.length ? `, ${scored.length - values.length} to which it does not apply` : ''}` +
      `${failed > 0 ? `, ${failed} failed` : ''}`,
  )
  terminal.result({ mean, scored: values.length, notApplicable: scored.length - values.length, failed, results })
  return failed > 0 ? 1 : 0
}

async function scoreLines(reward: Reward, lines: readonly { line: number; text: string }[]): Promise<ScoredLine[]> {
  const read = lines.map(
    ({ line, text }): { line: number; transcript: Transcript } | { line: number; error: string } => {
      try {
        return { line, transcript: transcriptOf(parse(text)) }
      } catch (error) {
        return { line, error: messageOf(error) }
      }
    },
  )
  const whole = read.flatMap((one) => ('transcript' in one ? [one] : []))
  const scores = await scoreTranscripts(
    reward,
    whole.map(({ transcript }) => transcript),
  )
  const scored = new Map(whole.map(({ line }, i) => [line, scores[i]]))
  return read.map((one) => {
    if ('error' in one) return one
    const score = scored.get(one.line)!
    if (score instanceof Error) return { line: one.line, error: score.message }
    return { line: one.line, reward: Object.keys(score.parts).length === 0 ? null : score.reward, parts: score.parts }
  })
}

function parse(text: string): Sample {
  try {
    return JSON.parse(text) as Sample
  } catch (error) {
    throw new MyriadError('usage', `not JSON: ${messageOf(error)}`, { cause: error })
  }
}

async function openReward({ reward, option, module }: ScoreOptions): Promise<Reward> {
  const own = (await loadModules(module)).rewards
  const config: Record<string, { weight: number } & Record<string, unknown>> = {}
  for (const given of reward) {
    const [, name, weight] = /^(.*?)(?:=([-+.\deE]+))?$/u.exec(given)!
    config[name] = { weight: weight === undefined ? 1 : Number(weight) }
  }
  const names = Object.keys(config)
  for (const given of option) {
    const at = given.indexOf('=')
    const path = at < 0 ? given : given.slice(0, at)
    const owner = names.find((name) => path.startsWith(`${name}.`)) ?? (names.length === 1 ? names[0] : undefined)
    if (at < 0 || owner === undefined)
      throw new MyriadError(
        'usage',
        `--option ${given}: write REWARD.OPTION=VALUE, with REWARD one of ${names.join(', ')}`,
      )
    const key = path.startsWith(`${owner}.`) ? path.slice(owner.length + 1) : path
    config[owner][key] = valueOf(given.slice(at + 1))
  }
  const registry = { ...builtinRewards, ...Object.fromEntries(own.map((one) => [one.name, () => one])) }
  return rewardFromConfig(config as RewardConfig, registry)
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
