import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { findPackages } from './child-process.js'
import { createSandbox, languages, sandboxCapabilities } from './index.js'
import type { FunctionCall, Verdict } from './types.js'

/** A program that wants out, or to cheat. It prints ESCAPED when it got what it wanted. */
interface HostileProgram {
  name: string
  /** Text; or pieces, where a pair is a letter and how often. */
  source: string | (string | [string, number])[]
  allowed: Verdict[]
  call?: FunctionCall
  /** What the called function must give in spite of all. */
  value?: string
  prints?: string
  mayPrint?: boolean
  /** Costs a new process or long work; run when MYRIAD_HOSTILE is 'all'. */
  slow?: boolean
}

const SECRET = 'the canary sings at 5'
const folder = mkdtempSync(join(tmpdir(), 'myriad-hostile-'))
const canary = join(folder, 'canary.txt')
let visits = 0
const server = createServer((socket) => {
  visits++
  socket.destroy()
})

before(async () => {
  writeFileSync(canary, SECRET)
  process.env.MYRIAD_CANARY = SECRET
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
after(() => {
  server.close()
  delete process.env.MYRIAD_CANARY
  rmSync(folder, { recursive: true })
})

function programsIn(language: string): HostileProgram[] {
  const url = new URL(`../../../src/rewards/code/hostile/${language}.json`, import.meta.url)
  return JSON.parse(readFileSync(url, 'utf8')) as HostileProgram[]
}

function missing(language: string): string | false {
  try {
    findPackages(languages[language])
    return false
  } catch (error) {
    return (error as Error).message
  }
}

/** Processes whose parent is this one; null where the system does not say. */
function childCount(): number | null {
  try {
    return readdirSync('/proc').filter((name) => {
      if (!/^\d+$/.test(name)) return false
      try {
        return readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ')[1] === String(process.pid)
      } catch {
        return false
      }
    }).length
  } catch {
    return null
  }
}

const next: Record<string, { source: string; stdout: string }> = {
  javascript: { source: 'console.log(6 * 7)', stdout: '42\n' },
  typescript: { source: 'const x: number = 6; console.log(x * 7)', stdout: '42\n' },
  lua: { source: 'print(6 * 7)', stdout: '42\n' },
  python: { source: 'print(6 * 7)', stdout: '42\n' },
}

for (const language of Object.keys(next))
  test(`hostile programs in ${language} harm nothing`, { skip: missing(language) }, async () => {
    const { port } = server.address() as AddressInfo
    const sandbox = createSandbox(languages[language], { children: 2, spares: 1, canaryEvery: 20 })
    const limits = { seconds: language === 'python' ? 1 : 0.5, memoryMiB: 96, outputBytes: 64 * 1024 }
    try {
      const check = async (program: HostileProgram): Promise<void> => {
        const pieces = typeof program.source === 'string' ? [program.source] : program.source
        const source = pieces
          .map((piece) => (typeof piece === 'string' ? piece : piece[0].repeat(piece[1])))
          .join('')
          .replaceAll('{{CANARY}}', canary)
          .replaceAll('{{PORT}}', String(port))
        const run = await sandbox.run({ source, stdin: '', limits, call: program.call })
        const said = `${language}, ${program.name}: ${run.verdict} ${run.detail} ${(run.stdout + run.stderr).slice(0, 300)}`
        assert.ok(program.allowed.includes(run.verdict), said)
        assert.ok(program.mayPrint || !run.stdout.includes('ESCAPED'), said)
        assert.ok(![run.stdout, run.stderr, run.detail, run.value].join().includes(SECRET), said)
        assert.ok(run.stdout.length <= limits.outputBytes && run.stderr.length <= limits.outputBytes, said)
        if (program.value !== undefined) assert.equal(run.value, program.value, said)
        if (program.prints !== undefined) assert.ok(run.stdout.includes(program.prints), said)
        assert.equal(readFileSync(canary, 'utf8'), SECRET, said)
        assert.deepEqual(readdirSync(folder), ['canary.txt'], said)
        assert.equal(visits, 0, said)
        const after = await sandbox.run({ source: next[language].source, stdin: '' })
        assert.equal(after.stdout, next[language].stdout, `after ${said}: ${after.verdict} ${after.detail}`)
      }
      const all = process.env.MYRIAD_HOSTILE === 'all'
      const waiting = programsIn(language).filter(({ slow }) => all || !slow)
      const worker = async (): Promise<void> => {
        for (let program = waiting.shift(); program; program = waiting.shift()) await check(program)
      }
      await Promise.all([worker(), worker()])
      const children = childCount()
      // Two at work, one to spare, and those that just now start or end.
      if (children !== null) assert.ok(children <= 8, `${children} processes`)
    } finally {
      await sandbox.close()
    }
  })

test('there are many of them', () => {
  const count = Object.keys(next).reduce((sum, language) => sum + programsIn(language).length, 0)
  assert.ok(count >= 150, String(count))
})

test('the walls of this system are known', () => {
  const { imports, permissions } = sandboxCapabilities()
  assert.deepEqual({ imports, permissions }, { imports: true, permissions: true })
})
