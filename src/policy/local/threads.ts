import { firstView, type WorkerCalls, type WorkerSetup } from './protocol.js'
import { ReplicaThread } from './replica-thread.js'
import type { ViewSetup } from './view-setup.js'

/** The worker threads of one model, shared by every policy that is a view of it; the last to leave ends them. */
export class Threads {
  readonly all: readonly ReplicaThread[]
  #users = 1
  #names = 0

  constructor(workers: number, setup: Omit<WorkerSetup, 'view'>, views: readonly ViewSetup[]) {
    this.all = Array.from({ length: workers }, (_, i) => new ReplicaThread({ ...setup, view: views[i] }))
  }

  /** One call of every thread. */
  each<K extends keyof WorkerCalls>(
    method: K,
    parameters: (index: number) => Parameters<WorkerCalls[K]>,
  ): Promise<ReturnType<WorkerCalls[K]>[]> {
    return Promise.all(this.all.map((thread, i) => thread.call(method, parameters(i))))
  }

  /** A name for one more view, whose policy has to {@link leave}. */
  join(): string {
    this.#users++
    return `${firstView} ${++this.#names}`
  }

  async leave(view: string): Promise<void> {
    this.#users--
    if (this.#users > 0) await this.each('dropView', () => [view])
    else await Promise.all(this.all.map((thread) => thread.close()))
  }
}
