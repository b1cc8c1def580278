import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

/** Share of the machine's processors that somebody used during a second in which we did not; undefined outside Linux. */
async function othersShare() {
  const read = () => {
    const [user, nice, system, idle, wait, ...rest] = /^cpu +(.+)$/m
      .exec(readFileSync('/proc/stat', 'utf8'))[1]
      .split(' ')
      .map(Number)
    // Guests are counted among users already.
    const total = user + nice + system + idle + wait + rest[0] + rest[1] + rest[2]
    return { total, idle: idle + wait }
  }
  try {
    const before = read()
    await setTimeout(1000)
    const after = read()
    return 1 - (after.idle - before.idle) / (after.total - before.total)
  } catch {
    return undefined
  }
}

/**
 * Waits until the machine is quiet, but not for longer than `seconds`: whoever waits at barriers by spinning, as PyTorch and
 * llama.cpp do, loses a factor of ten beside others. Answers the share in use at last.
 */
export async function quiet(seconds = 120) {
  const end = performance.now() + seconds * 1000
  let share = await othersShare()
  while (share > 0.05 && performance.now() < end) share = await othersShare()
  return share
}
