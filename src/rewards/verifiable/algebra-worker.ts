import { parentPort } from 'node:worker_threads'
import { messageOf } from '../../core/index.js'
import type { AlgebraMessage } from './algebra.js'

/** What is used of compute-engine. */
interface Expression {
  isValid: boolean
  isEqual(other: Expression): boolean | undefined
  evaluate(): Expression
}
interface Engine {
  parse(latex: string): Expression
}

const say = (message: AlgebraMessage): void => parentPort?.postMessage(message)
// Not a literal: the package is optional, and types of it need not be there.
const packageName: string = '@cortex-js/compute-engine'

try {
  const { ComputeEngine } = (await import(packageName)) as { ComputeEngine: new () => Engine }
  const engine = new ComputeEngine()
  parentPort?.on('message', ([a, b]: [string, string]) => {
    try {
      const [left, right] = [engine.parse(a), engine.parse(b)]
      const equal = left.isValid && right.isValid ? left.evaluate().isEqual(right.evaluate()) : undefined
      say({ equal: equal ?? null })
    } catch {
      say({ equal: null }) // what it cannot read or work out, it does not tell
    }
  })
  say({ ready: true })
} catch (error) {
  say({ failed: messageOf(error) })
}
