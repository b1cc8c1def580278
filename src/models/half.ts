/** Half precision and bfloat16 to float32 and back, whole arrays at a time, by their bits. */

/** What the last bit of a half is worth, by exponent. */
const halfUnit = Float64Array.from({ length: 31 }, (_, exponent) => 2 ** (Math.max(exponent, 1) - 25))

/** IEEE 754 half precision to float32; exact. */
export function halfToFloat(bits: number): number {
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  let magnitude: number
  if (exponent === 31) magnitude = fraction ? NaN : Infinity
  else magnitude = (exponent === 0 ? fraction : fraction + 1024) * halfUnit[exponent]
  return bits & 0x8000 ? -magnitude : magnitude
}

/** Widens halves into `target` from `at` on; exact. */
export function widenHalf(halves: Uint16Array, target: Float32Array, at = 0): void {
  const bits = new Uint32Array(target.buffer, target.byteOffset + at * 4, halves.length)
  for (let i = 0; i < halves.length; i++) {
    const half = halves[i]
    const exponent = half & 0x7c00
    if (exponent === 0) target[at + i] = halfToFloat(half)
    else {
      // The exponent's bias goes from 15 to 127; infinity and NaN keep an exponent of all ones.
      const magnitude = exponent === 0x7c00 ? 0x7f800000 | ((half & 0x3ff) << 13) : ((half & 0x7fff) << 13) + 0x38000000
      bits[i] = ((half & 0x8000) << 16) | magnitude
    }
  }
}

/** Widens bfloat16 (the upper half of a float32) into `target` from `at` on; exact. */
export function widenBrain(halves: Uint16Array, target: Float32Array, at = 0): void {
  const bits = new Uint32Array(target.buffer, target.byteOffset + at * 4, halves.length)
  for (let i = 0; i < halves.length; i++) bits[i] = halves[i] << 16
}

/** Float32 to half precision: to nearest, ties to even; beyond the largest half the result is infinity. */
export function narrowHalf(values: Float32Array, target: Uint16Array): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  for (let i = 0; i < values.length; i++) {
    const sign = (bits[i] >>> 16) & 0x8000
    const magnitude = bits[i] & 0x7fffffff
    let half: number
    if (magnitude > 0x7f800000) half = 0x7e00
    else if (magnitude >= 0x477ff000) half = 0x7c00
    else if (magnitude < 0x38800000) half = roundEven(Math.abs(values[i]) * 2 ** 24)
    else half = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13
    target[i] = sign | half
  }
}

/** Float32 to bfloat16: to nearest, ties to even. */
export function narrowBrain(values: Float32Array, target: Uint16Array): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  for (let i = 0; i < values.length; i++) {
    const nan = (bits[i] & 0x7fffffff) > 0x7f800000
    target[i] = nan ? (bits[i] >>> 16) | 0x40 : (bits[i] + 0x7fff + ((bits[i] >>> 16) & 1)) >>> 16
  }
}

function roundEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}
