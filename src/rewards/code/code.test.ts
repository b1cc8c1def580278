import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { MyriadError } from '../../core/index.js'
import { transcriptOf } from '../sample.js'
import { findPackages } from './child-process.js'
import {
  checkProgram,
  closeSandboxes,
  codeCompiles,
  codeRuns,
  codeTests,
  createSandbox,
  languageOf,
  languages,
  runProgram,
} from './index.js'

after(closeSandboxes)

function missing(language: string): string | false {
  try {
    findPackages(languages[language])
    return false
  } catch (error) {
    return (error as Error).message
  }
}

/** The same little programs in each language. */
const programs: Record<string, { sum: string; fails: string; wrong: string; reverse: string; large: string }> = {
  javascript: {
    sum: "const [a, b] = require('fs').readFileSync(0, 'utf8').split(/\\s+/).map(Number)\nconsole.log(a + b)",
    fails: "throw new Error('no')",
    wrong: 'let = = 1',
    reverse: 'function f(text, n) { return { r: [...text].reverse().join(""), n: n.map((x) => x / 2) } }',
    large: 'const f = () => 2n ** 70n',
  },
  typescript: {
    sum: "import { readFileSync } from 'node:fs'\nconst [a, b]: number[] = readFileSync(0, 'utf8').split(/\\s+/).map(Number)\nconsole.log(a + b)",
    fails: "throw new Error('no') as unknown",
    wrong: 'let x: = 1',
    reverse:
      'interface R { r: string; n: number[] }\nexport const f = (text: string, n: number[]): R => ({ r: [...text].reverse().join(""), n: n.map((x) => x / 2) })',
    large: 'const f = (): bigint => 2n ** 70n',
  },
  lua: {
    sum: 'local a, b = io.read("n", "n")\nprint(a + b)',
    fails: 'error("no")',
    wrong: 'x = = 1',
    reverse:
      'function f(text, n) local r = "" for _, c in utf8.codes(text) do r = utf8.char(c) .. r end local h = {} for i, x in ipairs(n) do h[i] = x / 2 end return { r = r, n = h } end',
    large: 'function f() return 1 << 62 end',
  },
  python: {
    sum: 'a, b = map(int, input().split())\nprint(a + b)',
    fails: 'raise ValueError("no")',
    wrong: 'x = = 1',
    reverse: 'def f(text, n): return {"r": text[::-1], "n": [x / 2 for x in n]}',
    large: 'def f(): return 2 ** 70',
  },
}

for (const [language, { sum, fails, wrong, reverse, large }] of Object.entries(programs))
  test(`${language}: input, output, errors and functions`, { skip: missing(language) }, async () => {
    const limits = { seconds: 10 }
    const done = await runProgram({ language, source: sum, stdin: '40 2\n', limits })
    assert.deepEqual([done.stdout, done.stderr, done.verdict], ['42\n', '', 'ok'])
    assert.ok(done.seconds > 0 && done.memoryBytes > 0)
    assert.equal((await runProgram({ language, source: fails, limits })).verdict, 'runtime-error')
    assert.equal((await runProgram({ language, source: wrong, limits })).verdict, 'compile-error')
    const called = await checkProgram({
      language,
      source: reverse,
      limits,
      tests: [
        { call: 'f', arguments: ['añ漢😀', [1, 4]], expected: { n: [0.5, 2], r: '😀漢ña' } },
        { call: 'f', arguments: ['ab', [2]], expected: { n: [1], r: 'ab' } },
        { call: 'g', arguments: [], expected: null },
      ],
    })
    assert.deepEqual(
      called.tests.map(({ verdict }) => verdict),
      ['ok', 'wrong-answer', 'runtime-error'],
    )
    assert.equal(called.share, 1 / 3)
    assert.equal(called.verdict, 'wrong-answer')
    const expected = language === 'lua' ? 2 ** 62 : 2 ** 70
    const whole = await checkProgram({
      language,
      source: large,
      limits,
      tests: [{ call: 'f', arguments: [], expected }],
    })
    assert.equal(whole.share, 1)
  })

