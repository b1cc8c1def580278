import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { writeTinyModel, type CommandResult } from './testing.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-chat-template-'))
const command = fileURLToPath(new URL('./main.js', import.meta.url))
const plain = '{% for message in messages %}{{ message.content }}\n{% endfor %}'
const config = {
  name: 'tiny',
  model: './plain',
  tasks: [{ id: 'sort', languages: ['en'], difficulty: [0, 0] }],
  steps: 1,
  groupsPerStep: 2,
  samplesPerProblem: 2,
  workers: 1,
  limits: { maxReplyTokens: 4 },
  evaluation: { problemsPerCell: 1, samples: 1, randomPlays: 1 },
}

before(async () => {
  await writeTinyModel(join(folder, 'plain'))
  rmSync(join(folder, 'plain', 'chat_template.jinja'))
  writeFileSync(join(folder, 'template.jinja'), plain)
  writeFileSync(join(folder, 'tiny.json'), JSON.stringify(config))
})
after(() => rmSync(folder, { recursive: true }))

function myriad(args: string, input = ''): CommandResult {
  const env = { ...process.env, NO_COLOR: '1', MYRIAD_DEBUG: '' }
  return spawnSync(process.execPath, [command, ...args.split(' ')], { cwd: folder, env, input, encoding: 'utf8' })
}

const evaluation = '--task sort --language en --problems 1 --samples 1 --workers 1'

test('a model without a chat template is named, with what to do', () => {
  for (const args of ['sample plain', `eval plain ${evaluation}`, 'train tiny.json --out run']) {
    const { status, stderr } = myriad(args, 'sort: b a\n')
    assert.equal(status, 2, args)
    assert.match(
      stderr,
      /plain has no chat template.*into the folder as chat_template\.jinja.*--chat-template FILE.*"chatTemplate"/,
    )
  }
  assert.ok(!existsSync(join(folder, 'run')))
})

test('a template from a file, or the default one, takes its place in sample and eval', () => {
  for (const template of ['template.jinja', 'default']) {
    const said = myriad(`sample plain --max-tokens 4 --chat-template ${template}`, 'sort: b a\n')
    assert.equal(said.status, 0, said.stderr)
    const measured = myriad(`eval plain ${evaluation} --chat-template ${template}`)
    assert.equal(measured.status, 0, measured.stderr)
  }
  const missing = myriad('sample plain --chat-template none.jinja', 'x\n')
  assert.equal(missing.status, 2)
  assert.match(missing.stderr, /the chat template none\.jinja cannot be read/)
})

test('what is trained with a template has it beside it, an adapter too', () => {
  writeFileSync(join(folder, 'own.json'), JSON.stringify({ ...config, chatTemplate: './template.jinja' }))
  for (const [out, set] of [
    ['whole', ''],
    ['adapted', ' --set adapter={"kind":"lora","rank":2}'],
  ]) {
    const trained = myriad(`train own.json --out ${out}${set}`)
    assert.equal(trained.status, 0, trained.stderr)
    assert.equal(readFileSync(join(folder, out, 'checkpoints', 'final', 'chat_template.jinja'), 'utf8'), plain)
    rmSync(join(folder, 'template.jinja'))
    assert.equal(myriad(`sample ${out} --max-tokens 4`, 'sort: b a\n').status, 0)
    const measured = myriad(`eval ${out} ${evaluation}`)
    assert.equal(measured.status, 0, measured.stderr)
    writeFileSync(join(folder, 'template.jinja'), plain)
  }
})
