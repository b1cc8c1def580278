import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { niceTicks, smooth } from './report-charts.js'
import { spread } from './report-episodes.js'
import { escapeHtml, html } from './report-html.js'
import { compact, duration, points, tick } from './report-stats.js'
import { madeUpRun, writeMadeUpRun } from './report-testing.js'
import { writeReport } from './report.js'

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-report-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

test('the report of a run is one page without scripts or outside requests', async (t) => {
  const folder = temporary(t)
  writeMadeUpRun(folder, madeUpRun())
  const path = await writeReport(folder)
  assert.equal(path, join(folder, 'report.html'))
  const page = readFileSync(path, 'utf8')
  assert.doesNotMatch(page, /<script|<link|<img|<iframe|src=|href=|url\(|@import|https?:/i)
  assert.match(page, /Content-Security-Policy" content="default-src 'none'/)
  assert.match(page, /prefers-color-scheme:\s*dark/)
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.part')),
    [],
  )
})

test('its numbers are those of the run', async (t) => {
  const folder = temporary(t)
  const run = madeUpRun()
  writeMadeUpRun(folder, run)
  const text = readFileSync(await writeReport(folder), 'utf8')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
  const of = (when: 'before' | 'after', decoding: string): number => {
    const rows = run.summary.evaluation[when].filter((row) => row.decoding === decoding)
    return Math.round((100 * rows.reduce((sum, row) => sum + row.success, 0)) / rows.length)
  }
  for (const decoding of ['sampled', 'greedy']) {
    assert.ok(text.includes(`${of('before', decoding)}% → ${of('after', decoding)}%`), decoding)
  }
  assert.match(text, /3 min 12 s/)
  assert.match(text, /reward threw/)
  assert.match(text, /onnxruntime/)
  for (const task of ['sort', 'maze', 'facts']) assert.ok(text.includes(` ${task} `), task)
})

test('what a model wrote cannot leave its place in the page', async (t) => {
  const folder = temporary(t)
  const run = madeUpRun()
  const payloads = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    '</style></title>',
    '\u202Egnp.exe',
  ]
  run.episodes[0] = {
    ...run.episodes[0],
    task: payloads[0],
    language: `en" onclick="x`,
    tokens: payloads,
    mask: payloads.map(() => 1),
    advantages: payloads.map(() => 1),
    rewardParts: { [payloads[1]]: 1, b: 2 },
  }
  run.summary.name = payloads[3]
  run.summary.dropped = { [payloads[1]]: 1 }
  run.config.name = payloads[0]
  writeMadeUpRun(folder, run)
  const page = readFileSync(await writeReport(folder), 'utf8')
  const plain = readFileSync(await writeReport(folderOf(t, madeUpRun())), 'utf8')
  assert.deepEqual(tagNames(page), tagNames(plain), 'no element that an innocent run does not have')
  assert.ok(!/<[^>]*\son\w+\s*=/i.test(page.replace(/"[^"]*"/g, '""')), 'no event handler outside a quoted value')
  assert.doesNotMatch(page, /\u202E/)
  assert.equal(page.split('<title>')[1].split('</title>')[0], '&#60;/style&#62;&#60;/title&#62;: Myriad report')
})

function folderOf(t: TestContext, run: ReturnType<typeof madeUpRun>): string {
  const folder = temporary(t)
  writeMadeUpRun(folder, run)
  return folder
}

function tagNames(page: string): string[] {
  return [...new Set([...page.matchAll(/<\/?([a-z][a-z0-9]*)/gi)].map((match) => match[1]))].sort()
}

test('right-to-left replies carry their language and find their own direction', async (t) => {
  const page = readFileSync(await writeReport(folderOf(t, madeUpRun())), 'utf8')
  assert.match(page, /<div class="turn reply" dir="auto" lang="ar"/)
})

test('a run that has not ended, and one whose last line was cut, still have a report', async (t) => {
  const folder = folderOf(t, madeUpRun())
  rmSync(join(folder, 'summary.json'))
  appendFileSync(join(folder, 'metrics.jsonl'), '{"step": 99, "rew')
  assert.match(readFileSync(await writeReport(folder), 'utf8'), /still running, or stopped before its end/)
})

test('a damaged file is named with its line and field', async (t) => {
  const folder = folderOf(t, madeUpRun())
  appendFileSync(join(folder, 'episodes.jsonl'), '{"step": "x"}\n')
  const count = madeUpRun().episodes.length
  await assert.rejects(writeReport(folder), new RegExp(`episodes\\.jsonl:${count + 1}: step: .*number`))
  writeFileSync(join(folder, 'summary.json'), '{')
  await assert.rejects(writeReport(folder), /summary\.json is not JSON/)
})

test('a folder that is no run says so', async (t) => {
  await assert.rejects(writeReport(temporary(t)), { code: 'usage', message: /holds no run/ })
})

test('values in templates are escaped, markup is not, null vanishes', () => {
  assert.equal(html`<p>${'<b>'}${html`<i>${'&'}</i>`}${null}${['a', 1]}</p>`.text, '<p>&#60;b&#62;<i>&#38;</i>a1</p>')
  assert.equal(escapeHtml('a\u0000\u001B'), 'a\u2400\u241B')
})

test('ticks are round numbers that cover the range', () => {
  assert.deepEqual(niceTicks(0, 1, 4), [0, 0.25, 0.5, 0.75, 1])
  assert.deepEqual(niceTicks(0.13, 3.9, 4), [0, 1, 2, 3, 4])
  for (const [low, high] of [
    [-3, 17],
    [1e-5, 2e-5],
    [5, 5],
    [0, 0],
    [-1e6, 1e6],
  ]) {
    const ticks = niceTicks(low, high, 4)
    assert.ok(ticks[0] <= low && ticks[ticks.length - 1] >= high && ticks.length < 12, `${low} ${high}: ${ticks}`)
  }
})

test('tick labels are told apart', () => {
  for (const [low, high] of [
    [5.76, 5.84],
    [0, 1],
    [1e-4, 3e-4],
    [250, 260],
    [12000, 12400],
    [0.0301, 0.0304],
  ]) {
    const ticks = niceTicks(low, high, 4)
    const labels = ticks.map((value) => tick(value, ticks[1] - ticks[0]))
    assert.equal(new Set(labels).size, ticks.length, labels.join(' '))
    assert.ok(
      labels.every((label) => label.length <= 7),
      labels.join(' '),
    )
  }
})

test('small helpers', () => {
  assert.deepEqual(smooth([1, null, 3, 5], 3), [1, 2, 4, 4])
  assert.deepEqual(spread([1, 2, 3, 4, 5], 3), [1, 3, 5])
  assert.equal(points(0.2, 0.65), '+45 points')
  assert.equal(points(0.65, 0.2), '−45 points')
  assert.equal(duration(3725), '1 h 2 min')
  assert.deepEqual([0, 12345, 0.0123, 2e-5, 250].map(compact), ['0', '12.3k', '0.012', '0.00002', '250'])
})
