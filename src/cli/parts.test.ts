import assert from 'node:assert/strict'
import { test } from 'node:test'
import pc from 'picocolors'
import { CommanderError } from 'commander'
import { MyriadError, nearest, suggestion } from '../core/index.js'
import { failureOf, stackOf } from './failure.js'
import { LiveBlock } from './live-block.js'
import { clock, progressBlock, progressLine, sparkline, type Standing } from './progress.js'
import { columns, displayWidth, printable } from './terminal.js'

test('a mistyped name finds its neighbour, a foreign one none', () => {
  const known = ['quickstart', 'sort', 'reverse', 'nim']
  assert.equal(nearest('quickstrat', known), 'quickstart')
  assert.equal(nearest('Sort', known), 'sort')
  assert.equal(nearest('srot', known), 'sort')
  assert.equal(nearest('rverse', known), 'reverse')
  assert.equal(nearest('chess', known), null)
  assert.equal(nearest('', known), null)
  assert.equal(suggestion('nin', known), ' Did you mean "nim"?')
})

test('what is wrong with the usage exits with 2, what fails while running with 1', () => {
  assert.equal(failureOf(new MyriadError('usage', 'no')).exitCode, 2)
  assert.equal(failureOf(new CommanderError(1, 'commander.unknownOption', "error: unknown option '--x'")).exitCode, 2)
  for (const code of ['io', 'checkpoint', 'numeric', 'task'] as const) {
    assert.equal(failureOf(new MyriadError(code, 'no')).exitCode, 1)
  }
  assert.match(failureOf(new TypeError('x is not a function')).message, /unforeseen.*x is not a function/)
})

test('an error out of a worker thread keeps its code', () => {
  const crossed = Object.assign(new Error('damaged'), { name: 'MyriadError', code: 'checkpoint' })
  assert.deepEqual(failureOf(crossed), { exitCode: 1, code: 'checkpoint', message: 'damaged' })
})

test('a cause is told once', () => {
  const cause = new Error('ENOSPC')
  assert.equal(failureOf(new MyriadError('io', 'disk full: ENOSPC', { cause })).message, 'disk full: ENOSPC')
  assert.match(failureOf(new MyriadError('io', 'disk full', { cause })).message, /disk full\n {2}cause: ENOSPC/)
  assert.match(stackOf(new MyriadError('io', 'disk full', { cause })), /caused by: Error: ENOSPC/)
})

const standing: Standing = {
  name: 'quickstart',
  phase: 'training',
  done: 30,
  total: 60,
  tasks: new Map([
    ['sort', [0.2, 0.4, 0.6]],
    ['arithmetic', [1]],
  ]),
  tokensPerSecond: 14210,
  secondsLeft: 75,
  dropped: 2,
}

test('the live block is a line for the run and one a task, never wider than the terminal', () => {
  const plain = pc.createColors(false)
  const block = progressBlock(standing, 120, plain)
  assert.equal(block.length, 3)
  assert.match(block[0], /quickstart {2}training {2}30\/60 .* 14\.2k tokens\/s {2}1:15 left {2}2 dropped/)
  assert.match(block[1], /sort {8}█{10}░{14} {2}40% {2}▂▄▅/)
  for (const width of [120, 80, 60, 40]) {
    for (const line of progressBlock(standing, width, plain))
      assert.ok(displayWidth(line) <= width, `${width}: ${line}`)
  }
})

test('a log line says the same', () => {
  assert.equal(progressLine(standing), 'training 30/60  14.2k tokens/s  1:15 left  sort 40% arithmetic 100%  2 dropped')
  assert.equal(clock(3725), '1:02:05')
  assert.equal(sparkline([0, 0, 1, 1], 2), '▁█')
})

test('the block is redrawn over itself, and lines put above it stay', () => {
  let screen = ''
  const block = new LiveBlock((text) => (screen += text))
  block.show(['a', 'b'])
  block.show(['c'])
  assert.ok(screen.includes('\x1b[2A\rc'), JSON.stringify(screen))
  block.above('kept')
  assert.ok(screen.endsWith('\x1b[1A\r\x1b[Jkept\n'), JSON.stringify(screen))
})

test('columns are aligned for wide and combining characters', () => {
  assert.equal(displayWidth('ならべて'), 8)
  assert.equal(displayWidth('ṣẹ́'), 2)
  assert.equal(displayWidth('\x1b[1mab\x1b[22m'), 2)
  assert.equal(
    columns([
      ['あ', 'x'],
      ['abc', 'y'],
    ]),
    'あ   x\nabc  y',
  )
})

test('a model cannot write to the terminal by escape sequences', () => {
  assert.equal(printable('a\x1b]0;title\x07\r\u009b2Jb\n'), 'a\u241b]0;title\u2407\u240d\ufffd2Jb\n')
})
