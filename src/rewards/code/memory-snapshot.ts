const PAGE = 65536

/**
 * Remembers a WebAssembly memory as it is now. `restore` writes it back; what was added since is zero. Pages that hold nothing
 * take no space.
 *
 * @param memory gives its bytes, anew after each growth
 */
export function snapshotMemory(memory: () => Uint8Array): { size: number; restore(): void } {
  const pages = new Map<number, Uint8Array>()
  const nothing = Buffer.alloc(PAGE)
  const now = memory()
  for (let at = 0; at < now.length; at += PAGE) {
    const page = now.subarray(at, at + PAGE)
    if (Buffer.compare(nothing, page) !== 0) pages.set(at, page.slice())
  }
  return {
    size: now.length,
    restore() {
      const bytes = memory()
      for (let at = 0; at < bytes.length; at += PAGE) {
        const page = pages.get(at)
        if (page) bytes.set(page, at)
        else bytes.fill(0, at, at + PAGE)
      }
    },
  }
}
