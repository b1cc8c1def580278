import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Task } from '../tasks/types.js'
import { createScorer } from '../training/scoring.js'
import { climb, echo, openTestPolicy } from '../training/testing.js'
import { evaluate } from './evaluate.js'
import { evaluationProblems } from './problems.js'
import { describeLost, nothingMeasured } from './lost.js'
import { randomPlayer } from './random-player.js'
import { evaluationTable, summaryTable } from './table.js'
import type { Evaluation, EvaluationTask } from './types.js'

const asked = (task: Task): EvaluationTask => ({ task, languages: task.languages, difficulty: [0, 1] })
const taskReward = { name: 'task', score: ({ outcome }: { outcome: { reward: number } }) => outcome.reward }
const score = createScorer(taskReward, async ({ problem }) => problem.language === 'en')

async function evaluateTest(tasks: readonly Task[], more: { samples?: number } = {}): Promise<Evaluation> {
  const { policy, chat } = await openTestPolicy()
  return evaluate({ policy, chat, tasks: tasks.map(asked), score, problemsPerCell: 4, samples: 6, seed: 3, ...more })
}

test('problems are withheld, different, spread over the range, and the same for the same seed', () => {
  const [english] = evaluationProblems([asked(climb)], { problemsPerCell: 4, seed: 1 })
  assert.equal(english.problems.length, 4)
  assert.ok(english.problems.every(({ split }) => split === 'eval'))
  assert.equal(new Set(english.problems.map(({ key }) => key)).size, 4)
  assert.deepEqual(
    english.problems.map(({ difficulty }) => difficulty),
    [0.125, 0.375, 0.625, 0.875],
  )
  assert.deepEqual(evaluationProblems([asked(climb)], { problemsPerCell: 4, seed: 1 })[0].problems, english.problems)
  // The task "echo" has two withheld problems only, without further content.
  assert.equal(evaluationProblems([asked(echo)], { problemsPerCell: 4, seed: 1 })[0].problems.length, 2)
})

test('a row per task, language and decoding, and means over them', async () => {
  const { rows, tasks, languages, overall } = await evaluateTest([climb, echo])
  assert.equal(rows.length, 8)
  const row = rows.find(({ task, language, decoding }) => task + language + decoding === 'climbensampled')!
  assert.deepEqual([row.n, row.problems, row.passAt!.length], [24, 4, 6])
  assert.ok(row.ciLow <= row.success && row.success <= row.ciHigh)
  assert.equal(row.languageConsistency, 1)
  assert.ok(Math.abs(row.passAt![0] - row.success) < 1e-12, 'pass@1 is success')
  assert.ok(row.passAt!.every((value, k) => k === 0 || value >= row.passAt![k - 1]))
  assert.ok(rows.every(({ decoding, passAt }) => (decoding === 'greedy') === (passAt === undefined)))
  const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-12
  for (const decoding of ['greedy', 'sampled'] as const) {
    const cells = rows.filter((one) => one.decoding === decoding)
    const all = overall.find((one) => one.decoding === decoding)!
    assert.ok(
      near(
        all.success,
        cells.reduce((sum, { success }) => sum + success / 4, 0),
      ),
    )
    assert.equal(all.languageConsistency, 0.5)
    assert.equal(
      all.n,
      cells.reduce((sum, { n }) => sum + n, 0),
    )
  }
  assert.equal(tasks.length, 4)
  assert.equal(languages.length, 4)
})

test('the same twice is equal', async () => {
  assert.deepEqual(await evaluateTest([climb]), await evaluateTest([climb]))
})

test('a task that fails leaves empty rows and a count', async () => {
  const broken: Task = {
    ...climb,
    play: () => {
      throw new Error('no')
    },
  }
  const { rows, dropped, lost } = await evaluateTest([broken])
  assert.deepEqual([lost[0].task, lost[0].dropped, lost[0].reason], ['climb', 2 * 4 * 7, 'task-error'])
  assert.match(lost[0].message, /no/)
  assert.deepEqual(dropped, { 'task-error': 2 * 4 * 7 })
  assert.deepEqual([rows[0].n, rows[0].success, rows[0].ciLow, rows[0].ciHigh], [0, 0, 0, 1])
  assert.equal(rows[0].languageConsistency, null)
  const silent: Task = {
    ...climb,
    generate: () => {
      throw new Error('no')
    },
  }
  const nothing = await evaluateTest([silent])
  assert.ok(nothing.dropped['task-error'] > 0)
  assert.match(
    nothingMeasured(nothing) ?? '',
    /^nothing was measured: all \d+ episodes of the evaluation were dropped.*no/,
  )
  assert.equal((await randomPlayer([asked(broken)], { problemsPerCell: 2, plays: 2, seed: 1 }))[0].n, 0)
})

test('where every episode of a task was dropped, tables show nothing, not zero', async () => {
  const broken: Task = {
    ...climb,
    play: () => {
      throw new Error('no such thing')
    },
  }
  const result = await evaluateTest([broken, echo])
  assert.equal(nothingMeasured(result), undefined)
  assert.match(
    describeLost(result.lost[0]),
    /^climb: all 56 episodes were dropped \(task-error\), the first because: .*no such/,
  )
  const lineOf = (table: string): string => table.split('\n').find((line) => line.startsWith('climb'))!
  assert.match(lineOf(evaluationTable({ ...result, random: [] })), /^climb( +-){5}$/)
  const whole = await evaluateTest([climb, echo])
  const table = (before: Evaluation, after: Evaluation): string =>
    lineOf(summaryTable({ evaluation: { random: [], aggregates: { before, after } } }))
  assert.match(table(result, result), /^climb +- +- +- +- -> - +- -> -$/)
  assert.match(table(result, whole), /^climb +- +- -> \d+ +- -> \d+ /)
})

test('the random player: one letter of five, and + against a three times', async () => {
  const rows = await randomPlayer([asked(echo), asked(climb)], { problemsPerCell: 4, plays: 400, seed: 1 })
  const success = (task: string, language: string): number =>
    rows.find((row) => row.task === task && row.language === language)!.success
  for (const language of ['en', 'sw']) {
    assert.ok(Math.abs(success('echo', language) - 1 / 5) < 0.04)
    assert.ok(Math.abs(success('climb', language) - 1 / 8) < 0.04)
  }
})

test('tables are aligned, and plain without colours', async () => {
  const result = await evaluateTest([climb, echo])
  const random = await randomPlayer([asked(climb), asked(echo)], { problemsPerCell: 4, plays: 10, seed: 1 })
  const after: Evaluation = {
    ...result,
    tasks: result.tasks.map((row) => ({ ...row, success: 1, ciLow: 0.9, ciHigh: 1 })),
  }
  const summary = { evaluation: { random, aggregates: { before: result, after } } }
  const plain = summaryTable(summary)
  const body = plain.split('\n').slice(0, 3)
  assert.equal(new Set(body.map((line) => line.length)).size, 1, plain)
  assert.match(body[0], /^task +random +temperature 1 +greedy +pass@6 +language$/)
  assert.match(body[1], /^climb +\d+ +\d+ -> 100\* /)
  const coloured = summaryTable(summary, { colors: true })
  // eslint-disable-next-line no-control-regex -- the escape sequences are what is looked for
  assert.equal(coloured.replaceAll(/\u001b\[\d+m/g, ''), plain)
  assert.notEqual(coloured, plain)
  assert.match(evaluationTable({ ...result, random }), /climb +\d+ +\d+ \(\d+-\d+\)/)
})
