import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MyriadError } from '../core/index.js'
import { narrowHalf, widenHalf } from './half.js'
import {
  initializeWeights,
  parameterCount,
  parameterShapes,
  parseDecoderConfig,
  readCheckpoint,
  readSafetensors,
  writeCheckpoint,
  writeSafetensors,
} from './index.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-checkpoint-'))
after(() => rmSync(folder, { recursive: true }))

const base = {
  vocab_size: 50,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
}

async function refusal(reading: Promise<unknown>): Promise<string> {
  try {
    await reading
  } catch (error) {
    assert.ok(error instanceof MyriadError)
    return error.message
  }
  return assert.fail('nothing was refused')
}

test('safetensors survive a round trip, in float32 exactly and in float16 to half precision', () => {
  const data = Float32Array.of(0, -0, 1, -1.5, 65504, 1e-7, 6e-8, 3.14159, 1e6, NaN, -Infinity)
  const file = join(folder, 'x.safetensors')
  writeSafetensors(file, { a: { shape: [data.length], data } }, { metadata: { note: 'ok' } })
  const full = readSafetensors(file)
  assert.deepEqual(full.tensors.a.data, data)
  assert.equal(full.metadata.note, 'ok')
  writeSafetensors(file, { a: { shape: [data.length], data } }, { dtype: 'F16' })
  const half = readSafetensors(file).tensors.a.data
  // Values from numpy: np.float16([...]).astype(np.float32)
  const expected = [0, -0, 1, -1.5, 65504, 1.1920929e-7, 5.9604645e-8, 3.140625, Infinity, NaN, -Infinity]
  assert.deepEqual(half, Float32Array.from(expected))
})

test('every half survives being widened and narrowed', () => {
  const halves = Uint16Array.from({ length: 65536 }, (_, i) => i).filter((i) => (i & 0x7fff) <= 0x7c00)
  const wide = new Float32Array(halves.length)
  widenHalf(halves, wide)
  const back = new Uint16Array(halves.length)
  narrowHalf(wide, back)
  assert.deepEqual(back, halves)
})

test('bfloat16 is rounded as torch rounds', () => {
  const file = join(folder, 'b.safetensors')
  const values = [0, -0, 1, -1.5, 3.14159, 65504, 1e-40, 3.4e38, 1.00390625, 1.01171875, Infinity, NaN]
  writeSafetensors(file, { a: { shape: [12], data: Float32Array.from(values) } }, { dtype: 'BF16' })
  // torch.tensor(values).bfloat16().float()
  const expected = [0, -0, 1, -1.5, 3.140625, 65536, 9.183549615799121e-41, Infinity, 1, 1.015625, Infinity, NaN]
  assert.deepEqual(readSafetensors(file).tensors.a.data, Float32Array.from(expected))
})

test('a file begins with its header: format "pt", tensors one behind the other, data at a multiple of 8 bytes', () => {
  const file = join(folder, 'x.safetensors')
  const tensor = (length: number): { shape: number[]; data: Float32Array } => ({
    shape: [length],
    data: Float32Array.from({ length }, (_, i) => i),
  })
  for (const [dtype, width] of [
    ['F32', 4],
    ['F16', 2],
    ['BF16', 2],
  ] as const) {
    writeSafetensors(file, { b: tensor(3), 'a.weight': tensor(2) }, { dtype })
    const bytes = readFileSync(file)
    const length = Number(bytes.readBigUInt64LE(0))
    assert.equal(length % 8, 0)
    assert.equal(bytes.length, 8 + length + 5 * width)
    assert.deepEqual(JSON.parse(bytes.toString('utf8', 8, 8 + length)), {
      __metadata__: { format: 'pt' },
      b: { dtype, shape: [3], data_offsets: [0, 3 * width] },
      'a.weight': { dtype, shape: [2], data_offsets: [3 * width, 5 * width] },
    })
    assert.deepEqual(readSafetensors(file).tensors['a.weight'].data, Float32Array.of(0, 1))
  }
})

