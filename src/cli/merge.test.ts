import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  adapterSchema,
  initializeAdapter,
  initializeWeights,
  interpolate,
  readCheckpoint,
  readSafetensorsHeader,
  writeAdapter,
  writeCheckpoint,
  type AdapterConfigInput,
  type Weights,
} from '../models/index.js'
import { openLocalPolicy, type LocalPolicyOptions } from '../policy/index.js'
import { loadTokenizer } from '../text/index.js'
import { runCommandLine } from './program.js'
import { Screen, writeTinyModel, type CommandResult } from './testing.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-merge-'))
const at = (name: string): string => join(folder, name)
const command = fileURLToPath(new URL('./main.js', import.meta.url))

before(async () => {
  await writeTinyModel(at('model'))
  await write('lora', { kind: 'lora', rank: 2 })
  await write('prompt', { kind: 'prompt', tokens: 2 })
  cpSync(at('model'), at('other'), { recursive: true })
  const { config } = await readCheckpoint(at('model'))
  writeCheckpoint(at('other'), config, initializeWeights(config, 2))
  const wide = { ...config, intermediateSize: 24 }
  writeCheckpoint(at('wide'), wide, initializeWeights(wide, 2))
  const deep = { ...config, layers: 30, attention: Array.from({ length: 30 }, () => config.attention[0]) }
  writeCheckpoint(at('deep'), deep, initializeWeights(deep, 2))
})
after(() => rmSync(folder, { recursive: true }))

/** An adapter that changes what the model says. */
async function write(name: string, input: AdapterConfigInput): Promise<void> {
  const { config, weights } = await readCheckpoint(at('model'))
  const adapter = adapterSchema.parse(input)
  const own: Weights = initializeAdapter(config, adapter, 1, weights)
  for (const [key, data] of Object.entries(own)) own[key] = data.map((value, i) => value + Math.sin(i + 1))
  writeAdapter(at(name), { config, adapter, weights: own, base: at('model') })
}

function myriad(...args: string[]): CommandResult {
  const env = { ...process.env, NO_COLOR: '1', MYRIAD_DEBUG: '' }
  return spawnSync(process.execPath, [command, ...args], { cwd: folder, env, encoding: 'utf8' })
}

async function logprobs(model: string, options: LocalPolicyOptions = {}): Promise<Float32Array> {
  const { policy } = await openLocalPolicy(at(model), { workers: 1, ...options })
  const [{ logprobs: result }] = await policy.score([[5, 40, 7, 93, 61, 8, 8, 120]])
  await policy.close()
  return result
}

const furthest = (a: Float32Array, b: Float32Array): number => Math.max(...a.map((value, i) => Math.abs(value - b[i])))

test('a model and its adapter become one model that says the same, with its tokenizer', async () => {
  const merged = myriad('merge', 'model', '--adapter', 'lora', '--out', 'merged', '--json')
  assert.equal(merged.status, 0, merged.stderr)
  const { files } = JSON.parse(merged.stdout) as { files: string[] }
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json', 'README.md'])
    assert.ok(files.includes(name))
  assert.ok(!files.includes('adapter_config.json'))
  assert.ok((await loadTokenizer(at('merged'))).vocabularySize > 256)
  assert.match(readFileSync(join(at('merged'), 'README.md'), 'utf8'), /`model` with the adapter `lora`/)
  const adapted = await logprobs('model', { adapter: { folder: at('lora') } })
  assert.ok(furthest(await logprobs('merged'), adapted) < 1e-4)
  assert.ok(furthest(await logprobs('model'), adapted) > 0.01, 'the adapter matters')

  // The adapter alone names its base; values in half the bytes.
  const alone = myriad('merge', 'lora', '--out', 'alone', '--dtype', 'F16')
  assert.equal(alone.status, 0, alone.stderr)
  assert.match(alone.stdout, /^alone {2}llama, .*, F16$/m)
  const { tensors } = readSafetensorsHeader(join(at('alone'), 'model.safetensors'))
  assert.ok(Object.values(tensors).every(({ dtype }) => dtype === 'F16'))
  const [half, whole] = [await readCheckpoint(at('alone')), await readCheckpoint(at('merged'))]
  for (const [name, data] of Object.entries(half.weights))
    assert.ok(
      data.every((value, i) => Math.abs(value - whole.weights[name][i]) <= Math.abs(value) / 2048 + 1e-7),
      name,
    )
})

test('a model between two others of the same shape', async () => {
  const { status, stderr } = myriad('merge', 'model', 'other', '--weight', '0.3', '--out', 'between')
  assert.equal(status, 0, stderr)
  const [a, b] = [await readCheckpoint(at('model')), await readCheckpoint(at('other'))]
  const between = await readCheckpoint(at('between'))
  assert.deepEqual(between, { config: a.config, weights: interpolate(a.weights, b.weights, 0.3) })
  assert.ok((await loadTokenizer(at('between'))).vocabularySize > 256)
})

test('a GGUF file is merged like a folder', async () => {
  const gguf = fileURLToPath(new URL('../../src/models/fixtures/gguf/qwen2.gguf', import.meta.url))
  const { status, stderr } = myriad('merge', gguf, gguf, '--out', 'same')
  assert.equal(status, 0, stderr)
  assert.deepEqual(await readCheckpoint(at('same')), await readCheckpoint(gguf))
})

/** Each wrong usage, and what it must be told. */
const wrong: [args: string[], told: RegExp][] = [
  [[at('model')], /required option '--out <folder>'/],
  [[at('model'), '--out', at('lora')], /lora is there already/],
  [[at('model'), '--out', at('new')], /say what to merge .*model with: --adapter FOLDER, or another model/],
  [[at('model'), at('other'), '--adapter', at('lora'), '--out', at('new')], /not both/],
  [[at('model'), '--adapter', at('lora'), '--weight', '0.3', '--out', at('new')], /--weight is of two models/],
  [[at('model'), at('other'), '--weight', '30', '--out', at('new')], /from 0 to 1/],
  [[at('model'), '--adapter', at('other'), '--out', at('new')], /--adapter: .*other is no adapter/],
  [[at('model'), '--adapter', at('prompt'), '--out', at('new')], /prompt is a prompt: virtual tokens have no place/],
  [[at('model'), at('wide'), '--out', at('new')], /wide are not of the same shape.*intermediateSize 16 and 24/],
  [[at('model'), at('deep'), '--out', at('new')], /layers 1 and 30; attention \["full"\] and \[30 times "full"\]\./],
  [
    [at('model'), at('prompt'), '--out', at('new')],
    /prompt is a prompt adapter, .*: sample, eval and PEFT take it as it is/,
  ],
  [[at('model'), at('lora'), '--out', at('new')], /lora is an adapter, and a whole model is needed/],
  [[at('modle'), '--adapter', at('lora'), '--out', at('new')], /there is no folder .*modle\. Did you mean ".*model"/],
]

for (const [args, told] of wrong)
  test(`wrong usage: myriad merge ${args.join(' ').replaceAll(folder, 'TMP')}`, async () => {
    const screen = new Screen()
    assert.equal(await runCommandLine(['merge', ...args], screen), 2, screen.notes)
    assert.match(screen.notes, told)
    assert.equal(screen.printed, '')
  })
