import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createSandbox, sandboxCapabilities } from './index.js'
import { wallBreaker } from './second-wall.test.helper.js'

test('a runtime that broke the first wall stands before the second', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-wall-'))
  const canary = join(folder, 'canary')
  writeFileSync(canary, 'alive')
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const sandbox = createSandbox(wallBreaker, { children: 1, spares: 0 })
  try {
    const { port } = server.address() as AddressInfo
    const { stdout, verdict } = await sandbox.run({
      source: 'try',
      stdin: `${canary}\n${port}`,
      limits: { seconds: 20 },
    })
    assert.equal(verdict, 'ok')
    const got = stdout.split('\n').filter((line) => line.endsWith('yes'))
    assert.deepEqual(got, sandboxCapabilities().network ? [] : ['reach the network: yes'])
    assert.equal(stdout.split('\n').filter((line) => line.endsWith('no')).length, 10 - got.length)
    assert.equal(readFileSync(canary, 'utf8'), 'alive')
  } finally {
    await sandbox.close()
    server.close()
    rmSync(folder, { recursive: true })
  }
})
