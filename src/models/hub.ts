import { existsSync, readdirSync } from 'node:fs'
import { readFile, statfs, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../core/index.js'
import { hubSettings, isCommit, RepositoryCache, type HubSettings } from './hub-cache.js'
import { explain, isNetworkFailure } from './hub-errors.js'
import { bytesHere, transfer } from './hub-transfer.js'
import { indexFile, weightsFile } from './model-folder.js'

/** A model on the hub. */
export interface HubModel {
  /** `OWNER/NAME` */
  repository: string
  /** Branch, tag or commit; `main` unless given. */
  revision: string
  /** One GGUF file of the repository; its safetensors and tokenizer unless given. */
  file?: string
}

export interface DownloadProgress {
  /** Files in all, and the one under way. */
  files: number
  file: string
  /** Bytes that are here, of all files together, and in all. */
  bytes: number
  total: number
}

export interface DownloadOptions {
  revision?: string
  onProgress?: (progress: DownloadProgress) => void
  signal?: AbortSignal
  /** HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT and HF_HUB_OFFLINE are read from here; process.env unless given. */
  environment?: Readonly<Record<string, string | undefined>>
  /** For tests: the wait before a new attempt; 1,000 unless given. */
  retryMs?: number
}

export interface Download {
  /** A model folder, or a GGUF file. */
  path: string
  commit: string
  files: string[]
  /** Of all files together. */
  bytes: number
  /** Bytes that were fetched now. */
  fetched: number
}

/**
 * Reads `OWNER/NAME`, `OWNER/NAME@REVISION`, `OWNER/NAME:FILE.gguf` or both; undefined for anything else.
 *
 * @example parseHubModel('HuggingFaceTB/SmolLM2-135M-Instruct@main')
 */
export function parseHubModel(text: string): HubModel | undefined {
  const match = /^([A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*)(?:@([\w./-]+?))?(?::([\w.-]+\.gguf))?$/.exec(text)
  if (match === null || match[1].includes('..') || match[2]?.split('/').includes('..')) return undefined
  return { repository: match[1], revision: match[2] ?? 'main', ...(match[3] !== undefined && { file: match[3] }) }
}

/**
 * Does a text that may name a model folder or a model of the hub mean the latter? It does when it is written like one and
 * neither it nor the folder it would be in is there: `runs/quikstart` is a mistyped path where there is a folder `runs`.
 *
 * @param folder where paths begin; the working directory unless given
 */
export function isHubModel(text: string, folder = '.'): boolean {
  const there = [text, text.split('/')[0]].some((path) => existsSync(join(folder, path)))
  return !there && parseHubModel(text) !== undefined
}

/**
 * Fetches a model from the Hugging Face hub into the cache that Python's libraries use too, and answers where it is.
 * Only what is needed to run and train it is fetched: configuration, tokenizer, chat template, safetensors (or one GGUF
 * file), never pickled weights. What is in the cache already is not fetched again; a transfer that was cut goes on where it
 * stopped. Without a network, a model that is whole in the cache is used as it is.
 *
 * @throws MyriadError 'usage' when there is no such model, revision or file; 'io' when it cannot be reached or written, or
 * access is refused; 'checkpoint' when it holds nothing that can be read, or what came is not what was announced
 * @example
 * const { path } = await downloadModel('HuggingFaceTB/SmolLM2-135M-Instruct')
 * const { policy, chat } = await openLocalPolicy(path)
 */
export async function downloadModel(id: string, options: DownloadOptions = {}): Promise<Download> {
  const named = parseHubModel(id)
  if (named === undefined)
    throw new MyriadError(
      'usage',
      `"${id}" is no model of the hub: write OWNER/NAME, OWNER/NAME@REVISION or OWNER/NAME:FILE.gguf`,
    )
  const model = { ...named, revision: options.revision ?? named.revision }
  const settings = hubSettings(options.environment ?? process.env)
  const cache = new RepositoryCache(settings.cache, model.repository)
  if (settings.offline) {
    const cached = await fromCache(cache, model)
    if (cached) return cached
    throw new MyriadError(
      'io',
      `${id} is not whole in ${settings.cache}, and HF_HUB_OFFLINE forbids to fetch it: unset that and fetch it once, or give a model folder`,
    )
  }
  let listing: Listing
  try {
    listing = await list(model, settings, options.signal)
  } catch (error) {
    options.signal?.throwIfAborted()
    const cached = isNetworkFailure(error) ? await fromCache(cache, model) : undefined
    if (cached) return cached
    throw explain(error, id, model, settings)
  }
  const wanted = await choose(listing, model, cache, (file) =>
    fetchFile(file, listing.commit, cache, model, settings, options),
  )
  let before = 0
  for (const file of wanted) before += await bytesHere(cache.blob(file.hash), file.size)
  const total = wanted.reduce((sum, { size }) => sum + size, 0)
  await requireRoom(cache, total - before)
  let bytes = 0
  let fetched = 0
  for (const file of wanted) {
    const started = await bytesHere(cache.blob(file.hash), file.size)
    const report = (received: number): void =>
      options.onProgress?.({ files: wanted.length, file: file.name, bytes: bytes + received, total })
    if (started < file.size) report(started)
    try {
      await fetchFile(file, listing.commit, cache, model, settings, { ...options, onBytes: report })
    } catch (error) {
      options.signal?.throwIfAborted()
      throw explain(error, id, model, settings)
    }
    bytes += file.size
    fetched += file.size - started
    if (started < file.size) report(0)
  }
  await cache.rememberCommit(model.revision, listing.commit)
  return {
    path: placeOf(
      cache,
      listing.commit,
      model,
      wanted.map(({ name }) => name),
    ),
    commit: listing.commit,
    files: wanted.map(({ name }) => name),
    bytes: total,
    fetched,
  }
}

interface HubFile {
  name: string
  size: number
  /** SHA-256, or git's of a blob; the name of its content in the cache. */
  hash: string
}

interface Listing {
  commit: string
  files: HubFile[]
}

/** Configuration and tokenizer; all that are there are fetched. */
const companions = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
]

async function list(model: HubModel, settings: HubSettings, signal?: AbortSignal): Promise<Listing> {
  // Loaded when needed: most runs fetch nothing.
  const { listFiles, modelInfo } = await import('@huggingface/hub')
  const common = { hubUrl: settings.endpoint, fetch: authorized(settings, signal, 30_000) }
  const { repository: name, revision } = model
  const { sha } = await modelInfo({ ...common, name, revision, additionalFields: ['sha'] })
  if (!isCommit(sha)) throw new Error(`${settings.endpoint} named no commit for ${name}`)
  const files: HubFile[] = []
  for await (const { type, path, size, lfs, oid } of listFiles({ ...common, repo: name, revision: sha })) {
    const hash = lfs?.oid ?? oid ?? ''
    // Names and hashes become paths: only plain ones are taken.
    if (type === 'file' && /^[\w.-]+$/.test(path) && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(hash))
      files.push({ name: path, size: lfs?.size ?? size, hash })
  }
  return { commit: sha, files }
}

/** The files that are needed. For weights in several files their index is fetched first, and read. */
async function choose(
  { files, commit }: Listing,
  model: HubModel,
  cache: RepositoryCache,
  fetchNow: (file: HubFile) => Promise<void>,
): Promise<HubFile[]> {
  const byName = new Map(files.map((file) => [file.name, file]))
  const where = `${model.repository} at ${model.revision}`
  const ggufs = files.filter(({ name }) => name.endsWith('.gguf'))
  const names = ggufs.map(({ name }) => name).join(', ')
  if (model.file !== undefined) {
    const file = byName.get(model.file)
    if (file === undefined)
      throw new MyriadError('usage', `${where} has no file ${model.file}${names && `; it has ${names}`}`)
    return [file]
  }
  const around = companions.flatMap((name) => byName.get(name) ?? [])
  const single = byName.get(weightsFile)
  if (single) return [...around, single]
  const index = byName.get(indexFile)
  if (index) {
    await fetchNow(index)
    const shards = shardsOf(await readFile(join(cache.snapshot(commit), indexFile), 'utf8'), where)
    const absent = shards.filter((name) => !byName.has(name))
    if (absent.length > 0)
      throw new MyriadError('checkpoint', `${where}: ${indexFile} names files that are not there: ${absent.join(', ')}`)
    return [...around, index, ...shards.map((name) => byName.get(name) as HubFile)]
  }
  if (ggufs.length === 1) return ggufs
  if (ggufs.length > 1)
    throw new MyriadError(
      'usage',
      `${where} has ${ggufs.length} GGUF files; name one, as ${model.repository}:${ggufs[0].name}. They are ${names}`,
    )
  throw new MyriadError(
    'checkpoint',
    `${where} has neither safetensors nor a GGUF file${byName.has('pytorch_model.bin') ? ' (pytorch_model.bin is a program and is not run)' : ''}; look for a conversion of it`,
  )
}

function shardsOf(text: string, where: string): string[] {
  try {
    const { weight_map } = z.looseObject({ weight_map: z.record(z.string(), z.string()) }).parse(JSON.parse(text))
    return [...new Set(Object.values(weight_map))].sort()
  } catch (error) {
    throw new MyriadError('checkpoint', `${where}: ${indexFile} is damaged`, { cause: error })
  }
}

async function fetchFile(
  { name, size, hash }: HubFile,
  commit: string,
  cache: RepositoryCache,
  model: HubModel,
  settings: HubSettings,
  options: DownloadOptions & { onBytes?: (received: number) => void },
): Promise<void> {
  const url = `${settings.endpoint}/${model.repository}/resolve/${commit}/${encodeURIComponent(name)}`
  const { signal, onBytes, retryMs } = options
  await transfer(
    { url, target: cache.blob(hash), size, hash },
    { fetch: authorized(settings), signal, onBytes, retryMs },
  )
  await cache.link(commit, name, hash)
}

/** `fetch` with the user's token; it goes to the hub alone, redirects to other hosts lose it. */
function authorized(settings: HubSettings, signal?: AbortSignal, timeoutMs?: number): typeof fetch {
  const host = new URL(settings.endpoint).origin
  return (input, init) => {
    const headers = new Headers(init?.headers)
    const url = new URL(input instanceof Request ? input.url : input)
    if (settings.token !== undefined && url.origin === host) headers.set('Authorization', `Bearer ${settings.token}`)
    const signals = [init?.signal, signal, timeoutMs !== undefined && AbortSignal.timeout(timeoutMs)].filter(
      (one): one is AbortSignal => one instanceof AbortSignal,
    )
    return fetch(input, { ...init, headers, signal: signals.length > 0 ? AbortSignal.any(signals) : undefined })
  }
}

/** What the cache holds of a model, when it is whole. */
async function fromCache(cache: RepositoryCache, model: HubModel): Promise<Download | undefined> {
  const commit = await cache.commitOf(model.revision)
  if (commit === undefined) return undefined
  const folder = cache.snapshot(commit)
  const here = (name: string): boolean => existsSync(join(folder, name))
  const found = (files: string[]): Download => ({
    path: placeOf(cache, commit, model, files),
    commit,
    files,
    bytes: 0,
    fetched: 0,
  })
  if (model.file !== undefined) return here(model.file) ? found([model.file]) : undefined
  const ggufs = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.gguf')) : []
  if (!here('config.json')) return ggufs.length === 1 && here(ggufs[0]) ? found(ggufs) : undefined
  const around = companions.filter(here)
  if (here(weightsFile)) return found([...around, weightsFile])
  if (!here(indexFile)) return undefined
  const shards = shardsOf(await readFile(join(folder, indexFile), 'utf8'), folder)
  return shards.every(here) ? found([...around, indexFile, ...shards]) : undefined
}

function placeOf(cache: RepositoryCache, commit: string, model: HubModel, files: readonly string[]): string {
  const gguf = model.file ?? (files.length === 1 && files[0].endsWith('.gguf') ? files[0] : undefined)
  return gguf === undefined ? cache.snapshot(commit) : join(cache.snapshot(commit), gguf)
}

async function requireRoom(cache: RepositoryCache, needed: number): Promise<void> {
  await mkdir(cache.folder, { recursive: true })
  const { bavail, bsize } = await statfs(cache.folder)
  const free = bavail * bsize
  if (needed > free)
    throw new MyriadError(
      'io',
      `${(needed / 1e9).toFixed(2)} GB are to be fetched, and ${cache.folder} has room for ${(free / 1e9).toFixed(2)} GB: ` +
        'free some space, or set HF_HOME to a folder on another disk',
    )
}
