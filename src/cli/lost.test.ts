import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { writeTinyModel, type CommandResult } from './testing.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-lost-'))
const command = fileURLToPath(new URL('./main.js', import.meta.url))
const config = {
  name: 'tiny',
  model: './model',
  tasks: [{ id: 'sort', languages: ['en'], difficulty: [0, 0], instruction: 'Sort.' }],
  steps: 2,
  groupsPerStep: 2,
  samplesPerProblem: 2,
  workers: 1,
  limits: { maxReplyTokens: 4 },
  evaluation: { problemsPerCell: 1, samples: 2, randomPlays: 1 },
}

/** Refuses a system message, as Mistral's and Gemma's templates do. */
before(async () => {
  await writeTinyModel(join(folder, 'model'))
  const file = join(folder, 'model', 'chat_template.jinja')
  const refusal = `{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}`
  writeFileSync(file, refusal + readFileSync(file, 'utf8'))
  writeFileSync(join(folder, 'tiny.json'), JSON.stringify(config))
})
after(() => rmSync(folder, { recursive: true }))

function myriad(args: string): CommandResult {
  const env = { ...process.env, NO_COLOR: '1', MYRIAD_DEBUG: '' }
  return spawnSync(process.execPath, [command, ...args.split(' ')], { cwd: folder, env, input: '', encoding: 'utf8' })
}

test('an evaluation that drops every episode shows no figures, says why, and fails', () => {
  const run = myriad('eval model --config tiny.json --problems 1 --samples 2 --workers 1')
  assert.equal(run.status, 1)
  assert.match(run.stdout, /^sort +\d+ +- +- +- +-$/m)
  assert.match(
    run.stderr,
    /nothing was measured: all 3 episodes .* dropped, the first \(task-error\) .*System role not/,
  )
  const json = JSON.parse(myriad('eval model --config tiny.json --problems 1 --samples 2 --workers 1 --json').stdout)
  const { error, lost } = json as { error: { message: string }; lost: { task: string }[] }
  assert.match(error.message, /System role not supported/)
  assert.equal(lost[0].task, 'sort')
})

test('a run that skips every step fails with the reason, and its folder says it too', () => {
  const run = myriad('train tiny.json --out run --json')
  assert.equal(run.status, 1)
  assert.match(run.stderr, /sort: all 3 episodes were dropped/)
  assert.match(run.stderr, /nothing was learnt: all 2 steps were skipped, the last because .*System role not supported/)
  assert.match(run.stderr, /^sort .* - /m)
  const { failure, error } = JSON.parse(run.stdout) as { failure: string; error: { message: string } }
  assert.equal(error.message, failure)
  assert.equal(
    (JSON.parse(readFileSync(join(folder, 'run', 'summary.json'), 'utf8')) as typeof error & { failure: string })
      .failure,
    failure,
  )
})
