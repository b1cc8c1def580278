import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { modelFingerprint } from './fingerprint.js'

const fixtures = fileURLToPath(new URL('../../src/models/fixtures/', import.meta.url))

test('a fingerprint is that of the bytes of configuration and weights, wherever they lie', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-fingerprint-'))
  try {
    const original = await modelFingerprint(join(fixtures, 'llama'))
    assert.match(original, /^sha256:[0-9a-f]{64}$/)
    cpSync(join(fixtures, 'llama'), folder, { recursive: true })
    writeFileSync(join(folder, 'README.md'), 'a copy')
    assert.equal(await modelFingerprint(folder), original)
    for (const name of ['config.json', 'model.safetensors']) {
      const bytes = readFileSync(join(folder, name))
      const changed = Buffer.from(bytes)
      changed[changed.length - 3] ^= 1
      writeFileSync(join(folder, name), changed)
      assert.notEqual(await modelFingerprint(folder), original, name)
      writeFileSync(join(folder, name), bytes)
    }
    const gguf = await modelFingerprint(join(fixtures, 'gguf', 'qwen2.gguf'))
    assert.match(gguf, /^sha256:[0-9a-f]{64}$/)
    assert.notEqual(gguf, original)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
