import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MyriadError } from '../core/index.js'
import { readGgufHeader } from '../core/gguf.js'
import { blockFormats } from './gguf-blocks.js'
import { parseDecoderConfig, readCheckpoint, readGguf, readGgufConfig } from './index.js'

// Made by tools/fixtures/gguf-models.py. Fixtures are read from the sources, tests run from dist.
const root = fileURLToPath(new URL('../../src/models/fixtures/gguf', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'myriad-gguf-'))
after(() => rmSync(folder, { recursive: true }))

const models = ['llama', 'llama3', 'qwen2', 'qwen3', 'phi3', 'gemma2', 'gemma3', 'gpt2', 'gptneox']

/** Bytes at the beginning of a buffer of their own. */
const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'))

test("every block format is widened to the values of gguf's own dequantize, to the last bit", () => {
  const cases = JSON.parse(readFileSync(join(root, 'blocks.json'), 'utf8')) as {
    type: number
    name: string
    data: string
    expected: string
  }[]
  assert.deepEqual(cases.map(({ type }) => type).sort(), Object.keys(blockFormats).map(Number).sort())
  for (const { type, name, data, expected } of cases) {
    const format = blockFormats[type]
    const source = bytesOf(data)
    const values = new Float32Array(bytesOf(expected).buffer)
    assert.equal(format.name, name)
    assert.equal((source.length / format.bytes) * format.values, values.length)
    const target = new Float32Array(values.length + 3).fill(9)
    format.read(source, target, 2)
    assert.deepEqual(target.subarray(2, -1), values, name)
    assert.deepEqual([target[0], target[1], target.at(-1)], [9, 9, 9], `${name} wrote beside its place`)
  }
})

for (const name of models) {
  test(`${name}: weights and configuration are those the file was converted from`, async () => {
    const { config: file, tensors } = JSON.parse(readFileSync(join(root, `${name}.json`), 'utf8')) as {
      config: unknown
      tensors: Record<string, string>
    }
    const { config, weights } = await readGguf(join(root, `${name}.gguf`))
    assert.deepEqual(config, parseDecoderConfig(file))
    assert.deepEqual(Object.keys(weights).sort(), Object.keys(tensors).sort())
    for (const [key, data] of Object.entries(weights)) {
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      assert.equal(createHash('sha256').update(bytes).digest('hex'), tensors[key], key)
    }
  })
}

async function refusal(reading: Promise<unknown>): Promise<string> {
  try {
    await reading
  } catch (error) {
    assert.ok(error instanceof MyriadError && error.code === 'checkpoint', String(error))
    return error.message
  }
  return assert.fail('nothing was refused')
}

test('a folder that holds one GGUF file is that model; of several one must be named', async () => {
  const bytes = readFileSync(join(root, 'qwen2.gguf'))
  writeFileSync(join(folder, 'one.gguf'), bytes)
  assert.deepEqual((await readCheckpoint(folder)).config, await readGgufConfig(join(root, 'qwen2.gguf')))
  writeFileSync(join(folder, 'two.gguf'), bytes)
  assert.match(await refusal(readCheckpoint(folder)), /2 GGUF files.*one\.gguf, two\.gguf/)
  rmSync(join(folder, 'two.gguf'))
})

test('a damaged file is refused with its name and the tensor', async () => {
  const bytes = readFileSync(join(root, 'llama.gguf'))
  const file = join(folder, 'one.gguf')
  const written = (content: Uint8Array): Promise<string> => {
    writeFileSync(file, content)
    return refusal(readGguf(file))
  }
  assert.match(await written(bytes.subarray(0, bytes.length - 40)), /one\.gguf.*tensor "[a-z_.0-9]+".*cut short/)
  assert.match(await written(bytes.subarray(0, 500)), /one\.gguf is damaged.*cut short/)
  assert.match(await written(Buffer.from('not a model')), /no GGUF file/)
  const renamed = Buffer.from(bytes)
  renamed.write('mamba', bytes.indexOf('llama'))
  assert.match(await written(renamed), /"mamba" is not supported; supported are llama, .*gpt2/)
  const lacking = Buffer.from(bytes)
  lacking.write('blk.7', bytes.indexOf('blk.1.attn_k.weight'))
  assert.match(await written(lacking), /lacks tensor "blk\.1\.attn_k\.weight" \[16,32\]/)
  const spoilt = Buffer.from(bytes)
  writeFileSync(file, bytes)
  const norm = (await readGgufHeader(file)).tensors.get('blk.0.ffn_norm.weight')
  assert.ok(norm)
  spoilt.writeFloatLE(NaN, norm.position + 12)
  assert.match(await written(spoilt), /"blk\.0\.ffn_norm\.weight" holds NaN at 3/)
  const unknown = Buffer.from(bytes)
  const name = bytes.indexOf('blk.0.attn_q.weight')
  unknown.writeUInt32LE(16, name + 'blk.0.attn_q.weight'.length + 4 + 2 * 8) // dimensions' count, two sizes, then the type
  assert.match(await written(unknown), /"blk\.0\.attn_q\.weight".*format 16.*read are F32, F16, Q4_0/)
})
