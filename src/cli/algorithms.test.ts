import assert from 'node:assert/strict'
import { test } from 'node:test'
import pc from 'picocolors'
import { listObjectives } from '../algorithms/registry.js'
import { optionsOf } from './algorithms.js'
import { runCommandLine } from './program.js'
import type { Terminal } from './terminal.js'

/** Runs a command with a terminal that remembers. */
async function run(...args: string[]): Promise<{ code: number; text: string; notes: string; result: unknown }> {
  const [lines, notes] = [[] as string[], [] as string[]]
  let result: unknown
  const terminal: Terminal = {
    print: (text: string) => void lines.push(text),
    note: (text: string) => void notes.push(text),
    result: (value: unknown) => void (result = value),
    colors: pc.createColors(false),
    live: false,
    columns: 120,
  } as Terminal
  const code = await runCommandLine(args, terminal)
  return { code, text: lines.join('\n'), notes: notes.join('\n'), result }
}

test('"algorithms" lists every objective with family, kind, rows and reference', async () => {
  const { code, text, result } = await run('algorithms')
  assert.equal(code, 0)
  for (const { name, reference } of listObjectives())
    assert.ok(
      text.split('\n').some((line) => line.startsWith(`${name} `) && line.includes(reference)),
      name,
    )
  assert.deepEqual(
    (result as { name: string }[]).map(({ name }) => name),
    listObjectives().map(({ name }) => name),
  )
})

test('"algorithms --family" lists that family alone', async () => {
  const { text, result } = await run('algorithms', '--family', 'distillation')
  assert.match(text, /^sdpo .*distillation/m)
  assert.doesNotMatch(text, /^grpo /m)
  assert.ok((result as { family: string }[]).every(({ family }) => family === 'distillation'))
  assert.equal((await run('algorithms', '--family', 'x')).code, 2)
})

test('"algorithms show" prints formula, standing and options with their defaults; so does the name alone', async () => {
  const { code, text, result } = await run('algorithms', 'show', 'dpo')
  assert.equal(code, 0)
  assert.match(text, /formula +L = -log sig\(beta h\)/)
  assert.match(text, /standing +as in the source/)
  assert.match(text, /^ {2}beta +0\.1 +number, above 0$/m)
  assert.match(text, /^ {2}pairing +"best-worst" +"best-worst" or "all"/m)
  assert.equal((result as { options: { beta: { default: number } } }).options.beta.default, 0.1)
  assert.equal((await run('algorithms', 'dpo')).text, text)
  const wrong = await run('algorithms', 'show', 'dop')
  assert.equal(wrong.code, 2)
  assert.match(wrong.notes, /no objective "dop"\. Did you mean "dpo"\?/)
})

test('the options of every objective can be told in words', () => {
  for (const declared of listObjectives())
    for (const [name, { text, standard }] of Object.entries(optionsOf(declared))) {
      assert.ok(text.length > 0 && standard.length > 0, `${declared.name}: ${name}`)
      assert.doesNotMatch(text, /undefined|object Object|anything$/, `${declared.name}: ${name} is ${text}`)
    }
})
