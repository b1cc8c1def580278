/** A session in a worker thread of its own: runs never block the caller. */
import { Worker } from 'node:worker_threads'
import { MyriadError, messageOf, type ErrorCode } from '../core/index.js'
import type { Session, SessionSpec } from './session.js'
import type { Value } from './types.js'

export type Request =
  | { kind: 'run'; id: number; feeds: Readonly<Record<string, Value>> }
  | { kind: 'bind'; id: number; values: Readonly<Record<string, Value>> }
  | { kind: 'close'; id: number }

/** An error as it crosses threads: a thrown class would arrive as a plain Error. */
export interface Failure {
  code: ErrorCode
  message: string
}

export type Response = { id: number; values?: Record<string, Value>; failure?: Failure }

interface Pending {
  resolve: (values: Record<string, Value>) => void
  reject: (error: Error) => void
}

/** A view crosses with its whole buffer, so that a small part of a large one is cut out first. */
function compact(values: Readonly<Record<string, Value>>): Record<string, Value> {
  const entries = Object.entries(values).map(([name, { data, shape }]): [string, Value] => {
    const whole = data.byteLength === data.buffer.byteLength
    return [name, { data: whole ? data : data.slice(), shape }]
  })
  return Object.fromEntries(entries)
}

/** Opens a session in a new worker thread. Arrays are copied on the way in and moved on the way out. */
export async function openRemoteSession(spec: SessionSpec): Promise<Session> {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: spec })
  const pending = new Map<number, Pending>()
  let last = 0
  let ended: Error | undefined

  const end = (error: Error): void => {
    ended ??= error
    for (const { reject } of pending.values()) reject(ended)
    pending.clear()
    worker.unref()
  }
  worker.on('message', ({ id, values, failure }: Response) => {
    const waiting = pending.get(id)
    pending.delete(id)
    if (pending.size === 0) worker.unref()
    if (failure) waiting?.reject(new MyriadError(failure.code, failure.message))
    else waiting?.resolve(values ?? {})
  })
  worker.on('error', (error) =>
    end(new MyriadError('runtime', `program worker failed: ${messageOf(error)}`, { cause: error })),
  )
  worker.on('exit', (code) => end(new MyriadError('runtime', `program worker has ended (exit code ${code})`)))

  const expect = (id: number): Promise<Record<string, Value>> => {
    if (ended) return Promise.reject(ended)
    // An idle worker does not keep the process alive; one with work does.
    worker.ref()
    return new Promise((resolve, reject) => pending.set(id, { resolve, reject }))
  }
  const send = (request: Request): Promise<Record<string, Value>> => {
    const answer = expect(request.id)
    if (!ended) worker.postMessage(request)
    return answer
  }

  await expect(0)
  return {
    run: (feeds) => send({ kind: 'run', id: ++last, feeds: compact(feeds) }),
    // Nobody waits for a binding: the worker keeps what was wrong with it and tells at the next run.
    bind: (values) => void send({ kind: 'bind', id: ++last, values: compact(values) }).catch(() => undefined),
    close: async () => {
      if (ended) return
      await send({ kind: 'close', id: ++last })
      await worker.terminate()
    },
  }
}
