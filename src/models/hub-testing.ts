/** A server on this machine that answers as the hub does, for tests: one repository, with misbehaviour on request. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeHub {
  endpoint: string
  commit: string
  /** Contents by name; what is of 1,000 bytes and more is told as large files are (SHA-256), the rest as git's. */
  files: Record<string, Buffer>
  /** Method, path and range of every request. */
  requests: { path: string; range?: string; authorization?: string }[]
  /** Closes the connection of the next answers after so many bytes of the content, one entry an answer. */
  cuts: number[]
  /** Answers these statuses first. */
  statuses: number[]
  /** Sends the whole content whatever range is asked for. */
  ignoresRanges: boolean
  /** Sends other bytes than were announced. */
  lies: boolean
  /** Asked for, if set. */
  token?: string
  /** Sends contents from another host (a second port). */
  redirectTo?: string
  close(): Promise<void>
}

export const repository = 'someone/tiny-model'

export async function fakeHub(files: Record<string, Buffer>): Promise<FakeHub> {
  const server = createServer((request, response) => answer(hub, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const hub: FakeHub = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commit: createHash('sha1').update('first').digest('hex'),
    files,
    requests: [],
    cuts: [],
    statuses: [],
    ignoresRanges: false,
    lies: false,
    close: () => closeServer(server),
  }
  return hub
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

function answer(hub: FakeHub, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', hub.endpoint)
  const { range, authorization } = request.headers
  hub.requests.push({ path: url.pathname, range, authorization })
  const status = hub.statuses.shift()
  if (status !== undefined) return fail(response, status)
  if (hub.token !== undefined && authorization !== `Bearer ${hub.token}`) return fail(response, 401)
  const api = `/api/models/${repository}/`
  if (url.pathname === `${api}revision/main` || url.pathname === `${api}revision/${hub.commit}`)
    return json(response, { _id: '1', id: repository, sha: hub.commit, private: false, lastModified: '2026-01-01' })
  if (url.pathname === `${api}tree/${hub.commit}`) return json(response, Object.entries(hub.files).map(entry))
  const name = url.pathname.slice(`/${repository}/resolve/${hub.commit}/`.length)
  const content = hub.files[decodeURIComponent(name)]
  if (!url.pathname.startsWith(`/${repository}/resolve/`) || content === undefined) return fail(response, 404)
  if (hub.redirectTo !== undefined) {
    response.writeHead(302, { location: `${hub.redirectTo}${url.pathname}` }).end()
    return
  }
  send(hub, response, content, range)
}

function entry([path, content]: [string, Buffer]): object {
  const oid = createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
  const lfs = { oid: createHash('sha256').update(content).digest('hex'), size: content.length, pointerSize: 130 }
  return { type: 'file', path, size: content.length, oid, ...(content.length >= 1000 && { lfs }) }
}

function send(hub: FakeHub, response: ServerResponse, content: Buffer, range: string | undefined): void {
  const from = hub.ignoresRanges ? 0 : Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
  const part = Buffer.from(content.subarray(from))
  if (hub.lies) part[part.length - 1] ^= 1
  const headers: Record<string, string | number> = { 'content-length': part.length }
  if (from > 0) headers['content-range'] = `bytes ${from}-${content.length - 1}/${content.length}`
  response.writeHead(from > 0 ? 206 : 200, headers)
  const cut = hub.cuts.shift()
  if (cut === undefined || cut >= part.length) response.end(part)
  else response.write(part.subarray(0, cut), () => setTimeout(() => response.destroy(), 20))
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function fail(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: `status ${status}` }))
}
