import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { MyriadError, nearest } from '../core/index.js'

/** Throws a usage error, with the nearest neighbour's name, unless `path` is a folder. */
export function requireFolder(path: string): void {
  if (!isFolder(path)) throw new MyriadError('usage', `there is no folder ${path}.${nearbyName(path)}`)
}

/** Throws a usage error, with the nearest neighbour's name, unless `path` is a file. */
export function requireFile(path: string): void {
  if (!isFile(path)) throw new MyriadError('usage', `there is no file ${path}.${nearbyName(path)}`)
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function nearbyName(path: string): string {
  const parent = dirname(path)
  const near = isFolder(parent) ? nearest(basename(path), readdirSync(parent)) : null
  return near === null ? '' : ` Did you mean "${join(parent, near)}"?`
}
