import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { adapterSchema, initializeAdapter, readCheckpoint, writeAdapter } from '../models/index.js'
import { writeTinyModel, type CommandResult } from './testing.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-adapter-model-'))
const command = fileURLToPath(new URL('./main.js', import.meta.url))
const adapter = adapterSchema.parse({ kind: 'lora', rank: 2, alpha: 4 })

before(() => writeTinyModel(join(folder, 'model')))
after(() => rmSync(folder, { recursive: true }))

function myriad(args: readonly string[], input = ''): CommandResult {
  const env = { ...process.env, NO_COLOR: '1', MYRIAD_DEBUG: '', HF_HUB_OFFLINE: '1', HF_HOME: join(folder, 'home') }
  return spawnSync(process.execPath, [command, ...args], { cwd: folder, env, input, encoding: 'utf8' })
}

/** An adapter that turns the model's replies into something else. */
async function write(place: string, base: string | undefined): Promise<void> {
  const { config, weights } = await readCheckpoint(join(folder, 'model'))
  const own = initializeAdapter(config, adapter, 1, weights)
  for (const [name, data] of Object.entries(own)) own[name] = data.map((value, i) => value + Math.sin(i + 1))
  mkdirSync(join(folder, place, '..'), { recursive: true })
  writeAdapter(join(folder, place), { config, adapter, weights: own, base })
}

const talk = (model: string): CommandResult =>
  myriad(['sample', model, '--temperature', '0', '--max-tokens', '12', '--json'], 'repeat abba\n')

test('the folder of an adapter is talked to and evaluated on the base that it names', async () => {
  await write('adapter', './model')
  const [adapted, plain] = [talk('adapter'), talk('model')]
  assert.equal(adapted.status, 0, adapted.stderr)
  assert.notEqual(adapted.stdout, plain.stdout)
  const measured = myriad(
    'eval adapter --task sort --language en --problems 1 --samples 1 --workers 1 --json'.split(' '),
  )
  assert.equal(measured.status, 0, measured.stderr)
  assert.equal((JSON.parse(measured.stdout) as { model: string }).model, 'adapter')
})

function tinyConfig(fields: object): object {
  const limits = { maxReplyTokens: 4 }
  return {
    name: 'tiny',
    model: './model',
    adapter: { kind: 'lora', rank: 2 },
    tasks: [{ id: 'sort', languages: ['en'], difficulty: [0, 0] }],
    steps: 1,
    groupsPerStep: 2,
    samplesPerProblem: 2,
    workers: 1,
    limits,
    evaluation: { problemsPerCell: 1, samples: 1, randomPlays: 1 },
    ...fields,
  }
}

test('a run that trained an adapter is a model, like any other run', () => {
  writeFileSync(join(folder, 'tiny.json'), JSON.stringify(tinyConfig({})))
  const trained = myriad(['train', 'tiny.json', '--out', 'run'])
  assert.equal(trained.status, 0, trained.stderr)
  const said = talk('run')
  assert.equal(said.status, 0, said.stderr)
  assert.equal(said.stdout, talk(join('run', 'checkpoints', 'final')).stdout)
})

test('a run does not go on over another base than it was begun on', () => {
  cpSync(join(folder, 'model'), join(folder, 'base'), { recursive: true })
  writeFileSync(join(folder, 'based.json'), JSON.stringify(tinyConfig({ model: './base' })))
  const trained = myriad(['train', 'based.json', '--out', 'based'])
  assert.equal(trained.status, 0, trained.stderr)
  rmSync(join(folder, 'based', 'summary.json')) // as if it had been stopped before its end
  const file = join(folder, 'base', 'model.safetensors')
  const weights = readFileSync(file)
  const changed = Buffer.from(weights)
  changed[changed.length - 3] ^= 1
  writeFileSync(file, changed)
  const refused = myriad(['train', '--resume', 'based'])
  assert.equal(refused.status, 2)
  assert.match(
    refused.stderr,
    /base has changed since the run in based was begun on it: .*Put the model back as it was/,
  )
  writeFileSync(file, weights)
  assert.equal(myriad(['train', '--resume', 'based']).status, 0)
})

