/** A made-up run for the report's tests: shapes and scripts of a real one, numbers from a seeded generator. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRandom } from '../core/index.js'
import type { EpisodeRecord, EvaluationRow } from './report-data.js'

const LANGUAGES = ['en', 'es', 'sw', 'yo', 'ru', 'ar', 'hi', 'ja']
const TASKS = ['sort', 'reverse', 'larger', 'guess', 'maze', 'nim', 'facts', 'lookup', 'translate', 'arithmetic']
const SPOKEN: Record<string, [string[], string[]]> = {
  en: [
    ['sort', ':', ' k', ' b', ' a'],
    [' a', ' b', ' k'],
  ],
  ar: [
    ['رتب', ':', ' ك', ' ب', ' ا'],
    [' ا', ' ب', ' ك'],
  ],
  hi: [
    ['क्रम', ' में', ':', ' ग', ' क'],
    [' क', ' ग'],
  ],
  ja: [
    ['なら', 'べて', ':', ' う', ' あ'],
    [' あ', ' う'],
  ],
  ru: [
    ['упо', 'рядочь', ':', ' в', ' а'],
    [' а', ' в'],
  ],
  yo: [
    ['tò', ':', ' ṣ', ' ẹ', ' b'],
    [' b', ' ẹ', ' ṣ'],
  ],
}

/** Means over languages, and over all, as an evaluation has them. */
function means(rows: readonly EvaluationRow[]): { tasks: EvaluationRow[]; overall: EvaluationRow[] } {
  const one = (own: readonly EvaluationRow[], task: string): EvaluationRow => {
    const average = (of: (row: EvaluationRow) => number): number =>
      own.reduce((sum, row) => sum + of(row), 0) / own.length
    const success = average((row) => row.success)
    const passAt = own[0].passAt?.map((_, k) => average((row) => row.passAt?.[k] ?? 0))
    const languageConsistency = average((row) => row.languageConsistency ?? 0)
    return {
      ...own[0],
      task,
      language: '*',
      success,
      ciLow: success - 0.04,
      ciHigh: success + 0.04,
      passAt,
      languageConsistency,
    }
  }
  const of = (decoding: string, task?: string): EvaluationRow[] =>
    rows.filter((row) => row.decoding === decoding && (task ?? row.task) === row.task)
  return {
    tasks: TASKS.flatMap((task) => [one(of('sampled', task), task), one(of('greedy', task), task)]),
    overall: [one(of('sampled'), '*'), one(of('greedy'), '*')],
  }
}

export function madeUpRun() {
  const random = createRandom(7)
  const clamp = (value: number): number => Math.min(1, Math.max(0, value))
  const rows = (base: number, decoding: 'sampled' | 'greedy'): EvaluationRow[] =>
    TASKS.flatMap((task, i) =>
      LANGUAGES.map((language) => {
        const success = clamp(base + ((i * 7) % 5) * 0.06 - 0.12 + 0.08 * random.normal())
        const passAt = Array.from({ length: 8 }, (_, k) => 1 - (1 - success) ** (0.7 * k + 1))
        const [ciLow, ciHigh] = [clamp(success - 0.14), clamp(success + 0.14)]
        const row = { task, language, decoding, n: 24, success, ciLow, ciHigh, reward: success }
        return { ...row, languageConsistency: clamp(base + 0.4), ...(decoding === 'sampled' && { passAt }) }
      }),
    )
  const steps = Array.from({ length: 60 }, (_, step) => {
    const tasks = Object.fromEntries(
      TASKS.map((task, i) => {
        const success = clamp(0.25 + 0.55 / (1 + Math.exp(-(step - 15 - i * 3) / 6)) + 0.07 * random.normal())
        return [task, { success, reward: success, languageConsistency: 0.97, groups: 4 }]
      }),
    )
    const down = Math.exp(-step / 30)
    const common = {
      loss: 0.01 * random.normal(),
      gradientNorm: 0.4 + down,
      entropy: 0.3 + 0.9 * down,
      'loss/kl': 0.001 * step,
    }
    return {
      step: step + 1,
      tasks,
      reward: 0.8 - 0.5 * down,
      'loss/clipFraction': 0.02,
      sampledTokens: 5000,
      ...common,
    }
  })
  const episodes: EpisodeRecord[] = Object.entries(SPOKEN).flatMap(([language, [prompt, reply]]) =>
    [1, 60].map((step) => {
      const sign = step === 1 ? -1 : 1
      const tokens = ['<|user|>', ...prompt, '<|end|>', '<|assistant|>', ...reply, '<|end|>']
      const mask = tokens.map((_, i) => (i >= prompt.length + 3 ? 1 : 0))
      const advantages = mask.map((m) => m * sign * (0.4 + 0.6 * random.uniform()))
      const base = { step, task: 'sort', language, reward: step === 1 ? 0.2 : 1, success: step !== 1 }
      return {
        ...base,
        languageConsistent: step !== 1,
        rewardParts: { task: 0.9, format: 0.1 },
        tokens,
        mask,
        advantages,
      }
    }),
  )
  const before = [...rows(0.3, 'sampled'), ...rows(0.36, 'greedy')]
  const after = [...rows(0.68, 'sampled'), ...rows(0.74, 'greedy')]
  const summary = {
    name: 'quickstart',
    seed: 1,
    steps: 60,
    finished: true,
    wallSeconds: 192,
    evaluation: {
      before,
      after,
      random: TASKS.map((task) => ({ task, language: 'en', success: 0.1 + 0.2 * random.uniform() })),
      aggregates: { before: means(before), after: means(after) },
    },
    throughput: { sampledTokensPerSecond: 14210.4, trainedTokensPerSecond: 8100.2 },
    dropped: { 'reward threw': 2, 'equal rewards': 131 } as Record<string, number>,
    versions: { 'myriad-rl': '0.1.0', node: '20.20.2', 'onnxruntime-node': '1.30.0' },
  }
  const config: Record<string, unknown> = { name: 'quickstart', steps: 60, tasks: TASKS.map((id) => ({ id })) }
  return { config, steps, episodes, summary }
}

export function writeMadeUpRun(folder: string, run: ReturnType<typeof madeUpRun>): void {
  const lines = (items: readonly unknown[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('')
  writeFileSync(join(folder, 'config.json'), JSON.stringify(run.config))
  writeFileSync(join(folder, 'summary.json'), JSON.stringify(run.summary))
  writeFileSync(join(folder, 'metrics.jsonl'), lines(run.steps))
  writeFileSync(join(folder, 'episodes.jsonl'), lines(run.episodes))
}
