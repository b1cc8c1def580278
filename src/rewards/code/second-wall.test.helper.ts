import { execSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { LanguageAdapter } from './adapter.js'

/** A runtime that has broken the first wall: it tries from JavaScript what no program should reach. */
export const wallBreaker: LanguageAdapter = {
  name: 'wallBreaker',
  module: import.meta.url,
  aliases: [],
  packages: [],
  allow: [],
  bootSeconds: 60,
  canary: { source: '', stdout: '' },
  boot: async () => ({
    async run({ source, stdin }, { output }) {
      const [canary, port] = stdin.split('\n')
      const dial = (): Promise<unknown> =>
        new Promise((resolve, reject) => connect(Number(port), '127.0.0.1').on('connect', resolve).on('error', reject))
      const ways: Record<string, () => unknown> = {
        'read a file': () => readFileSync(canary),
        'list a folder': () => readdirSync('/'),
        'write a file': () => writeFileSync(canary, 'gone'),
        'write beside itself': () => writeFileSync('evil', 'x'),
        'start a process': () => execSync('id'),
        'start a thread': () => new Worker('1', { eval: true }),
        'compile text': () => new Function('return 1')() as unknown,
        'end its parent': () => process.kill(process.ppid, 0),
        'read the environment': () => {
          if (Object.keys(process.env).length === 0) throw new Error('empty')
        },
        'reach the network': dial,
      }
      for (const [name, way] of source === '' ? [] : Object.entries(ways)) {
        let worked = true
        try {
          await way()
        } catch {
          worked = false
        }
        output.stdout(`${name}: ${worked ? 'yes' : 'no'}\n`)
      }
      return { verdict: 'ok', detail: '', memoryBytes: 0 }
    },
  }),
}
