import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { packageFolder } from './package.js'

function check(pages: readonly string[]): { status: number | null; output: string } {
  const tool = join(packageFolder(), 'tools', 'check-docs.mjs')
  const run = spawnSync(process.execPath, [tool, ...pages], { cwd: packageFolder(), encoding: 'utf8' })
  return { status: run.status, output: run.stdout + run.stderr }
}

/** Checks one page with this text. */
function checkText(text: string): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-page-'))
  try {
    writeFileSync(join(folder, 'page.md'), text)
    return check([join(folder, 'page.md')])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const block = (info: string, text: string): string => `\`\`\`${info}\n${text}\n\`\`\`\n`

test('a page whose blocks run passes', () => {
  const page = block('ts file=a.ts', "import type { Reward } from 'myriad-rl'\nexport const name: Reward['name'] = 'x'")
  const { status, output } = checkText(
    page + block('sh run', 'test -f a.ts && myriad --version') + block('text', 'free'),
  )
  assert.equal(status, 0, output)
})

test('a page fails for a command that fails, a block that says nothing, and TypeScript that does not check', () => {
  const failing = checkText(block('sh run', 'myriad no-such-command'))
  assert.equal(failing.status, 1)
  assert.match(failing.output, /page\.md:1: exit code 2/)
  const silent = checkText(block('sh', 'true'))
  assert.equal(silent.status, 1)
  assert.match(silent.output, /must say run, run-here, file=NAME or not-run=why/)
  const mistyped = checkText(block('ts file=a.ts', "export const n: number = 'text'"))
  assert.equal(mistyped.status, 1)
  assert.match(mistyped.output, /a\.ts.*not assignable/)
  assert.equal(checkText(block('sh not-run', 'true')).status, 1)
  assert.equal(checkText(block('sh file=../escape', 'true')).status, 1)
})

const guides = readdirSync(join(packageFolder(), 'docs')).filter((name) => /^add-a-.*\.md$/.test(name))

test('there is a guide for a task, a reward and a loss', () => {
  assert.deepEqual(guides.toSorted(), ['add-a-loss.md', 'add-a-reward.md', 'add-a-task.md'])
})

for (const guide of guides) {
  test(`docs/${guide} can be followed`, () => {
    const { status, output } = check([`docs/${guide}`])
    assert.equal(status, 0, output)
  })
}
