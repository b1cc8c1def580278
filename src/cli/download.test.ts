import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fakeHub, repository, type FakeHub } from '../models/hub-testing.js'
import { writeTinyModel, type CommandResult } from './testing.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-download-'))
const command = fileURLToPath(new URL('./main.js', import.meta.url))
let hub: FakeHub

before(async () => {
  await writeTinyModel(join(folder, 'model'))
  const names = readdirSync(join(folder, 'model'))
  hub = await fakeHub(Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, 'model', name))])))
})
after(async () => {
  await hub.close()
  rmSync(folder, { recursive: true })
})

/** Not spawnSync: the hub answers from this very thread. */
function myriad(args: readonly string[], environment: Record<string, string> = {}, input = ''): Promise<CommandResult> {
  const env = {
    ...process.env,
    NO_COLOR: '1',
    HF_ENDPOINT: hub.endpoint,
    HF_HOME: join(folder, 'home'),
    ...environment,
  }
  const child = spawn(process.execPath, [command, ...args], { cwd: folder, env })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()))
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()))
  child.stdin.end(input)
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, stdout, stderr })))
}

test('download fetches a model once and says where it is; other commands take the id as a model', async () => {
  const first = await myriad(['download', repository, '--json'])
  assert.equal(first.status, 0, first.stderr)
  const { path, files, bytes, fetched } = JSON.parse(first.stdout) as {
    path: string
    files: string[]
    bytes: number
    fetched: number
  }
  assert.ok(path.startsWith(join(folder, 'home', 'hub')) && path.endsWith(hub.commit))
  assert.ok(files.includes('model.safetensors') && files.includes('tokenizer.json'))
  assert.equal(fetched, bytes)
  assert.match(first.stderr, /someone\/tiny-model {2}\d+\.\d kB of \d+\.\d kB/)

  const again = await myriad(['download', repository])
  assert.deepEqual([again.status, again.stdout, again.stderr], [0, `${path}\n`, ''])

  const talk = await myriad(['sample', repository, '--max-tokens', '3', '--json'], { HF_HUB_OFFLINE: '1' }, 'hello\n')
  assert.equal(talk.status, 0, talk.stderr)
  const [{ messages }] = JSON.parse(talk.stdout) as { messages: { role: string }[] }[]
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant'],
  )
})

test('what is not there, here or on the hub, is a usage error; what cannot be reached is not', async () => {
  const absent = await myriad(['eval', 'someone/else'])
  assert.equal(absent.status, 2)
  assert.match(absent.stderr, /there is no folder someone\/else here, and on the hub: .*has no model someone\/else/)
  const mistyped = await myriad(['sample', 'model/nowhere'])
  assert.equal(mistyped.status, 2)
  assert.match(mistyped.stderr, /there is no folder model\/nowhere/)
  const offline = await myriad(['download', 'someone/else', '--json'], { HF_HUB_OFFLINE: '1' })
  assert.equal(offline.status, 1)
  assert.match((JSON.parse(offline.stdout) as { error: { message: string } }).error.message, /HF_HUB_OFFLINE/)
})
