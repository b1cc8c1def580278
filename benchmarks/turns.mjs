// The sides of a comparison take turns: what disturbs the machine for a while disturbs all of them.
import { setTimeout } from 'node:timers/promises'
import { othersSince, processorSeconds } from './quiet.mjs'

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/**
 * The sides take turns at one command: two turns that are not counted, three where they are short, in which programs are built, caches filled and hot code compiled; then `rounds` that are, fewer where these would take
 * longer than `minutes`.
 *
 * @param sides by name, as openSide answers them
 * @returns by side: times, of the wall and of all processors together, the share of the machine that others used meanwhile, and
 *   peak memory; or why it is missing
 */
export async function takeTurns(sides, command, { rounds, minutes, versions }) {
  const figures = Object.fromEntries(
    Object.keys(sides).map((name) => [name, { warmup: [], seconds: [], cpuSeconds: [], othersShare: [] }]),
  )
  const turn = async (warmup) => {
    const start = performance.now()
    for (const [name, side] of Object.entries(sides)) {
      await setTimeout(300) // until the threads of the one before have stopped spinning
      const before = processorSeconds()
      const answer = await side.ask(command)
      if (answer === null) continue
      const { seconds, cpuSeconds, ...rest } = answer
      if (warmup) {
        figures[name].warmup.push(seconds)
        continue
      }
      figures[name].seconds.push(seconds)
      if (cpuSeconds === undefined) continue
      figures[name].cpuSeconds.push(cpuSeconds)
      figures[name].othersShare.push(othersSince(before, cpuSeconds) ?? null)
      // What else a side tells of its turn.
      for (const [what, value] of Object.entries(rest)) (figures[name][what] ??= []).push(value)
    }
    return (performance.now() - start) / 1000
  }
  await turn(true)
  if ((await turn(true)) < 20) await turn(true)
  const start = performance.now()
  let counted = 0
  while (counted < rounds) {
    const took = await turn(false)
    counted++
    if ((performance.now() - start) / 1000 + took > minutes * 60) break
  }
  for (const [name, side] of Object.entries(sides)) {
    const memory = await side.ask('memory')
    if (side.missing) figures[name] = { missing: side.missing }
    else figures[name].memoryBytes = memory.bytes
    Object.assign(versions, side.opened?.versions)
  }
  return { rounds: counted, sides: figures }
}

/** Tries the same command in several settings, each in a process of its own, and keeps the fastest. */
export async function fastest(settings, open, command) {
  const trial = []
  for (const setting of settings) {
    const side = await open(setting)
    const seconds = []
    for (let i = 0; i < 3; i++) seconds.push((await side.ask(command))?.seconds ?? Infinity)
    await side.close()
    trial.push({ ...setting, seconds: Math.min(...seconds.slice(1)) })
  }
  const { seconds: _, ...setting } = trial.reduce((one, other) => (other.seconds < one.seconds ? other : one))
  return { setting, trial }
}

export async function closeAll(sides) {
  for (const side of Object.values(sides)) await side.close()
}
