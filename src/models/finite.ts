import { MyriadError } from '../core/index.js'

/** @throws MyriadError 'checkpoint' naming the file, the tensor and the place of the first value that is not finite */
export function requireFinite(data: Float32Array, file: string, tensor: string): void {
  // No branch: a finite value less itself is zero, any other is NaN.
  let sum = 0
  for (let i = 0; i < data.length; i++) sum += data[i] - data[i]
  if (sum === 0) return
  const bad = data.findIndex((value) => !Number.isFinite(value))
  throw new MyriadError('checkpoint', `${file}: tensor "${tensor}" holds ${data[bad]} at ${bad}`)
}
