import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeTestsSchema, fencedBlocks, languageIn, programIn, sameOutput, sameValue } from './index.js'

test('output is compared exactly, by lines, by tokens or by numbers', () => {
  assert.equal(sameOutput('1\n', '1', 'exact'), false)
  assert.equal(sameOutput('1 \r\n2\n\n', '1\n2', 'lines'), true)
  assert.equal(sameOutput(' 1\n2', '1\n2', 'lines'), false)
  assert.equal(sameOutput(' 1  2\n3', '1\n2 3', 'tokens'), true)
  assert.equal(sameOutput('0.30000000000000004', '0.3', 'tokens'), false)
  assert.equal(sameOutput('0.30000000000000004', '0.3', 'numbers'), true)
  assert.equal(sameOutput('1.001 yes', '1 yes', 'numbers', 0.01), true)
  assert.equal(sameOutput('1.001 yes', '1 no', 'numbers', 0.01), false)
  assert.equal(sameOutput('NaN', '0', 'numbers'), false)
  assert.equal(sameOutput('1 2', '1 2 3', 'numbers'), false)
  assert.equal(sameOutput('привет\u00a0', 'привет', 'lines'), true)
  assert.equal(sameOutput('', '', 'lines'), true)
  assert.equal(sameOutput('', '0', 'tokens'), false)
})

test('values are compared as JSON: keys in any order, whole numbers exactly', () => {
  assert.equal(sameValue({ a: 0.1 + 0.2, b: [1] }, { b: [1], a: 0.3 }), true)
  assert.equal(sameValue(1e15 + 1, 1e15), false)
  assert.equal(sameValue('1180591620717411303424', 2 ** 70), true)
  assert.equal(sameValue('5', 5), false)
  assert.equal(sameValue(1, true), false)
  assert.equal(sameValue(null, 0), false)
  assert.equal(sameValue(undefined, null), false)
  assert.equal(sameValue([], {}), true)
  assert.equal(sameValue({}, []), false)
  assert.equal(sameValue([3, 1, 1], [1, 3, 1]), false)
  assert.equal(sameValue([3, 1, 1], [1, 3, 1], { unordered: true }), true)
  assert.equal(sameValue([3, 1, 1], [1, 3, 3], { unordered: true }), false)
  assert.equal(sameValue(JSON.parse('{"__proto__": 1}') as never, {}), false)
  assert.equal(sameValue({ constructor: 1 }, { constructor: 1 }), true)
})

test('the program is the last block in its language, else the last block, else the reply', () => {
  const fence = '```'
  const reply = `Plan:\n${fence}python\nprint(1)\n${fence}\nthen\n${fence}py\nprint(2)\n${fence}\nor\n${fence}js\n3\n${fence}`
  assert.equal(programIn(reply, 'python'), 'print(2)')
  assert.equal(programIn(reply, 'javascript'), '3')
  assert.equal(programIn(reply, 'lua'), '3')
  assert.equal(programIn(`a\n${fence}\nx\n${fence}\n${fence}js\ny\n${fence}`, 'lua'), 'x')
  assert.equal(programIn('print(1)', 'python'), 'print(1)')
  assert.equal(programIn(`${fence}python\nprint(1)`, 'python'), 'print(1)')
  assert.equal(programIn(`~~~~ {.python}\nprint("${fence}")\n~~~~`, 'python'), `print("${fence}")`)
  assert.equal(programIn('', 'python'), '')
  assert.equal(languageIn(reply), 'javascript')
  assert.equal(languageIn('no code'), null)
  assert.deepEqual(fencedBlocks('`inline` ```not a fence``` x'), [])
})

test('an endless reply is read in linear time', () => {
  for (const piece of ['```\n', '`', '~~~ x\n', '``` ```\n', '\u200b```py\n', ' '])
    assert.equal(typeof programIn(piece.repeat(Math.ceil(1e6 / piece.length)), 'python'), 'string')
})

test('names of functions are names: nothing else gets into a harness', () => {
  const call = (name: string): boolean =>
    codeTestsSchema.safeParse([{ call: name, arguments: [], expected: 1 }]).success
  for (const name of ['f', 'Solution.twoSum', '_x1', 'größe', '最大', 'أكبر']) assert.ok(call(name), name)
  for (const name of ['', 'f()', 'a b', 'a;b', '1a', 'a..b', "a'", 'a\n', '__import__("os")'])
    assert.ok(!call(name), name)
})