test('a configuration that is refused leaves no run folder in the way of the corrected one', () => {
  for (const [fields, message] of [
    [{ adapter: undefined, memory: { samplingBits: 4 } }, /4 bits needs weights that stay as they are/],
    [{ adapter: { kind: 'prompt', tokens: 2, init: [100000] } }, /init names token 100000, outside the vocabulary/],
  ] as const) {
    writeFileSync(join(folder, 'refused.json'), JSON.stringify(tinyConfig(fields)))
    const refused = myriad(['train', 'refused.json', '--out', 'refused'])
    assert.equal(refused.status, 2)
    assert.match(refused.stderr, message)
    assert.ok(!existsSync(join(folder, 'refused')))
  }
})

test('an adapter without its base, and one where a whole model is needed, are told what to do', async () => {
  await write('orphan', undefined)
  const orphan = talk('orphan')
  assert.equal(orphan.status, 2)
  assert.match(orphan.stderr, /orphan is an adapter that names no base.*"base_model_name_or_path"/)
  await write('lost', './modle')
  const lost = talk('lost')
  assert.equal(lost.status, 2)
  assert.match(lost.stderr, /lost is an adapter of \.\/modle, but there is no folder \.\/modle\. Did you mean "model"/)
  await write('distant', 'someone/tiny-model') // a model of the hub, which may not be asked here
  const distant = talk('distant')
  assert.equal(distant.status, 1)
  assert.match(distant.stderr, /distant is an adapter of someone\/tiny-model, but .*HF_HUB_OFFLINE/)
  await write('stacked', './adapter')
  assert.match(talk('stacked').stderr, /stacked is an adapter of \.\/adapter, but .* whole model is needed/)
  const converted = myriad(['convert', 'adapter', 'whole'])
  assert.equal(converted.status, 2)
  assert.match(converted.stderr, /adapter is an adapter.*merge adapter --out FOLDER/)
  const file = join(folder, 'lost', 'adapter_config.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('LORA', 'IA3'))
  assert.match(talk('lost').stderr, /type "IA3"/)
})

test('a prompt is no model, and cannot become one: what it can do is said', async () => {
  const { config, weights } = await readCheckpoint(join(folder, 'model'))
  const prompt = adapterSchema.parse({ kind: 'prompt', tokens: 2 })
  const own = initializeAdapter(config, prompt, 1, weights)
  writeAdapter(join(folder, 'prompt'), { config, adapter: prompt, weights: own, base: './model' })
  const converted = myriad(['convert', 'prompt', 'whole'])
  assert.equal(converted.status, 2)
  assert.match(
    converted.stderr,
    /prompt is a prompt adapter.* beside \.\/model: sample, eval and PEFT take it as it is/,
  )
  assert.doesNotMatch(converted.stderr, /merge/)
})

test('sample --json keeps the replies before one that fails, and says what failed', async () => {
  await writeTinyModel(join(folder, 'touchy'))
  const file = join(folder, 'touchy', 'chat_template.jinja')
  const refusal = `{% if messages[0].content == 'no' %}{{ raise_exception('not that') }}{% endif %}`
  writeFileSync(file, refusal + readFileSync(file, 'utf8'))
  const said = myriad(['sample', 'touchy', '--max-tokens', '4', '--json'], 'yes\n\nno\n')
  assert.equal(said.status, 1)
  const { conversations, error } = JSON.parse(said.stdout) as {
    conversations: { messages: { role: string }[] }[]
    error: { message: string }
  }
  assert.deepEqual(
    conversations.map(({ messages }) => messages.map(({ role }) => role)),
    [['user', 'assistant'], ['user']],
  )
  assert.match(error.message, /not that/)
  assert.match(said.stderr, /myriad: .*not that/)
})
