import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { objectiveByName } from '../algorithms/registry.js'
import { applyOverrides, readConfigFile } from './config-file.js'
import { configSchema, parseConfig } from './config.js'
import { learningRateAt } from './schedule.js'

const base = { model: 'm', tasks: [{ id: 'sort' }], steps: 10 }

test('defaults are filled in', () => {
  const config = parseConfig(base)
  assert.equal(config.samplesPerProblem, 8)
  assert.deepEqual(config.tasks[0], { id: 'sort', difficulty: [0, 1], weight: 1 })
  assert.deepEqual(config.rewards, { task: 1 })
  assert.equal(config.algorithm.normalization, 'mean-std')
  assert.deepEqual(parseConfig(config), config)
})

test('every wrong field is named, with what was expected and what was given', () => {
  const refuse = (change: object, message: RegExp): void =>
    assert.throws(() => parseConfig({ ...base, ...change }, 'my.json'), { code: 'usage', message })
  refuse({ steps: 'ten' }, /my\.json.*\n  steps: expected number; got "ten"/)
  refuse({ steps: undefined }, /steps: expected number; it is missing/)
  refuse({ tasks: [{ id: 'sort', difficulty: [0, 2] }] }, /tasks\[0\]\.difficulty\[1\]: .*1; got 2/)
  refuse({ tasks: [{ id: 'sort', difficulty: [0.8, 0.2] }] }, /lower end.*got \[0\.8,0\.2\]/)
  refuse({ tasks: [] }, /tasks: .*; got \[\]/)
  refuse({ stepz: 3 }, /unknown field "stepz"/)
  refuse({ algorithm: { clipHi: 3 } }, /algorithm: unknown field "clipHi"/)
  refuse({ algorithm: { normalization: 'std' } }, /algorithm\.normalization: .*"mean-std".*got "std"/)
  refuse({ algorithm: { overlong: 'drop' } }, /algorithm\.overlong: .*got "drop"/)
  refuse({ name: '../x' }, /name: .*got "\.\.\/x"/)
  refuse({ steps: 0, seed: 1.5 }, /steps: [^\n]*\n  seed: |seed: [^\n]*\n  steps: /)
  assert.throws(() => parseConfig(null), { code: 'usage', message: /configuration/ })
})

test('options of a method are checked by the method, and its defaults filled in', () => {
  const { algorithm } = parseConfig({ ...base, algorithm: { name: 'dpo', beta: 0.5, epochs: 2 } })
  assert.equal(algorithm.beta, 0.5)
  assert.equal(algorithm.pairing, 'best-worst')
  assert.deepEqual([algorithm.epochs, algorithm.minibatches], [2, 1])
  assert.ok(!('clipLow' in algorithm), 'options of other methods are not there')
  const refuse = (fields: object, message: RegExp): void =>
    assert.throws(() => parseConfig({ ...base, algorithm: fields }), { code: 'usage', message })
  refuse({ name: 'dpo', clipLow: 0.1 }, /algorithm: unknown field "clipLow"; "myriad algorithms show dpo"/)
  refuse({ name: 'dpo', beta: 0 }, /algorithm\.beta: .*got 0/)
  refuse({ name: 'laconic' }, /algorithm\.budget: .*it is missing/)
  refuse({ name: 'dpo', beta: 'x', epochs: 0 }, /algorithm\.epochs: .*got 0/)
  refuse({ name: 3 }, /algorithm\.name: .*got 3/)
  refuse({ name: 'composed', shaping: 'x' }, /algorithm\.shaping: .*got "x"/)
  const wrong = { ...base, steps: 0, algorithm: { name: 'dpo', beta: 0 }, teacherPrompt: '{prompt}' }
  assert.throws(() => parseConfig(wrong), /algorithm\.beta: [^]*teacherPrompt: must contain \{solution\} or[^]*steps: /)
})

