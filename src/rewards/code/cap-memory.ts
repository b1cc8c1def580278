const MEMORY_SECTION = 5
const PAGE = 65536

/**
 * A WebAssembly module whose own memory cannot grow beyond `bytes`: `memory.grow` fails there, in whatever language.
 *
 * @throws Error when the bytes are no module or it has no memory of its own
 */
export function capMemory(module: Uint8Array, bytes: number): Uint8Array {
  let at = 8
  while (at < module.length) {
    const [length, start] = unsigned(module, at + 1)
    if (module[at] !== MEMORY_SECTION) {
      at = start + length
      continue
    }
    const [count, flagsAt] = unsigned(module, start)
    const [flags, minimumAt] = unsigned(module, flagsAt)
    const [minimum, end] = unsigned(module, minimumAt)
    if (count !== 1 || flags > 1) throw new Error('not one memory that is addressed by 32 bits and not shared')
    const maximum = Math.max(minimum, Math.floor(bytes / PAGE))
    const section = [1, 1, ...encoded(minimum), ...encoded(maximum)]
    const rest = module.subarray(start + length)
    if (flags === 1 && unsigned(module, end)[0] <= maximum) return module
    return Buffer.concat([
      module.subarray(0, at),
      Buffer.from([MEMORY_SECTION, ...encoded(section.length), ...section]),
      rest,
    ])
  }
  throw new Error('no memory section')
}

/** LEB128: the value and where the next byte is. */
function unsigned(bytes: Uint8Array, at: number): [number, number] {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]
    value += (byte & 127) * 2 ** shift
    if (byte < 128) return [value, at]
  }
}

function encoded(value: number): number[] {
  const bytes: number[] = []
  do {
    const more = value > 127
    bytes.push((value % 128) | (more ? 128 : 0))
    value = Math.floor(value / 128)
  } while (value > 0)
  return bytes
}
