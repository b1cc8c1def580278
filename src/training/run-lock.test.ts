import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { lockRun } from './run-lock.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-lock-'))
after(() => rmSync(folder, { recursive: true }))

test('a living process keeps a run folder to itself, a dead one does not', async () => {
  const release = await lockRun(folder)
  await assert.rejects(lockRun(folder), new RegExp(`being written by process ${process.pid}`))
  release()
  assert.ok(!existsSync(join(folder, 'lock')))
  const gone = spawnSync(process.execPath, ['--version']).pid
  writeFileSync(join(folder, 'lock'), String(gone))
  const again = await lockRun(folder)
  again()
})
