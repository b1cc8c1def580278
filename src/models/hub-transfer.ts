import { createHash, type Hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MyriadError, messageOf } from '../core/index.js'

/** A content to fetch. */
export interface Transfer {
  url: string
  /** Where it goes when it is whole. */
  target: string
  size: number
  /** SHA-256 in hexadecimal (64 digits), or git's SHA-1 of a blob (40 digits). */
  hash: string
}

export interface TransferOptions {
  fetch: typeof fetch
  signal?: AbortSignal
  onBytes?: (received: number) => void
  /** Without a byte for so long, the connection is given up; 60,000 unless given. */
  stallMs?: number
  /** Before the first new attempt, doubling; 1,000 unless given. */
  retryMs?: number
}

/** Attempts without any progress, after which a transfer is given up. */
const attempts = 4

/**
 * Fetches a content into `target`, going on where an earlier attempt stopped. Until size and hash are right it is called
 * `target.incomplete`, and nothing reads that; what is of the wrong hash is thrown away.
 *
 * @throws MyriadError 'io' when the connection or the disk fails, 'checkpoint' when the content is not what was announced
 */
export async function transfer({ url, target, size, hash }: Transfer, options: TransferOptions): Promise<void> {
  if (existsSync(target)) return
  const partial = `${target}.incomplete`
  await mkdir(dirname(target), { recursive: true })
  const file = await open(partial, existsSync(partial) ? 'r+' : 'w+')
  try {
    let received = (await file.stat()).size
    if (received > size) {
      await file.truncate(0)
      received = 0
    }
    let failures = 0
    while (received < size) {
      const before = received
      try {
        received = await receive(file, url, received, size, options)
        if (received < size) throw new Error(`the connection closed after ${received} of ${size} bytes`)
      } catch (error) {
        options.signal?.throwIfAborted()
        if (!(error instanceof Error) || isFinal(error)) throw error
        received = Math.min((await file.stat()).size, size)
        failures = received > before ? 0 : failures + 1
        if (failures === attempts) throw error
        await sleep((options.retryMs ?? 1000) * 2 ** failures, undefined, { signal: options.signal })
      }
    }
    const found = await hashOf(file, size, hash)
    if (found !== hash) {
      await rm(partial, { force: true })
      throw new MyriadError(
        'checkpoint',
        `${url} is not what was announced: its hash is ${found}, not ${hash}; try again`,
      )
    }
    await file.sync()
  } finally {
    await file.close()
  }
  try {
    await rename(partial, target)
  } catch (error) {
    if (!existsSync(target)) throw error // else another process fetched the same
  }
}

/** An answer that no new attempt will change. */
export class HttpError extends Error {
  readonly status: number
  constructor(status: number, url: string) {
    super(`${url} answered ${status}`)
    this.status = status
  }
}

function isFinal(error: Error): boolean {
  if (error instanceof HttpError) return error.status < 500 && error.status !== 429 && error.status !== 408
  return error instanceof MyriadError || 'syscall' in error // the disk, not the network: fetch wraps its own errors
}

/** Asks for what is missing and writes it to its place; answers how many bytes are there now. */
async function receive(
  file: FileHandle,
  url: string,
  from: number,
  size: number,
  { fetch, signal, onBytes, stallMs = 60_000 }: TransferOptions,
): Promise<number> {
  const stalled = new AbortController()
  const watch = setTimeout(() => stalled.abort(new Error(`nothing came for ${stallMs / 1000} s`)), stallMs)
  try {
    const response = await fetch(url, {
      headers: from > 0 ? { Range: `bytes=${from}-` } : {},
      signal: signal ? AbortSignal.any([signal, stalled.signal]) : stalled.signal,
    })
    if (!response.ok || response.body === null) throw new HttpError(response.status, url)
    // A server may ignore the range and begin anew.
    let position = response.status === 206 ? from : 0
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      watch.refresh()
      if (position + bytes.length > size)
        throw new MyriadError('checkpoint', `${url} is longer than the announced ${size} bytes; try again`)
      await writeAt(file, bytes, position)
      position += bytes.length
      onBytes?.(position)
    }
    return position
  } finally {
    clearTimeout(watch)
  }
}

async function writeAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten
}

async function hashOf(file: FileHandle, size: number, expected: string): Promise<string> {
  const hash: Hash = createHash(expected.length === 64 ? 'sha256' : 'sha1')
  if (expected.length === 40) hash.update(`blob ${size}\0`)
  const buffer = Buffer.alloc(1 << 20)
  for (let position = 0; position < size;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, size - position), position)
    if (bytesRead === 0) break
    hash.update(buffer.subarray(0, bytesRead))
    position += bytesRead
  }
  return hash.digest('hex')
}

/** Bytes of a content that are here already. */
export async function bytesHere(target: string, size: number): Promise<number> {
  for (const path of [target, `${target}.incomplete`])
    try {
      return Math.min((await stat(path)).size, size)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        throw new MyriadError('io', `cannot read ${path}: ${messageOf(error)}`, { cause: error })
    }
  return 0
}
