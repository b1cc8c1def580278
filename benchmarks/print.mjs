// What a part measured, for the terminal.
import { tolerated } from './quiet.mjs'
import { median } from './turns.mjs'

const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0).padStart(6)} MiB`

function sideLine(label, { missing, seconds, cpuSeconds, othersShare, memoryBytes }, tokens) {
  if (missing !== undefined) return `${label} not measured: ${missing}`
  const time = median(seconds)
  const rate = tokens === undefined ? '' : `${(tokens / time).toFixed(0).padStart(7)} tokens/s`
  const busy = cpuSeconds.length === 0 ? '' : `  ${(median(cpuSeconds) / time).toFixed(1)} processors`
  const others = median(othersShare) > tolerated ? `  (others used ${(median(othersShare) * 100).toFixed(0)}%)` : ''
  const spread = ((Math.max(...seconds) - Math.min(...seconds)) / time) * 100
  return `${label} ${time.toFixed(3).padStart(8)} s ±${(spread / 2).toFixed(0).padStart(3)}% ${rate} ${mebibytes(memoryBytes)}${busy}${others}`
}

/** Lines about what a part of bench.mjs answered. */
export function describe(part, measured) {
  if (part === 'profile')
    return Object.entries(measured).map(([command, { missing, operations, outsideShare }]) =>
      missing !== undefined
        ? `profile ${command}: not measured: ${missing}`
        : `profile ${command}: ${operations
            .slice(0, 6)
            .map(({ name, share }) => `${name} ${(share * 100).toFixed(0)}%`)
            .join(', ')}; outside ONNX Runtime ${(outsideShare * 100).toFixed(0)}%`,
    )
  const kinds = part === 'parallel' ? Object.entries(measured) : [[part, measured]]
  const lines = kinds.flatMap(([kind, { sides, tokens }]) =>
    Object.entries(sides).map(([side, figures]) => sideLine(`${kind.padEnd(7)} ${side.padEnd(17)}`, figures, tokens)),
  )
  for (const [what, figure] of Object.entries(measured.differences ?? {}))
    lines.push(
      figure.missing === undefined
        ? `${what}: mean |logprob difference| ${figure.meanAbsoluteLogprobDifference.toExponential(1)}, KL ${figure.kl.toExponential(1)}`
        : `${what}: not measured: ${figure.missing}`,
    )
  return lines
}
