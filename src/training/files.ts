import { existsSync } from 'node:fs'
import { appendFile, open, readFile, rename, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { MyriadError, messageOf } from '../core/index.js'

/**
 * Runs a piece of file work; what fails becomes a MyriadError('io') that names the file.
 *
 * @throws MyriadError 'io'
 */
export async function fileWork<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MyriadError) throw error
    const full = (error as NodeJS.ErrnoException).code === 'ENOSPC'
    const message = full ? `the disk is full: ${path} could not be written` : `${path}: ${messageOf(error)}`
    throw new MyriadError('io', message, { cause: error })
  }
}

/** Replaces a file so that a reader, or a run killed at any moment, sees the old or the new one, never a part. */
export async function writeAtomically(path: string, text: string): Promise<void> {
  await fileWork(path, async () => {
    const temporary = `${path}.part`
    const file = await open(temporary, 'w')
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    await syncFolder(dirname(path))
  })
}

/** Makes the names in a folder last, where the system can. */
export async function syncFolder(path: string): Promise<void> {
  let folder
  try {
    folder = await open(path, 'r')
  } catch (error) {
    // Windows does not open folders; there a rename is as lasting as it gets.
    if (['EISDIR', 'EPERM', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return
    throw error
  }
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** The text of a file, or null where there is none. */
export async function readIfPresent(path: string): Promise<string | null> {
  return fileWork(path, async () => {
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  })
}

/** Adds lines of JSON. They survive the process at once, the machine only after `syncFile`. */
export async function appendLines(path: string, records: readonly unknown[]): Promise<void> {
  if (records.length === 0) return
  await fileWork(path, () => appendFile(path, records.map((record) => `${JSON.stringify(record)}\n`).join('')))
}

/** Waits until what was written to a file is on the disk. A missing file is nothing to wait for. */
export async function syncFile(path: string): Promise<void> {
  if (!existsSync(path)) return
  await fileWork(path, async () => {
    const file = await open(path, 'r')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
  })
}

/**
 * Cuts a file of JSON lines back to the lines before the first that does not satisfy `keep`. A last line that a killed run
 * did not finish is cut too. A missing file stays missing.
 */
export async function cutLines(path: string, keep: (record: Record<string, unknown>) => boolean): Promise<void> {
  const text = await readIfPresent(path)
  if (text === null) return
  let end = 0
  while (end < text.length) {
    const lineEnd = text.indexOf('\n', end)
    if (lineEnd < 0) break
    const record = parseLine(text.slice(end, lineEnd))
    if (!record || !keep(record)) break
    end = lineEnd + 1
  }
  if (end < text.length) await fileWork(path, () => truncate(path, Buffer.byteLength(text.slice(0, end))))
}

/** The whole lines of a file of JSON lines; a last line that was not finished is left out. */
export async function readLines(path: string): Promise<Record<string, unknown>[]> {
  const lines = ((await readIfPresent(path)) ?? '').split('\n').slice(0, -1)
  return lines.map((line, i) => {
    const record = parseLine(line)
    if (!record) throw new MyriadError('checkpoint', `${path}:${i + 1} is not a JSON object`)
    return record
  })
}

function parseLine(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}
