import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { findPackages } from './child-process.js'
import { createSandbox, languages } from './index.js'
import type { FunctionCall, ProgramLimits, Verdict } from './types.js'

/** A program that wants out, or to cheat. It prints ESCAPED when it got what it wanted. */
interface HostileProgram {
  name: string
  /** Text; or pieces, where a pair is a letter and how often. */
  source: string | (string | [string, number])[]
  allowed: Verdict[]
  call?: FunctionCall
  value?: string
  prints?: string
  /** Once more, with the same outcome: nothing of the first run is left. */
  twice?: boolean
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
after(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

const programs = JSON.parse(
  readFileSync(new URL('../../../src/rewards/code/hostile-more.json', import.meta.url), 'utf8'),
) as Record<string, HostileProgram[]>

/** What a child must still be able to do afterwards. */
const next: Record<string, { source: string; stdout: string }> = {
  sqlite: { source: 'SELECT 6 * 7', stdout: '42\n' },
  postgres: { source: "SELECT 6 * 7, count(*) FROM pg_roles WHERE rolname = 'left_role'", stdout: '42|0\n' },
  c: { source: '#include <stdio.h>\nint main(void) { puts("42"); }', stdout: '42\n' },
  cpp: { source: '#include <cstdio>\nint main() { std::puts("42"); }', stdout: '42\n' },
  ruby: { source: 'puts 6 * 7', stdout: '42\n' },
  prolog: { source: ':- X is 6 * 7, write(X), nl.', stdout: '42\n' },
}

/** Where the compiler's time counts, or the runtime's own memory is large. */
const limitsOf: Record<string, Partial<ProgramLimits>> = {
  c: { seconds: 15, memoryMiB: 64 },
  cpp: { seconds: 20, memoryMiB: 64 },
  postgres: { seconds: 3, memoryMiB: 384 },
  ruby: { seconds: 3 },
}

function missing(language: string): string | false {
  try {
    findPackages(languages[language])
    return false
  } catch (error) {
    return (error as Error).message
  }
}

for (const [language, list] of Object.entries(programs))
  test(`hostile programs in ${language} harm nothing`, { skip: missing(language) }, async (context) => {
    const { port } = server.address() as AddressInfo
    const sandbox = createSandbox(languages[language], { children: 1, spares: 1, canaryEvery: 10 })
    const limits = { seconds: 1.5, memoryMiB: 128, outputBytes: 64 * 1024, ...limitsOf[language] }
    const wrong: string[] = []
    try {
      for (const program of list) {
        const pieces = typeof program.source === 'string' ? [program.source] : program.source
        const source = pieces
          .map((piece) => (typeof piece === 'string' ? piece : piece[0].repeat(piece[1])))
          .join('')
          .replaceAll('{{CANARY}}', canary)
          .replaceAll('{{PORT}}', String(port))
        try {
          for (let time = 0; time < (program.twice ? 2 : 1); time++) {
            const run = await sandbox.run({ source, stdin: '', limits, call: program.call })
            const said = `${language}, ${program.name}: ${run.verdict} ${run.detail} ${(run.stdout + run.stderr).slice(0, 300)}`
            context.diagnostic(`${said.slice(0, 120).replaceAll('\n', ' ')} ${run.seconds.toFixed(2)} s`)
            assert.ok(program.allowed.includes(run.verdict), said)
            assert.ok(!run.stdout.includes('ESCAPED'), said)
            assert.ok(![run.stdout, run.stderr, run.detail, run.value].join().includes(SECRET), said)
            assert.ok(run.stdout.length <= limits.outputBytes && run.stderr.length <= limits.outputBytes, said)
            if (program.value !== undefined) assert.equal(run.value, program.value, said)
            if (program.prints !== undefined) assert.ok(run.stdout.includes(program.prints), said)
            assert.equal(readFileSync(canary, 'utf8'), SECRET, said)
            assert.deepEqual(readdirSync(folder), ['canary.txt'], said)
            assert.equal(visits, 0, said)
          }
          const then = await sandbox.run({ source: next[language].source, stdin: '' })
          assert.equal(then.stdout, next[language].stdout, `after ${program.name}: ${then.verdict} ${then.detail}`)
        } catch (error) {
          wrong.push((error as Error).message)
        }
      }
    } finally {
      await sandbox.close()
    }
    assert.deepEqual(wrong, [])
  })

test('each language has its programs', () => {
  for (const [language, list] of Object.entries(programs)) {
    assert.ok(list.length >= 8, language)
    assert.ok(next[language], language)
  }
})
