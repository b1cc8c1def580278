import type { Output } from './adapter.js'

export interface CollectedOutput extends Output {
  texts(): { stdout: string; stderr: string }
  exceeded(): boolean
}

/** Collects both streams, each up to `limit` bytes; what is not UTF-8 becomes U+FFFD. */
export function collectOutput(limit: number): CollectedOutput {
  let exceeded = false
  function stream() {
    const pieces: Buffer[] = []
    let length = 0
    return {
      write(text: string | Uint8Array): boolean {
        if (exceeded) return false
        const piece = Buffer.from(text as string) // a copy: memory of an instance changes
        const room = limit - length
        exceeded = piece.length > room
        pieces.push(exceeded ? piece.subarray(0, room) : piece)
        length += Math.min(piece.length, room)
        return !exceeded
      },
      text: () => Buffer.concat(pieces).toString('utf8'),
    }
  }
  const stdout = stream()
  const stderr = stream()
  return {
    stdout: stdout.write,
    stderr: stderr.write,
    texts: () => ({ stdout: stdout.text(), stderr: stderr.text() }),
    exceeded: () => exceeded,
  }
}
