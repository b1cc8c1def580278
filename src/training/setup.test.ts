import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from './config.js'
import { configuredTasks } from './setup.js'
import { climb, echo, TEST_CONFIG } from './testing.js'

test('turn rewards are kept of a user’s own tasks, and of built-in ones when that is asked for', () => {
  const kept = (turnRewards: boolean | undefined, own: boolean): boolean | undefined => {
    const config = parseConfig({ ...TEST_CONFIG, tasks: [{ id: 'climb', turnRewards }] })
    return configuredTasks(config, own ? [climb] : [], () => climb)[0].turnRewards
  }
  assert.deepEqual([kept(undefined, true), kept(undefined, false)], [true, false])
  assert.deepEqual([kept(false, true), kept(true, false)], [false, true])
})

test('a task named twice, or asked for a language it has not, is refused by its field', () => {
  const configured = (tasks: { id: string; languages?: string[] }[]) =>
    configuredTasks(parseConfig({ ...TEST_CONFIG, tasks }), [echo], () => climb)
  assert.throws(() => configured([{ id: 'echo' }, { id: 'echo' }]), { message: /tasks\[1\]\.id.*twice/ })
  assert.throws(() => configured([{ id: 'echo', languages: ['xx'] }]), { message: /tasks\[0\]\.languages.*"xx"/ })
})
