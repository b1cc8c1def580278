import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Clock, JudgeModel, JudgeRequest } from './types.js'

/** Time that passes when somebody sleeps. */
export function fakeClock(): Clock & { slept: number[] } {
  let time = 0
  const slept: number[] = []
  return {
    slept,
    now: () => time,
    sleep: async (milliseconds) => {
      slept.push(milliseconds)
      time += milliseconds
    },
  }
}

/** The id that a question wants repeated. */
export function idOf({ messages }: Pick<JudgeRequest, 'messages'>): string {
  // The last: what is judged may hold others.
  return [...messages[1].content.matchAll(/"id":"([0-9a-f]{8})"/gu)].at(-1)![1]
}

/** A block of a question as the judge reads it. */
export function blockOf({ messages }: Pick<JudgeRequest, 'messages'>, label: string): string {
  const { content } = messages[1]
  const id = idOf({ messages })
  const start = content.indexOf(`<<<${label} ${id}\n`) + `<<<${label} ${id}\n`.length
  return content.slice(start, content.indexOf(`\n${id} ${label}>>>`))
}

/** A judge that follows a script. */
export function scripted(
  answer: (request: JudgeRequest, call: number) => string,
): JudgeModel & { asked: JudgeRequest[] } {
  const asked: JudgeRequest[] = []
  return {
    name: 'scripted',
    asked,
    complete: async (request) => {
      asked.push(request)
      return { text: answer(request, asked.length - 1), inputTokens: 100, outputTokens: 10 }
    },
  }
}

export interface Asked {
  url: string
  headers: IncomingHttpHeaders
  body: { model: string; messages: { role: string; content: string }[]; [field: string]: unknown }
}

/** An endpoint on this machine that answers by a script, until the test ends. */
export async function fakeEndpoint(
  t: TestContext,
  answer: (asked: Asked, call: number, response: ServerResponse) => void,
): Promise<{ endpoint: string; asked: Asked[] }> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const one = { url: request.url!, headers: request.headers, body: JSON.parse(text) as Asked['body'] }
      asked.push(one)
      answer(one, asked.length - 1, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked }
}

/** A completion as OpenAI's chat endpoint words it. */
export function completion(
  response: ServerResponse,
  content: string,
  usage = { prompt_tokens: 50, completion_tokens: 7 },
): void {
  response.setHeader('content-type', 'application/json')
  const message = { role: 'assistant', content }
  const total_tokens = usage.prompt_tokens + usage.completion_tokens
  response.end(
    JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { ...usage, total_tokens },
    }),
  )
}
