import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { show } from '../algorithms/options.js'
import { MyriadError, messageOf } from '../core/index.js'
import { isHubModel } from '../models/hub.js'

/**
 * A configuration with single fields replaced, before it is checked. Values are read as JSON where they are JSON and as
 * text otherwise; list items are addressed by number; objects on the way are made where they are missing.
 *
 * @throws MyriadError 'usage' on an override that is not `path=value` or leads through something that has no fields
 * @example applyOverrides(config, ['steps=3', 'algorithm.clipHigh=0.28', 'tasks.0.languages=["sw","yo"]'])
 */
export function applyOverrides(config: unknown, overrides: readonly string[]): unknown {
  const result: unknown = structuredClone(config)
  for (const override of overrides) {
    const [path, text] = splitOverride(override)
    let place = result
    for (const key of path.slice(0, -1)) {
      const fields = fieldsOf(place, override)
      fields[key] ??= {}
      place = fields[key]
    }
    fieldsOf(place, override)[path[path.length - 1]] = parseValue(text)
  }
  return result
}

function splitOverride(override: string): [string[], string] {
  const at = override.indexOf('=')
  const path = override.slice(0, Math.max(at, 0)).split('.')
  if (at < 1 || path.some((key) => key === '')) {
    throw new MyriadError('usage', `"${override}" is not an override; write path=value, for example steps=100`)
  }
  if (path.some((key) => key === '__proto__' || key === 'constructor' || key === 'prototype')) {
    throw new MyriadError('usage', `"${override}": a configuration has no such field`)
  }
  return [path, override.slice(at + 1)]
}

function fieldsOf(place: unknown, override: string): Record<string, unknown> {
  if (typeof place !== 'object' || place === null) {
    throw new MyriadError('usage', `"${override}" leads through a value that has no fields: ${show(place)}`)
  }
  return place as Record<string, unknown>
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text // not JSON: meant as text
  }
}

/**
 * Reads a JSON configuration file, with models (unless they are the hub's) and `modules` made absolute. It is not checked yet: apply overrides, then
 * `parseConfig`.
 *
 * @throws MyriadError 'usage' when the file is missing or is not a JSON object
 */
export async function readConfigFile(path: string): Promise<Record<string, unknown>> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new MyriadError('usage', `the configuration file ${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
    })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MyriadError('usage', `${path} is not JSON: ${messageOf(error)}`, { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MyriadError('usage', `${path}: expected a JSON object of fields, got ${show(value)}`)
  }
  const fields = value as Record<string, unknown>
  const absolute = (entry: unknown): unknown => (typeof entry === 'string' ? resolve(dirname(path), entry) : entry)
  const model = (entry: unknown): unknown =>
    typeof entry === 'string' && isHubModel(entry, dirname(path)) ? entry : absolute(entry)
  for (const field of ['model', 'teacher', 'teacherBase']) if (field in fields) fields[field] = model(fields[field])
  if ('chatTemplate' in fields && fields.chatTemplate !== 'default') fields.chatTemplate = absolute(fields.chatTemplate)
  const { teachers } = fields
  if (typeof teachers === 'object' && teachers !== null && !Array.isArray(teachers))
    fields.teachers = Object.fromEntries(Object.entries(teachers).map(([language, entry]) => [language, model(entry)]))
  if (Array.isArray(fields.modules)) fields.modules = fields.modules.map(absolute)
  return fields
}