test('overrides: JSON where it is JSON, text otherwise; lists by number; missing objects are made', () => {
  const overrides = [
    'steps=3',
    'algorithm.clipHigh=0.28',
    'tasks.0.languages=["sw"]',
    'name=a=b',
    'evaluation={"every":2}',
  ]
  assert.deepEqual(applyOverrides(base, overrides), {
    ...base,
    steps: 3,
    algorithm: { clipHigh: 0.28 },
    tasks: [{ id: 'sort', languages: ['sw'] }],
    name: 'a=b',
    evaluation: { every: 2 },
  })
  assert.deepEqual(base.tasks, [{ id: 'sort' }], 'the configuration given is not changed')
  for (const wrong of ['steps', '=3', 'a..b=1', 'model.x=1', '__proto__.x=1']) {
    assert.throws(() => applyOverrides(base, [wrong]), { code: 'usage' }, wrong)
  }
})

test('paths in a file are relative to the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-config-'))
  const path = join(folder, 'c.json')
  const teachers = { sw: 'n', default: 'organization/name' }
  writeFileSync(path, JSON.stringify({ ...base, modules: ['./own.mjs'], teacher: 't', teacherBase: './b', teachers }))
  const config = await readConfigFile(path)
  assert.equal(config.model, join(folder, 'm'))
  assert.deepEqual(config.modules, [join(folder, 'own.mjs')])
  assert.equal(config.teacher, join(folder, 't'))
  assert.equal(config.teacherBase, join(folder, 'b'))
  assert.deepEqual(config.teachers, { sw: join(folder, 'n'), default: 'organization/name' })
  writeFileSync(path, '{')
  await assert.rejects(readConfigFile(path), { code: 'usage', message: /c\.json is not JSON/ })
  writeFileSync(path, '[]')
  await assert.rejects(readConfigFile(path), { code: 'usage', message: /expected a JSON object/ })
  await assert.rejects(readConfigFile(join(folder, 'none.json')), { code: 'usage', message: /none\.json/ })
})

test('learning rates, worked out by hand', () => {
  const config = { learningRate: 1, warmupSteps: 3, finalLearningRate: 0.1, steps: 14 } as const
  const at = (schedule: 'constant' | 'linear' | 'cosine', steps: number[]): number[] =>
    steps.map((step) => Number(learningRateAt({ ...config, schedule }, step).toFixed(9)))
  assert.deepEqual(at('constant', [1, 2, 3, 4, 14]), [0.25, 0.5, 0.75, 1, 1])
  assert.deepEqual(at('linear', [4, 9, 14]), [1, 0.55, 0.1])
  assert.deepEqual(at('cosine', [4, 9, 14]), [1, 0.55, 0.1])
  assert.deepEqual(at('cosine', [6]), [Number((0.1 + (0.9 * (1 + Math.cos(Math.PI * 0.2))) / 2).toFixed(9))])
})

test('docs/loop.md names every field', () => {
  const page = readFileSync(new URL('../../docs/loop.md', import.meta.url), 'utf8')
  const named = new Set(page.match(/[A-Za-z]+/g))
  const fieldsOf = (schema: { properties?: Record<string, object> }): string[] =>
    Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [name, ...fieldsOf(inner)])
  const fields = fieldsOf(z.toJSONSchema(configSchema, { io: 'input' }) as object)
  const grpo = z.toJSONSchema(objectiveByName('grpo').options, { io: 'input' }) as object
  fields.push(...fieldsOf(grpo))
  assert.ok(fields.length > 40)
  assert.deepEqual(
    fields.filter((field) => !named.has(field)),
    [],
  )
})

test('an adapter of no kind, and a field it does not have, are told what there is, and where', () => {
  const parse = (adapter: unknown) => () => parseConfig({ model: 'm', tasks: [{ id: 'sort' }], steps: 1, adapter })
  assert.throws(parse({ rank: 4 }), /adapter\.kind: must be one of lora, prompt, prefix; it is missing/)
  assert.throws(parse({ kind: 'lara' }), /adapter\.kind: must be one of lora, prompt, prefix; got "lara"/)
  assert.throws(parse({ kind: 'prompt', rank: 4 }), /adapter: unknown field "rank"; see docs\/adapters\.md/)
  assert.throws(parse('lora'), /adapter: expected object; got "lora"/)
})
