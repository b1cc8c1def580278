import { compile, createGraph, matmul } from '../dist/engine/index.js'

const size = 1024
const count = 8

/** Products of 1024 x 1024 float32 matrices, one program a thread, all at once: floating-point operations a second. */
export async function matrixRate(threads) {
  const programs = await Promise.all(Array.from({ length: threads }, program))
  const once = () => Promise.all(programs.map((each) => each.run({})))
  await once()
  let best = Infinity
  for (let i = 0; i < 5; i++) {
    const start = performance.now()
    await once()
    best = Math.min(best, (performance.now() - start) / 1000)
  }
  await Promise.all(programs.map((each) => each.close()))
  return (2 * size ** 3 * count * threads) / best
}

async function program() {
  const graph = createGraph()
  let product = graph.input('a', [size, size])
  for (let i = 0; i < count; i++) product = matmul(product, graph.parameter(`b${i}`, [size, size]))
  // A corner of the result: copying all of it out is no part of the product.
  const corner = matmul(matmul(graph.input('left', [1, size]), product), graph.input('right', [size, 1]))
  const compiled = await compile(graph, { outputs: { corner } })
  const matrix = () => ({ data: new Float32Array(size * size).fill(1 / size), shape: [size, size] })
  compiled.bind(Object.fromEntries(Array.from({ length: count }, (_, i) => [`b${i}`, matrix()])))
  compiled.bind({
    a: matrix(),
    left: { data: new Float32Array(size).fill(1), shape: [1, size] },
    right: { data: new Float32Array(size).fill(1), shape: [size, 1] },
  })
  return compiled
}
