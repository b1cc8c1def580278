import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readCheckpoint } from '../models/index.js'
import { loadTokenizer } from '../text/index.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-convert-'))
after(() => rmSync(folder, { recursive: true }))
const command = fileURLToPath(new URL('./main.js', import.meta.url))
const gguf = fileURLToPath(new URL('../../src/models/fixtures/gguf/qwen2.gguf', import.meta.url))

function myriad(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const env = { ...process.env, NO_COLOR: '1' }
  return spawnSync(process.execPath, [command, ...args], { cwd: folder, env, encoding: 'utf8' })
}

test('a GGUF file becomes a folder of safetensors with its tokenizer and a card', async () => {
  const { status, stdout, stderr } = myriad('convert', gguf, 'out', '--shard-size', '0.00002', '--json')
  assert.equal(status, 0, stderr)
  const { files, parameters } = JSON.parse(stdout) as { files: string[]; parameters: number }
  for (const name of ['config.json', 'model.safetensors.index.json', 'tokenizer.json', 'README.md'])
    assert.ok(files.includes(name), name)
  const [written, source] = [await readCheckpoint(join(folder, 'out')), await readCheckpoint(gguf)]
  assert.deepEqual(written, source)
  assert.equal(
    Object.values(source.weights).reduce((sum, { length }) => sum + length, 0),
    parameters,
  )
  assert.equal((await loadTokenizer(join(folder, 'out'))).vocabularySize, 24)
  assert.match(readFileSync(join(folder, 'out', 'README.md'), 'utf8'), /^---\nlibrary_name: transformers\n/)

  const again = myriad('convert', gguf, 'out')
  assert.equal(again.status, 2)
  assert.match(again.stderr, /out is there already/)
})

test('a model that would not fit into memory is refused before its weights are looked for', () => {
  mkdirSync(join(folder, 'huge'))
  const config = {
    model_type: 'llama',
    vocab_size: 128256,
    hidden_size: 65536,
    intermediate_size: 262144,
    num_hidden_layers: 200,
    num_attention_heads: 512,
    max_position_embeddings: 8192,
  }
  writeFileSync(join(folder, 'huge', 'config.json'), JSON.stringify(config))
  const { status, stderr } = myriad('sample', 'huge')
  assert.equal(status, 1)
  assert.match(stderr, /huge needs about \d+\.\d GB of memory \(weights .*\); \d+\.\d GB of \d+\.\d GB are free/)
})
