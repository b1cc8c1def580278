/** A message on a pipe: its length in bytes (four bytes, little endian), then JSON. */
export function frame(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message))
  const whole = Buffer.allocUnsafe(4 + body.length)
  whole.writeUInt32LE(body.length)
  body.copy(whole, 4)
  return whole
}

/**
 * Puts messages together from the pieces a pipe gives.
 *
 * @throws Error when a message is longer than `longest` bytes or is no JSON
 */
export function frameReader(longest: number, onMessage: (message: unknown) => void): (piece: Buffer) => void {
  let pieces: Buffer[] = []
  let held = 0
  return (piece) => {
    pieces.push(piece)
    held += piece.length
    while (held >= 4) {
      if (pieces[0].length < 4) pieces = [Buffer.concat(pieces)]
      const length = pieces[0].readUInt32LE()
      if (length > longest) throw new Error(`a message of ${length} bytes`)
      if (held < 4 + length) return
      const all = Buffer.concat(pieces)
      pieces = [all.subarray(4 + length)]
      held -= 4 + length
      onMessage(JSON.parse(all.toString('utf8', 4, 4 + length)))
    }
  }
}
