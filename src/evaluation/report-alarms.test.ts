import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { examplesOf, runAlarms } from './report-alarms.js'
import { madeUpRun, writeMadeUpRun } from './report-testing.js'
import { writeReport } from './report.js'

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-alarms-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

test('a run that goes well has no alarm in its report; one that drifts shows episodes of it', async (t) => {
  const folder = temporary(t)
  const run = madeUpRun()
  writeMadeUpRun(folder, run)
  assert.deepEqual(await runAlarms(folder), [])
  assert.doesNotMatch(readFileSync(await writeReport(folder), 'utf8'), /pleased/)

  for (const [i, step] of run.steps.entries()) {
    const task = step.tasks.sort as Record<string, number>
    Object.assign(task, { success: 0.6 - 0.008 * i, reward: 0.2 + 0.01 * i, languageConsistency: 1 - 0.01 * i })
  }
  const late = run.episodes.filter(({ step }) => step === 60)
  Object.assign(late[0], { success: false, reward: 7, tokens: ['<b>', 'paid', '<script>'], mask: [0, 1, 1] })
  Object.assign(late[1], { languageConsistent: false })
  writeMadeUpRun(folder, run)
  const alarms = await runAlarms(folder)
  assert.deepEqual(
    alarms.map(({ kind, task }) => [kind, task]),
    [
      ['reward-without-success', 'sort'],
      ['language-drift', 'sort'],
    ],
  )
  const page = readFileSync(await writeReport(folder), 'utf8')
  const section = page.slice(page.indexOf('Is the reward being pleased?'))
  assert.match(section, /More reward, less success<\/span> sort: the reward rose/)
  assert.match(section, /The language drifts/)
  assert.ok(section.includes('paid') && !page.includes('<script>'))
})

test('examples are late episodes of the task that show the alarm', () => {
  const { episodes } = madeUpRun()
  const own = episodes.map((episode, i) => ({ ...episode, success: i % 2 === 0, reward: i }))
  const alarm = { message: '', early: 1, late: 2 }
  const chosen = examplesOf({ ...alarm, kind: 'reward-without-success', task: 'sort' }, own)
  assert.deepEqual(
    chosen.map(({ reward }) => reward),
    [own.length - 1, own.length - 3],
  )
  assert.deepEqual(examplesOf({ ...alarm, kind: 'length-drift', task: 'maze' }, own), [])
  const looping = {
    ...own[own.length - 1],
    tokens: Array.from({ length: 60 }, () => ' la'),
    mask: Array.from({ length: 60 }, () => 1),
  }
  assert.deepEqual(examplesOf({ ...alarm, kind: 'repetition', task: null }, [...own, looping]), [looping])
  assert.deepEqual(examplesOf({ ...alarm, kind: 'length-drift', task: 'sort' }, [...own, looping])[0], looping)
})

test('the parts of the reward are shown with their spread and how they go together', async (t) => {
  const folder = temporary(t)
  const run = madeUpRun()
  const statistics = { mean: 0.51, std: 0.1, min: 0, max: 1, null: 0, failed: 0.25 }
  Object.assign(run.steps[59], {
    rewardStatistics: { task: statistics, '<b>judge': { ...statistics, mean: 0.77 } },
    rewardCorrelations: { '<b>judge~task': -0.42 },
  })
  writeMadeUpRun(folder, run)
  const page = readFileSync(await writeReport(folder), 'utf8')
  assert.match(page, /Parts of the reward in step 60/)
  assert.match(page, /0\.77/)
  assert.match(page, /judge and task -0\.42/)
  assert.ok(!page.includes('<b>judge'))
})
