import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { packageFolder } from './package.js'

/** Lints one planted file under the project's own configuration. */
function lint(path: string, text: string): { ok: boolean; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-layers-'))
  try {
    cpSync(join(packageFolder(), '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
    const oxlint = join(packageFolder(), 'node_modules', 'oxlint', 'bin', 'oxlint')
    const run = spawnSync(process.execPath, [oxlint, '--threads=1', '.'], { cwd: folder, encoding: 'utf8' })
    return { ok: run.status === 0, output: run.stdout + run.stderr }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const imports = (from: string): string => `import { thing } from '${from}'\nexport const other = thing\n`

test('an import that points up the layers is refused', () => {
  for (const [path, from] of [
    ['src/core/a.ts', '../engine/index.js'],
    ['src/engine/a.ts', '../models/index.js'],
    ['src/engine/ops/a.ts', '../../policy/index.js'],
    ['src/text/a.ts', '../rewards/types.js'],
    ['src/policy/local/a.ts', '../../algorithms/index.js'],
    ['src/rewards/a.ts', '../tasks/index.js'],
    ['src/tasks/a.ts', '../training/train.js'],
    ['src/algorithms/a.ts', '../evaluation/index.js'],
    ['src/training/a.ts', '../recipes/index.js'],
    ['src/recipes/a.ts', '../cli/main.js'],
  ]) {
    const { ok, output } = lint(path, imports(from))
    assert.equal(ok, false, `${path} may not import ${from}\n${output}`)
    assert.match(output, /down the layers|only the types/)
  }
})

test('an import that points down, or to a neighbour, passes', () => {
  for (const [path, from] of [
    ['src/engine/a.ts', '../core/index.js'],
    ['src/engine/ops/a.ts', '../../core/index.js'],
    ['src/tasks/a.ts', '../rewards/index.js'],
    ['src/rewards/a.ts', '../tasks/types.js'],
    ['src/training/a.ts', '../evaluation/index.js'],
    ['src/cli/a.ts', '../recipes/index.js'],
  ]) {
    const { ok, output } = lint(path, imports(from))
    assert.ok(ok, `${path} may import ${from}\n${output}`)
  }
})

test('any, default exports and Math.random are refused', () => {
  assert.match(lint('src/core/a.ts', 'export const f = (x: any): number => x\n').output, /no-explicit-any/)
  assert.match(lint('src/core/a.ts', 'export default 1\n').output, /no-default-export/)
  assert.match(lint('src/core/a.ts', 'export const x = Math.random()\n').output, /Randomness is an argument/)
})
