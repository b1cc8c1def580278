/** A complex number. */
export interface Complex {
  re: number
  im: number
}

/** Not a value: undefined here, or beyond floating point. */
export class NoValue extends Error {}
/** Nothing this evaluation knows. */
export class Unknown extends Error {}

export const multiply = (a: Complex, b: Complex): Complex => ({
  re: a.re * b.re - a.im * b.im,
  im: a.re * b.im + a.im * b.re,
})

export function divide(a: Complex, b: Complex): Complex {
  const size = b.re * b.re + b.im * b.im
  if (size === 0) throw new NoValue()
  return { re: (a.re * b.re + a.im * b.im) / size, im: (a.im * b.re - a.re * b.im) / size }
}

function logarithm(z: Complex): Complex {
  const size = Math.hypot(z.re, z.im)
  if (size === 0) throw new NoValue()
  return { re: Math.log(size), im: Math.atan2(z.im, z.re) }
}

function exponential(z: Complex): Complex {
  const size = Math.exp(z.re)
  return z.im === 0 ? { re: size, im: 0 } : { re: size * Math.cos(z.im), im: size * Math.sin(z.im) }
}

export function power(base: Complex, exponent: Complex): Complex {
  if (base.im === 0 && exponent.im === 0 && (base.re >= 0 || Number.isInteger(exponent.re))) {
    if (base.re === 0 && exponent.re < 0) throw new NoValue()
    return { re: base.re ** exponent.re, im: 0 }
  }
  if (base.re === 0 && base.im === 0) throw new NoValue()
  if (exponent.im === 0 && Number.isInteger(exponent.re) && Math.abs(exponent.re) <= 64) {
    let result: Complex = { re: 1, im: 0 }
    for (let k = 0; k < Math.abs(exponent.re); k++) result = multiply(result, base)
    return exponent.re < 0 ? divide({ re: 1, im: 0 }, result) : result
  }
  return exponential(multiply(exponent, logarithm(base)))
}

function root(z: Complex): Complex {
  if (z.im === 0) return z.re >= 0 ? { re: Math.sqrt(z.re), im: 0 } : { re: 0, im: Math.sqrt(-z.re) }
  return power(z, { re: 0.5, im: 0 })
}

function realOf(z: Complex): number {
  if (Math.abs(z.im) > 1e-12 * Math.max(1, Math.abs(z.re))) throw new NoValue()
  return z.re
}

const real = (re: number): Complex => {
  if (Number.isNaN(re)) throw new NoValue()
  return { re, im: 0 }
}

const i: Complex = { re: 0, im: 1 }

function sine(z: Complex): Complex {
  return z.im === 0
    ? real(Math.sin(z.re))
    : { re: Math.sin(z.re) * Math.cosh(z.im), im: Math.cos(z.re) * Math.sinh(z.im) }
}

function cosine(z: Complex): Complex {
  return z.im === 0
    ? real(Math.cos(z.re))
    : { re: Math.cos(z.re) * Math.cosh(z.im), im: -Math.sin(z.re) * Math.sinh(z.im) }
}

const unary: Readonly<Record<string, (z: Complex) => Complex>> = {
  sin: sine,
  cos: cosine,
  tan: (z) => divide(sine(z), cosine(z)),
  cot: (z) => divide(cosine(z), sine(z)),
  sec: (z) => divide(real(1), cosine(z)),
  csc: (z) => divide(real(1), sine(z)),
  sinh: (z) => multiply({ re: 0, im: -1 }, sine(multiply(i, z))),
  cosh: (z) => cosine(multiply(i, z)),
  tanh: (z) => real(Math.tanh(realOf(z))),
  asin: (z) => real(Math.asin(realOf(z))),
  acos: (z) => real(Math.acos(realOf(z))),
  atan: (z) => real(Math.atan(realOf(z))),
  exp: exponential,
  ln: logarithm,
  lg: (z) => divide(logarithm(z), real(Math.LN10)),
  sqrt: root,
  abs: (z) => real(Math.hypot(z.re, z.im)),
  floor: (z) => real(Math.floor(realOf(z) + 1e-12)),
  ceil: (z) => real(Math.ceil(realOf(z) - 1e-12)),
  sign: (z) => real(Math.sign(realOf(z))),
  degree: (z) => multiply(z, real(Math.PI / 180)),
}

/** The value of a known function; `logBase` is what log without a base means. */
export function apply(name: string, of: readonly Complex[], logBase: number): Complex {
  const [z, second] = of
  if (name === 'log') return divide(logarithm(z), second ? logarithm(second) : real(Math.log(logBase)))
  if (name === 'root') {
    const degree = realOf(second)
    if (z.im === 0 && z.re < 0 && Number.isInteger(degree) && degree % 2 !== 0) return real(-((-z.re) ** (1 / degree)))
    return power(z, divide(real(1), second))
  }
  if (name === 'factorial') {
    const n = realOf(z)
    if (!Number.isInteger(n) || n < 0 || n > 170) throw new NoValue()
    let result = 1
    for (let k = 2; k <= n; k++) result *= k
    return real(result)
  }
  if (name === 'binomial') {
    const [n, k] = [realOf(z), realOf(second)]
    if (!Number.isInteger(n) || !Number.isInteger(k) || k < 0 || n < k || n > 1000) throw new NoValue()
    let result = 1
    for (let j = 1; j <= k; j++) result = (result * (n - k + j)) / j
    return real(result)
  }
  const known = unary[name]
  if (!known) throw new Unknown()
  return known(z)
}
