import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'

/** Which walls this system lets us raise around the processes that run programs. */
export interface SandboxCapabilities {
  /** WebAssembly imports on a list: always. */
  imports: true
  /** Node's permission model: no files but the runtime's, no processes, no threads. */
  permissions: boolean
  /** A network namespace of its own: no network, not even this machine's. Linux with unshare and the right to use it. */
  network: boolean
  /** Processes that cannot gain privileges and die with this one (setpriv of util-linux). */
  privileges: boolean
  /** What the above adds before `node`. */
  prefix: readonly string[]
  nodeFlags: readonly string[]
}

let known: SandboxCapabilities | undefined

/**
 * Finds out, once in a process, which walls there are here.
 *
 * @example if (!sandboxCapabilities().network) console.warn('programs are not cut off from the network by the system')
 */
export function sandboxCapabilities(): SandboxCapabilities {
  known ??= probe()
  return known
}

function probe(): SandboxCapabilities {
  const flag = ['--permission', '--experimental-permission'].find((name) =>
    process.allowedNodeEnvironmentFlags.has(name),
  )
  const linux = process.platform === 'linux'
  const unshare = linux ? executable('unshare') : null
  const network = unshare ? [['-n'], ['-r', '-n']].find((flags) => works(unshare, [...flags, '--'])) : undefined
  const setpriv = linux ? executable('setpriv') : null
  const privilege = ['--pdeathsig', 'KILL', '--no-new-privs', '--']
  const privileges = setpriv !== null && works(setpriv, privilege)
  return {
    imports: true,
    permissions: flag !== undefined,
    network: network !== undefined,
    privileges,
    prefix: [...(network ? [unshare!, ...network, '--'] : []), ...(privileges ? [setpriv, ...privilege] : [])],
    nodeFlags: flag === undefined ? [] : [flag],
  }
}

function executable(name: string): string | null {
  for (const folder of ['/usr/bin', '/bin', '/usr/sbin', '/sbin']) {
    try {
      accessSync(`${folder}/${name}`, constants.X_OK)
      return `${folder}/${name}`
    } catch {
      continue
    }
  }
  return null
}

function works(command: string, flags: readonly string[]): boolean {
  return spawnSync(command, [...flags, process.execPath, '--version'], { env: {}, timeout: 10_000 }).status === 0
}