test('console.log shows values as Node does', async () => {
  for (const [source, shown] of [
    ['[1, "a", { b: null }]', "[ 1, 'a', { b: null } ]"],
    ['new Map([["k", new Set([1])]])', "Map(1) { 'k' => Set(1) { 1 } }"],
    ['-0, 10n, undefined, Symbol("s")', '-0 10n undefined Symbol(s)'],
    ['"%s is %d", "x", 5, "y"', 'x is 5 y'],
    ['[[[[1]]]], class A {}, function f() {}', '[ [ [ [Array] ] ] ] [class A] [Function: f]'],
    ['[, 1]', '[ <1 empty item>, 1 ]'],
    ['{}, [], ""', '{} [] '],
  ])
    assert.equal((await runProgram({ language: 'js', source: `console.log(${source})` })).stdout, `${shown}\n`)
})

test('what is left after a compile error, or after two limits, is not run', async () => {
  const limits = { seconds: 0.3 }
  const tests = Array.from({ length: 4 }, () => ({ stdin: '', stdout: 'x' }))
  const verdicts = async (source: string): Promise<string[]> =>
    (await checkProgram({ language: 'js', source, tests, limits })).tests.map(({ verdict }) => verdict)
  assert.deepEqual(await verdicts('for (;;);'), ['time-limit', 'time-limit', 'not-run', 'not-run'])
  assert.deepEqual(await verdicts('}'), Array(4).fill('compile-error'))
})

test('the rewards: all tests or a share of them, runs, compiles, does not apply', async () => {
  const fence = '```'
  const tests = [
    { stdin: '1 2', stdout: '3' },
    { input: '2 3', output: '5\n' },
  ]
  const score = async (reward: ReturnType<typeof codeTests>, reply: string, data: object = { tests }) =>
    reward.score(transcriptOf({ prompt: 'Add.', reply, ...data }))
  const right = `${fence}js\n${programs.javascript.sum}\n${fence}`
  const half = `${fence}js\nconsole.log(3)\n${fence}`
  assert.equal(await score(codeTests(), right), 1)
  assert.equal(await score(codeTests(), half), 0)
  assert.equal(await score(codeTests({ partial: true }), half), 0.5)
  assert.equal(await score(codeTests(), right, {}), null)
  assert.equal(await score(codeTests(), 'I cannot.'), 0)
  assert.equal(await score(codeTests({ language: 'js' }), programs.javascript.sum), 1)
  assert.equal(await score(codeTests(), programs.javascript.sum, { tests, programmingLanguage: 'JavaScript' }), 1)
  assert.equal(await score(codeTests(), right, { tests: { inputs: ['1 2'], outputs: ['3'] } }), 1)
  assert.equal(await score(codeRuns(), half), 1)
  assert.equal(await score(codeRuns(), `${fence}js\nthrow 1\n${fence}`), 0)
  assert.equal(await score(codeRuns(), 'I cannot.'), null)
  assert.equal(await score(codeCompiles(), `${fence}js\nthrow 1\n${fence}`), 1)
  assert.equal(await score(codeCompiles(), `${fence}js\n}{\n${fence}`), 0)
  await assert.rejects(score(codeTests(), right, { tests: [{ stdin: 1 }] }), /data\.tests\.0/)
})

test('a sandbox that does not work is an error, never a 0', async () => {
  const broken = createSandbox({ ...languageOf('js'), canary: { source: '1', stdout: 'other' } }, { children: 1 })
  const run = await broken.run({ source: '1', stdin: '' })
  assert.equal(run.verdict, 'sandbox-error')
  const given = { language: 'js', source: '1', tests: [{ stdout: '' }], sandbox: broken }
  await assert.rejects(checkProgram(given), (error: MyriadError) => error.code === 'reward')
  await broken.close()
})

test('a package that is missing, or of another version, is named with its npm command', () => {
  const adapter = { ...languageOf('js'), packages: [{ name: 'no-such-runtime', version: '1.2.3', optional: true }] }
  assert.throws(() => findPackages(adapter), /npm install --save-exact no-such-runtime@1\.2\.3/)
  assert.throws(() => languageOf('cobol'), /There are: javascript/)
})
