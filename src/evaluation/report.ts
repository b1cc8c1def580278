import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MyriadError, messageOf } from '../core/index.js'
import { readRun } from './report-data.js'
import { reportPage } from './report-page.js'

/**
 * Writes report.html into a run folder from what the run wrote there, and returns its path. Works on a run that is still
 * going or was stopped: what is not there yet is left out.
 *
 * @example const path = await writeReport('runs/quickstart')
 * @throws MyriadError 'usage' when the folder holds no run, 'checkpoint' when a file in it is damaged, 'io' when writing fails
 */
export async function writeReport(runFolder: string): Promise<string> {
  const page = reportPage(await readRun(runFolder))
  const path = join(runFolder, 'report.html')
  try {
    await writeFile(`${path}.part`, page)
    await rename(`${path}.part`, path)
  } catch (error) {
    throw new MyriadError('io', `${path} could not be written: ${messageOf(error)}`, { cause: error })
  }
  return path
}
