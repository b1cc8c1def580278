import { readFileSync } from 'node:fs'

/** Most memory this process has held at once, worker threads included, in bytes. */
export function peakMemory() {
  let status = ''
  try {
    status = readFileSync('/proc/self/status', 'utf8')
  } catch {
    return process.resourceUsage().maxRSS * 1024 // no /proc outside Linux
  }
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)[1]) * 1024
}
