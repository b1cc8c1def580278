// The whole path in small: trains the quickstart for three steps from the command line, then uses every other command on
// the run, and checks what they print. Usage: node tools/smoke.mjs FOLDER
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import assert from 'node:assert/strict'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const out = process.argv[2]
assert.ok(out, 'say where: node tools/smoke.mjs FOLDER')

function myriad(args, input = '') {
  const began = Date.now()
  const run = spawnSync(process.execPath, [join(root, 'dist', 'cli', 'main.js'), ...args], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  assert.equal(run.status, 0, `myriad ${args.join(' ')}: exit code ${run.status ?? run.signal}\n${run.stderr}`)
  console.log(`ok   myriad ${args.join(' ')} (${((Date.now() - began) / 1000).toFixed(1)} s)`)
  return run.stdout
}

const small = [
  'steps=3',
  'groupsPerStep=10',
  'evaluation.problemsPerCell=1',
  'evaluation.samples=2',
  'evaluation.every=0',
]
const summary = JSON.parse(
  myriad(['train', 'quickstart', '--json', '--out', out, ...small.flatMap((set) => ['--set', set])]),
)
for (const field of ['name', 'seed', 'steps', 'wallSeconds', 'evaluation', 'throughput', 'dropped', 'versions']) {
  assert.ok(field in summary, `the summary lacks ${field}`)
}
const cells = (rows) => rows.map(({ task, language, decoding }) => `${task} ${language} ${decoding}`)
assert.deepEqual(cells(summary.evaluation.after), cells(summary.evaluation.before))
for (const file of [
  'config.json',
  'metrics.jsonl',
  'episodes.jsonl',
  'summary.json',
  'report.html',
  'checkpoints/final/model.safetensors',
]) {
  assert.ok(existsSync(join(out, file)), `the run lacks ${file}`)
}
const lines = readFileSync(join(out, 'metrics.jsonl'), 'utf8').trim().split('\n')
assert.deepEqual(
  lines.map((line) => JSON.parse(line).step),
  [1, 2, 3],
)

const few = ['--task', 'sort', '--language', 'sw', '--problems', '2', '--samples', '2']
assert.equal(JSON.parse(myriad(['eval', out, '--json', ...few])).rows.length, 2)
assert.equal(myriad(['sample', out, '--temperature', '0'], 'choose 34 71\n').trim().split('\n').length, 1)
assert.equal(myriad(['report', out]).trim(), join(out, 'report.html'))
assert.match(myriad(['tasks']), /sort/)
assert.match(myriad(['tasks', 'show', 'maze', '--language', 'ar']), /maze/)
