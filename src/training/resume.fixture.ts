// A child process that trains in the folder given, resuming what is there, and kills itself at the moment given:
// `event:N` at the Nth event, `save:N` in the middle of writing the Nth checkpoint, `never`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Policy } from '../policy/types.js'
import { openTestPolicy, RESUME_CONFIG, TEST_TASKS } from './testing.js'
import { train } from './train.js'

const [out, moment] = process.argv.slice(2)
const [kind, number] = moment.split(':')
let left = Number(number)

function dieAt(what: string): void {
  if (kind === what && --left === 0) process.kill(process.pid, 'SIGKILL')
}

const { policy, chat } = await openTestPolicy()
const save: Policy['save'] = async (folder, options) => {
  if (kind === 'save' && left === 1) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'table.json'), '{"version":')
  }
  dieAt('save')
  return policy.save(folder, options)
}
await train(RESUME_CONFIG, {
  out,
  resume: true,
  tasks: TEST_TASKS,
  onEvent: () => dieAt('event'),
  openPolicy: async () => ({
    policy: new Proxy(policy, { get: (target, key) => (key === 'save' ? save : bound(target, key)) }),
    chat,
  }),
})

function bound(target: Policy, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key)
  return typeof value === 'function' ? (value as () => unknown).bind(target) : value
}
