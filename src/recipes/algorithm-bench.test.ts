import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseConfig } from '../training/index.js'
import { benchConfig, benchMethods } from './algorithm-bench.js'
import { runBench, type BenchResult } from './algorithm-bench-run.js'
import { benchCells, benchRows } from './algorithm-bench-table.js'

const result = (method: string, seed: number, reward: number, error: string | null = null): BenchResult => ({
  method,
  family: method < 'm' ? 'policy-gradient' : 'preference',
  seed,
  settings: 's',
  error,
  before: { reward: 0.5, success: 0.3, greedySuccess: 0.4 },
  after: { reward, success: reward / 2, greedySuccess: reward / 2 },
  sampledTokens: 1000,
  trainedTokens: 2000,
  trainSeconds: 3,
  skippedSteps: 0,
})

test('a configuration of every compared method is valid', () => {
  const methods = benchMethods()
  assert.ok(methods.length > 90)
  for (const { name } of methods) parseConfig(benchConfig(name, 1, { model: 'm', teacher: 't' }))
})

test('rows: mean over seeds with Student interval, the best of a family first, failures named', () => {
  const rows = benchRows([
    result('a', 1, 0.5),
    result('b', 1, 0.9),
    result('a', 2, 0.7),
    result('a', 3, 0.6),
    result('b', 2, 0.9),
    result('z', 1, 0, 'no teacher'),
  ])
  assert.deepEqual(
    rows.map(({ method }) => method),
    ['b', 'a', 'z'],
  )
  // Mean 0.6, standard deviation 0.1, three seeds: 0.6 +- 4.303 * 0.1 / sqrt(3).
  assert.ok(Math.abs(rows[1].after - 0.6) < 1e-12)
  assert.ok(Math.abs(rows[1].high - (0.6 + (4.303 * 0.1) / Math.sqrt(3))) < 1e-9)
  assert.equal(rows[0].low, rows[0].high)
  assert.deepEqual(benchCells(rows)[3], ['z', 'preference', 'failed: no teacher'])
})

test('results that are there are not run again, and a line cut off by a crash is dropped', async () => {
  const out = mkdtempSync(join(tmpdir(), 'myriad-bench-'))
  try {
    const methods = [{ name: 'no-such-method', family: 'distillation' }]
    const options = { methods, seeds: [1], out, model: 'no-such-model', parallel: 1 }
    // The teacher cannot be trained on a model that is not there: nothing is run.
    await assert.rejects(runBench(options), { code: 'usage' })
    const file = join(out, 'results.jsonl')
    mkdirSync(join(out, 'teacher'), { recursive: true })
    writeFileSync(join(out, 'teacher', 'summary.json'), '{}')
    const [first] = await runBench(options)
    assert.match(first.error ?? '', /no-such-method/)
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"method":"half`)
    let again = 0
    assert.deepEqual(await runBench({ ...options, onResult: () => again++ }), [first])
    assert.equal(again, 0)
    assert.equal(readFileSync(file, 'utf8'), `${JSON.stringify(first)}\n`)
  } finally {
    rmSync(out, { recursive: true })
  }
})
