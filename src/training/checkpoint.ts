import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError, messageOf } from '../core/index.js'
import type { Json } from '../core/index.js'
import { damageAdvice } from '../models/safetensors.js'
import type { Policy } from '../policy/types.js'
import { fileWork, readIfPresent, syncFile, syncFolder, writeAtomically } from './files.js'
import type { RunState } from './types.js'

/** Checkpoints kept beside the final model: the last, and one before it should that one be damaged. */
const KEPT = 2

const stateSchema = z.object({
  step: z.int().min(0),
  curriculum: z.custom<Json>(),
  /** Checkpoints of runs whose algorithm remembers nothing may lack it. */
  algorithm: z.json().default(null),
  totals: z.object({
    wallSeconds: z.number(),
    rolloutSeconds: z.number(),
    updateSeconds: z.number(),
    sampledTokens: z.number(),
    trainedTokens: z.number(),
    dropped: z.record(z.string(), z.number()),
    skippedSteps: z.number(),
    skippedInARow: z.number(),
  }),
})

/** What is saved beside the policy, in folders of its own. */
export interface Companion {
  save(folder: string): Promise<void>
  load(folder: string): Promise<void>
}

/**
 * Writes checkpoints/step-N: the policy with its optimizer, what accompanies it, and state.json. It is written aside, flushed to the disk and
 * renamed, so that a folder of that name is always whole. Older ones but the last are removed.
 *
 * @returns its folder
 */
export async function saveCheckpoint(
  out: string,
  policy: Policy,
  state: RunState,
  companion?: Companion,
): Promise<string> {
  const root = join(out, 'checkpoints')
  const folder = join(root, nameOf(state.step))
  const temporary = join(root, '.writing')
  await fileWork(folder, async () => {
    await rm(temporary, { recursive: true, force: true })
    await mkdir(temporary, { recursive: true })
    await policy.save(join(temporary, 'policy'), { optimizer: true })
    await companion?.save(temporary)
    await writeAtomically(join(temporary, 'state.json'), JSON.stringify(state))
    await syncTree(temporary)
    await rm(folder, { recursive: true, force: true })
    await rename(temporary, folder)
    await syncFolder(root)
    const old = (await stepsIn(root)).slice(0, -KEPT)
    for (const step of old) await rm(join(root, nameOf(step)), { recursive: true, force: true })
  })
  return folder
}

/**
 * Loads the newest checkpoint of a run into the policy.
 *
 * @returns its state, or null when there is no checkpoint yet
 * @throws MyriadError 'checkpoint' when it is damaged, saying what to do
 */
export async function loadCheckpoint(
  out: string,
  policy: Policy,
  companion?: Pick<Companion, 'load'>,
): Promise<RunState | null> {
  const root = join(out, 'checkpoints')
  const step = (await stepsIn(root)).at(-1)
  if (step === undefined) return null
  const folder = join(root, nameOf(step))
  try {
    const path = join(folder, 'state.json')
    const text = await readIfPresent(path)
    if (text === null) throw new MyriadError('checkpoint', `${path} is missing`)
    const state = stateSchema.parse(JSON.parse(text))
    await policy.load(join(folder, 'policy'))
    await companion?.load(folder)
    return state
  } catch (error) {
    const why = messageOf(error).replace(damageAdvice, '').replace(/\.$/, '')
    const before = (await stepsIn(root)).at(-2)
    const advice =
      before === undefined
        ? `It is the only one: remove ${folder} to resume from the beginning.`
        : `Remove ${folder} to resume from the checkpoint before it, of step ${before}.`
    throw new MyriadError('checkpoint', `${folder} is damaged: ${why}. ${advice}`, { cause: chained(error) })
  }
}

/** The error behind one whose message is told already, less its advice. */
function chained(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}

/** Writes checkpoints/final: a model folder without optimizer state, to sample from, evaluate or train on. */
export async function saveFinal(out: string, policy: Policy): Promise<string> {
  const folder = join(out, 'checkpoints', 'final')
  await fileWork(folder, async () => {
    await mkdir(join(out, 'checkpoints'), { recursive: true })
    await policy.save(folder)
  })
  return folder
}

function nameOf(step: number): string {
  return `step-${String(step).padStart(6, '0')}`
}

/** Steps of the checkpoints in a folder, ascending. */
async function stepsIn(root: string): Promise<number[]> {
  if (!existsSync(root)) return []
  const names = await readdir(root)
  return names.flatMap((name) => (/^step-\d+$/.test(name) ? [Number(name.slice(5))] : [])).sort((a, b) => a - b)
}

async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await syncTree(path)
    else await syncFile(path)
  }
  await syncFolder(folder)
}
