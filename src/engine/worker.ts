/** The thread behind a program that is not inline: owns one session and answers requests in order. */
import { isMainThread, parentPort, workerData, type MessagePort, type TransferListItem } from 'node:worker_threads'
import { MyriadError, messageOf } from '../core/index.js'
import type { Failure, Request, Response } from './remote.js'
import { openSession, type Session, type SessionSpec } from './session.js'

function failureOf(error: unknown): Failure {
  return { code: error instanceof MyriadError ? error.code : 'runtime', message: messageOf(error) }
}

/** Answers one request after the other. A failed binding fails every run until one succeeds. */
function responder(session: Session): (request: Request) => Promise<Response> {
  let bindFailure: Failure | undefined
  return async (request) => {
    const { id } = request
    try {
      if (request.kind === 'close') await session.close()
      if (request.kind === 'bind') {
        bindFailure = undefined
        session.bind(request.values)
      }
      if (request.kind !== 'run') return { id }
      return bindFailure ? { id, failure: bindFailure } : { id, values: await session.run(request.feeds) }
    } catch (error) {
      const failure = failureOf(error)
      if (request.kind === 'bind') bindFailure = failure
      return { id, failure }
    }
  }
}

function buffersOf({ values = {} }: Response): TransferListItem[] {
  return [...new Set(Object.values(values).map(({ data }) => data.buffer as ArrayBuffer))]
}

async function serve(port: MessagePort, spec: SessionSpec): Promise<void> {
  let session: Session
  try {
    session = await openSession(spec)
  } catch (error) {
    port.postMessage({ id: 0, failure: failureOf(error) } satisfies Response)
    return
  }
  const answer = responder(session)
  let queue: Promise<void> = Promise.resolve()
  port.on('message', (request: Request) => {
    queue = queue.then(async () => {
      const response = await answer(request)
      port.postMessage(response, buffersOf(response))
    })
  })
  port.postMessage({ id: 0 } satisfies Response)
}

if (!isMainThread && parentPort) void serve(parentPort, workerData as SessionSpec)
