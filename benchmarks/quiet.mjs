// Whether anybody else is using the machine.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

/** Seconds that all processors together have worked so far, and that they could have; undefined outside Linux. */
export function processorSeconds() {
  let line
  try {
    line = /^cpu +(.+)$/m.exec(readFileSync('/proc/stat', 'utf8'))[1]
  } catch {
    return undefined
  }
  // Hundredths of a second; guests, which come last, are counted among users already.
  const [user, nice, system, idle, wait, ...interrupts] = line.split(' ').map((ticks) => Number(ticks) / 100)
  const busy = user + nice + system + interrupts[0] + interrupts[1] + interrupts[2]
  return { busy, all: busy + idle + wait }
}

/** Share of the machine that others have used since `before`, while we used `ours` seconds of it. */
export function othersSince(before, ours) {
  const now = processorSeconds()
  if (before === undefined || now === undefined || now.all === before.all) return undefined
  return Math.max(0, (now.busy - before.busy - ours) / (now.all - before.all))
}

/** More than this makes a measurement doubtful. */
export const tolerated = 0.08

/**
 * Waits until the machine is quiet, but not for longer than `seconds`: whoever waits at barriers by spinning, as PyTorch and
 * llama.cpp do, loses a factor of ten beside others. Answers the share in use at last.
 */
export async function quiet(seconds = 120) {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const before = processorSeconds()
    await setTimeout(1000)
    const share = othersSince(before, 0)
    if (share === undefined || share <= tolerated || performance.now() > end) return share
  }
}
