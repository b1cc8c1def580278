import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError } from '../core/index.js'
import { fileWork, readIfPresent } from './files.js'

/**
 * Claims a run folder for this process by a file `lock` that holds its id; two writers would mix their lines. The lock of
 * a process that is gone, killed perhaps, is taken over.
 *
 * @returns what gives the folder free again
 * @throws MyriadError 'usage' when a living process has it
 */
export async function lockRun(path: string): Promise<() => void> {
  const file = join(path, 'lock')
  const owner = Number(await readIfPresent(file))
  if (owner > 0 && isAlive(owner))
    throw new MyriadError(
      'usage',
      `${path} is being written by process ${owner}. Wait until it has ended, or stop it; the run can be resumed then. ` +
        `If that process is something else, remove ${file}.`,
    )
  await fileWork(file, () => Promise.resolve(writeFileSync(file, String(process.pid))))
  return () => rmSync(file, { force: true })
}

/** Signal 0 only asks; a process that is another user's is alive too. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
