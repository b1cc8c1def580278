import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { MyriadError } from '../core/index.js'

/** The environment's say about the hub: as Python's huggingface_hub reads it. */
export interface HubSettings {
  /** HF_ENDPOINT, or https://huggingface.co. */
  endpoint: string
  /** HF_TOKEN. */
  token: string | undefined
  /** HF_HUB_CACHE, or `hub` in HF_HOME, or ~/.cache/huggingface/hub. */
  cache: string
  /** HF_HUB_OFFLINE: nothing is fetched. */
  offline: boolean
}

/** @throws MyriadError 'io' naming a variable that says what cannot be */
export function hubSettings(environment: Readonly<Record<string, string | undefined>>): HubSettings {
  const own = (name: string): string | undefined => environment[name]?.trim() || undefined
  const home = own('HF_HOME') ?? join(own('XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'huggingface')
  const endpoint = own('HF_ENDPOINT') ?? 'https://huggingface.co'
  if (!URL.canParse(endpoint) || !/^https?:/i.test(endpoint))
    throw new MyriadError(
      'io',
      `the environment variable HF_ENDPOINT is "${endpoint}", which is no address of a hub: write it like https://huggingface.co, or unset it`,
    )
  return {
    endpoint: endpoint.replace(/\/+$/, ''),
    token: own('HF_TOKEN'),
    cache: own('HF_HUB_CACHE') ?? own('HUGGINGFACE_HUB_CACHE') ?? join(home, 'hub'),
    offline: /^(1|on|yes|true)$/i.test(own('HF_HUB_OFFLINE') ?? ''),
  }
}

/**
 * One model's part of the hub cache, laid out as Python's huggingface_hub lays it out, so that either finds what the other
 * fetched: `blobs/` holds contents by their hash, `snapshots/COMMIT/` links to them by file name, `refs/` says which
 * commit a branch or tag was at.
 */
export class RepositoryCache {
  readonly folder: string

  constructor(cache: string, repository: string) {
    this.folder = join(cache, `models--${repository.replace('/', '--')}`)
  }

  snapshot(commit: string): string {
    return join(this.folder, 'snapshots', commit)
  }

  /** Where a content is kept once it is whole and its hash is right; until then it has `.incomplete` behind its name. */
  blob(hash: string): string {
    return join(this.folder, 'blobs', hash)
  }

  /** The commit a revision was at when it was last looked up. */
  async commitOf(revision: string): Promise<string | undefined> {
    if (isCommit(revision)) return revision
    const file = join(this.folder, 'refs', revision)
    if (!existsSync(file)) return undefined
    const commit = (await readFile(file, 'utf8')).trim()
    return isCommit(commit) ? commit : undefined
  }

  async rememberCommit(revision: string, commit: string): Promise<void> {
    if (isCommit(revision)) return
    const file = join(this.folder, 'refs', revision)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, commit)
  }

  /** Gives a content its name in a snapshot. */
  async link(commit: string, name: string, hash: string): Promise<void> {
    const path = join(this.snapshot(commit), name)
    if (existsSync(path)) return
    await mkdir(dirname(path), { recursive: true })
    await rm(path, { force: true }) // a link to a content that is gone
    try {
      await symlink(relative(dirname(path), this.blob(hash)), path)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'EEXIST') return // another process was faster
      if (code !== 'EPERM' && code !== 'ENOSYS' && code !== 'ENOTSUP') throw error
      // No links here (Windows without developer mode): a copy, whole before it has its name.
      await copyFile(this.blob(hash), `${path}.incomplete`)
      await rename(`${path}.incomplete`, path)
    }
  }
}

export function isCommit(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text)
}
