import { Worker } from 'node:worker_threads'
import { MyriadError, type ErrorCode } from '../../core/index.js'
import type { SampleOptions } from '../types.js'
import type { FromWorker, ToWorker, WorkerCalls, WorkerSetup } from './protocol.js'

type Next = SampleOptions['next']

/** The main thread's end of one worker. */
export class ReplicaThread {
  readonly #worker: Worker
  readonly #waiting = new Map<
    number,
    { resolve: (value: never) => void; reject: (error: unknown) => void; next?: Next }
  >()
  #count = 0
  #closed = false
  /** Why the thread is gone, if it is. */
  #failure: unknown

  constructor(setup: WorkerSetup) {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: setup })
    this.#worker.on('message', (message: FromWorker) => void this.#receive(message))
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', (code) => {
      if (!this.#closed) this.#fail(new MyriadError('runtime', `a policy worker ended early with code ${code}`))
    })
  }

  send(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  call<K extends keyof WorkerCalls>(
    method: K,
    parameters: Parameters<WorkerCalls[K]>,
    next?: Next,
  ): Promise<ReturnType<WorkerCalls[K]>> {
    if (this.#closed) return Promise.reject(new MyriadError('runtime', `the policy is closed: cannot ${method}`))
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const id = this.#count++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, next })
      this.send({ type: 'call', id, method, arguments: parameters })
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    try {
      await this.call('close', [])
    } catch (error) {
      // A thread that is gone needs no closing; whoever was waiting for it has been told why.
      if (this.#failure === undefined) throw error
    }
    this.#closed = true
    await this.#worker.terminate()
  }

  async #receive(message: FromWorker): Promise<void> {
    if (message.type === 'ended') {
      const sampling = [...this.#waiting.values()].find((call) => call.next)
      try {
        const requests = await Promise.all(
          message.completions.map((completion) => sampling?.next?.(completion) ?? null),
        )
        this.send({ type: 'next', requests })
      } catch (error) {
        // The caller's own failure: report it there, and let the worker finish without follow-ups.
        sampling?.reject(error)
        this.send({ type: 'abort' })
        this.send({ type: 'next', requests: message.completions.map(() => null) })
      }
      return
    }
    const call = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.type === 'result') call?.resolve(message.value as never)
    else {
      const error = new MyriadError(message.code as ErrorCode, message.message)
      if (message.stack !== undefined) error.stack = message.stack
      call?.reject(error)
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error
    for (const call of this.#waiting.values()) call.reject(error)
    this.#waiting.clear()
  }
}