test('a damaged checkpoint is refused with the file and the tensor', async () => {
  const config = parseDecoderConfig({ ...base, model_type: 'llama' })
  const weights = initializeWeights(config, 1)
  assert.equal(
    Object.values(weights).reduce((sum, data) => sum + data.length, 0),
    parameterCount(config),
  )
  const model = join(folder, 'model')
  writeCheckpoint(model, config, weights)
  assert.deepEqual((await readCheckpoint(model)).weights, weights)
  writeCheckpoint(model, config, weights, { dtype: 'F16' })
  const file = join(model, 'model.safetensors')
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.subarray(0, bytes.length - 10))
  assert.match(await refusal(readCheckpoint(model)), /model\.safetensors.*"lm_head\.weight".*cut short/)
  writeFileSync(file, bytes.subarray(0, 4))
  assert.match(await refusal(readCheckpoint(model)), /4 bytes/)
  writeFileSync(file, Buffer.from(bytes).fill(0x7b, 8, 40))
  assert.match(await refusal(readCheckpoint(model)), /not JSON/)
  const { 'model.norm.weight': _, ...lacking } = weights
  writeSafetensors(
    file,
    Object.fromEntries(Object.entries(lacking).map(([name, data]) => [name, { shape: [data.length], data }])),
  )
  assert.match(await refusal(readCheckpoint(model)), /embed_tokens.weight" has shape \[800\]/)
  weights['model.norm.weight'][3] = NaN
  writeCheckpoint(model, config, weights)
  assert.match(await refusal(readCheckpoint(model)), /model\.norm\.weight" holds NaN at 3/)
})

test('weights over the size limit go to several files and an index, and come back', async () => {
  const config = parseDecoderConfig({ ...base, model_type: 'llama' })
  const weights = initializeWeights(config, 1)
  const model = join(folder, 'sharded')
  writeCheckpoint(model, config, weights, { shardBytes: 6000 })
  const index = JSON.parse(readFileSync(join(model, 'model.safetensors.index.json'), 'utf8')) as {
    metadata: { total_size: number }
    weight_map: Record<string, string>
  }
  const files = readdirSync(model).filter((file) => file.endsWith('.safetensors'))
  assert.ok(files.length >= 3)
  assert.deepEqual(
    files.sort(),
    files.map((_, i) => `model-0000${i + 1}-of-0000${files.length}.safetensors`),
  )
  assert.deepEqual([...new Set(Object.values(index.weight_map))].sort(), files)
  assert.deepEqual(Object.keys(index.weight_map), Object.keys(parameterShapes(config)))
  assert.equal(index.metadata.total_size, parameterCount(config) * 4)
  for (const file of files) {
    const { tensors } = readSafetensors(join(model, file))
    const bytes = Object.values(tensors).reduce((sum, { data }) => sum + data.byteLength, 0)
    assert.ok(bytes <= 6000, `${file} has ${bytes} bytes`)
  }
  assert.deepEqual((await readCheckpoint(model)).weights, weights)

  const [first, second] = files.map((file) => join(model, file))
  const bytes = readFileSync(second)
  writeFileSync(second, bytes.subarray(0, -1))
  assert.match(await refusal(readCheckpoint(model)), /model-00002-of-.*tensor ".*".*cut short/)
  writeFileSync(second, Buffer.concat([bytes, Buffer.alloc(3)]))
  assert.match(await refusal(readCheckpoint(model)), /model-00002-of-.*3 bytes follow its last tensor/)
  rmSync(second)
  assert.match(await refusal(readCheckpoint(model)), /index\.json names files that are not there: model-00002-of/)
  writeFileSync(second, readFileSync(first))
  assert.match(await refusal(readCheckpoint(model)), /index\.json says that tensor ".*" is in model-00002/)
  const astray = { ...index, weight_map: { ...index.weight_map, 'model.norm.weight': '../x.safetensors' } }
  writeFileSync(join(model, 'model.safetensors.index.json'), JSON.stringify(astray))
  assert.match(await refusal(readCheckpoint(model)), /no valid "weight_map"/)
  writeFileSync(join(model, 'model.safetensors.index.json'), '{"weight_map": {')
  assert.match(await refusal(readCheckpoint(model)), /index\.json is damaged/)
  rmSync(join(model, 'model.safetensors.index.json'))
  assert.match(await refusal(readCheckpoint(model)), /has no model\.safetensors/)
  writeFileSync(join(model, 'pytorch_model.bin'), 'x')
  assert.match(await refusal(readCheckpoint(model)), /only as pytorch_model\.bin/)
})

test('tables that older files carry are passed over, a bare base model is read, what else is there is refused', async () => {
  const config = parseDecoderConfig({ ...base, model_type: 'llama', tie_word_embeddings: true })
  const weights = initializeWeights(config, 1)
  const model = join(folder, 'older')
  writeCheckpoint(model, config, weights)
  const shapes = parameterShapes(config)
  const one = { shape: [1], data: Float32Array.of(7) }
  const write = (rename: (name: string) => string, more: Record<string, typeof one>): void =>
    writeSafetensors(join(model, 'model.safetensors'), {
      ...Object.fromEntries(
        Object.entries(weights).map(([name, data]) => [rename(name), { shape: shapes[name], data }]),
      ),
      ...more,
    })
  write((name) => name, { 'model.layers.0.self_attn.rotary_emb.inv_freq': one, 'lm_head.weight': one })
  assert.deepEqual((await readCheckpoint(model)).weights, weights)
  write((name) => name.replace(/^model\./, ''), { 'layers.1.attn.masked_bias': one, 'layers.1.attn.bias': one })
  assert.deepEqual((await readCheckpoint(model)).weights, weights)
  write((name) => name, { 'model.layers.0.mystery.weight': one })
  assert.match(await refusal(readCheckpoint(model)), /does not ask for: model\.layers\.0\.mystery\.weight/)
})

test('a type that is not read is refused by name', async () => {
  const config = parseDecoderConfig({ ...base, model_type: 'llama' })
  const model = join(folder, 'typed')
  writeCheckpoint(model, config, initializeWeights(config, 1), { dtype: 'BF16' })
  const file = join(model, 'model.safetensors')
  const bytes = readFileSync(file)
  writeFileSync(file, Buffer.from(bytes.toString('latin1').replace('"BF16"', '"I16" '), 'latin1'))
  assert.match(await refusal(readCheckpoint(model)), /tensor "model\.embed_tokens\.weight" has type I16; read are F32/)
})

test('what cannot be written says why, takes away what it began and leaves the old folder as it was', async (t) => {
  const config = parseDecoderConfig({ ...base, model_type: 'llama' })
  const weights = initializeWeights(config, 1)
  const model = join(folder, 'kept')
  writeCheckpoint(model, config, weights, { files: { 'README.md': '# kept' } })
  const failing = { extra: { 'no/folder.safetensors': { a: { shape: [1], data: Float32Array.of(1) } } } }
  assert.throws(
    () => writeCheckpoint(model, config, initializeWeights(config, 2), failing),
    (error) => error instanceof MyriadError && error.code === 'io' && /free some space/.test(error.message),
  )
  assert.equal(existsSync(`${model}.partial`), false)
  assert.deepEqual((await readCheckpoint(model)).weights, weights)
  assert.equal(readFileSync(join(model, 'README.md'), 'utf8'), '# kept')

  if (!existsSync('/dev/full')) return t.diagnostic('no /dev/full here: a full disk was not tried')
  mkdirSync(join(folder, 'full'))
  const file = join(folder, 'full', 'model.safetensors')
  symlinkSync('/dev/full', file)
  assert.throws(
    () => writeSafetensors(file, { a: { shape: [1], data: Float32Array.of(1) } }),
    (error) => error instanceof MyriadError && error.code === 'io' && /the disk is full: free some/.test(error.message),
  )
})
