// Training and sampling speed of the engine for models of about 1M, 4M and 27M parameters, beside the machine's own
// matrix-product rate and, where a Python with torch and transformers is found, PyTorch on the same work.
//
//   npm run bench [-- --models 1M,4M,27M --rounds 5 --python PATH --json FILE]
//
// Every measurement is repeated `--rounds` times, ours and PyTorch's in turn, and the median is printed.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { crossEntropy } from '../dist/algorithms/index.js'
import { createRandom } from '../dist/core/index.js'
import { compile, createGraph, matmul } from '../dist/engine/index.js'
import { decoderConfigToJson, initializeWeights, parameterCount } from '../dist/models/index.js'
import { localPolicyFromWeights } from '../dist/policy/index.js'

const { values: flags } = parseArgs({
  options: {
    models: { type: 'string', default: '1M,4M,27M' },
    rounds: { type: 'string', default: '5' },
    python: { type: 'string', default: process.env.MYRIAD_PYTHON ?? 'python3' },
    json: { type: 'string' },
  },
})
const rounds = Number(flags.rounds)
const threads = os.availableParallelism()

/** Tokens of one training step, all of them targets; sequences of 128. */
const shape = { sequences: 32, length: 128 }
/** Prompts of 16 tokens, each continued by 64. */
const sampling = { sequences: 64, prompt: 16, reply: 64 }

const base = {
  modelType: 'llama',
  vocabularySize: 3072,
  contextLength: 512,
  rmsNormEpsilon: 1e-5,
  ropeTheta: 10000,
  tieEmbeddings: true,
  attentionBias: false,
  outputBias: false,
  mlpBias: false,
  queryKeyNorm: false,
}
const decoder = (hiddenSize, intermediateSize, layers, heads, vocabularySize = 3072) => ({
  ...base,
  vocabularySize,
  hiddenSize,
  intermediateSize,
  layers,
  heads,
  keyValueHeads: heads,
  headDimension: hiddenSize / heads,
})
const models = {
  '1M': decoder(128, 344, 4, 4),
  '4M': decoder(256, 688, 4, 4),
  '27M': decoder(512, 1376, 8, 8, 4096),
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const seconds = async (work) => {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

/** Products of 1024 x 1024 float32 matrices, one program a thread, all at once: floating-point operations a second. */
async function matrixRate() {
  const size = 1024
  const count = 8
  const programs = await Promise.all(
    Array.from({ length: threads }, async () => {
      const graph = createGraph()
      let product = graph.input('a', [size, size])
      for (let i = 0; i < count; i++) product = matmul(product, graph.parameter(`b${i}`, [size, size]))
      // A corner of the result: copying all of it out is no part of the product.
      const corner = matmul(matmul(graph.input('left', [1, size]), product), graph.input('right', [size, 1]))
      const program = await compile(graph, { outputs: { corner } })
      const matrix = () => ({ data: new Float32Array(size * size).fill(1 / size), shape: [size, size] })
      program.bind(Object.fromEntries(Array.from({ length: count }, (_, i) => [`b${i}`, matrix()])))
      program.bind({
        a: matrix(),
        left: { data: new Float32Array(size).fill(1), shape: [1, size] },
        right: { data: new Float32Array(size).fill(1), shape: [size, 1] },
      })
      return program
    }),
  )
  const once = () => Promise.all(programs.map((program) => program.run({})))
  await once()
  const times = []
  for (let i = 0; i < 5; i++) times.push(await seconds(once))
  await Promise.all(programs.map((program) => program.close()))
  return (2 * size ** 3 * count * threads) / Math.min(...times)
}

/** Operations of forward and backward: 6 a weight and token, and the attention products of causal rows in full. */
function trainingOperations(config) {
  const tokens = shape.sequences * shape.length
  const attention = 12 * config.layers * config.hiddenSize * shape.length
  return tokens * (6 * parameterCount(config) + attention)
}

function trainingBatch(config) {
  const random = createRandom(1)
  return Array.from({ length: shape.sequences }, () => ({
    tokens: Array.from({ length: shape.length }, () => random.integer(0, config.vocabularySize - 1)),
    mask: new Uint8Array(shape.length).fill(1, 1),
    logprobs: new Float32Array(shape.length),
    advantages: new Float32Array(shape.length).fill(1),
    weights: new Float32Array(shape.length).fill(1 / (shape.sequences * shape.length)),
  }))
}

function ours(config) {
  const policy = localPolicyFromWeights(config, initializeWeights(config, 1), {
    workers: threads,
    slots: Math.ceil(sampling.sequences / threads),
    rowLength: shape.length,
    tokenBudget: 2048,
  })
  const batch = trainingBatch(config)
  const random = createRandom(2)
  let calls = 0
  const requests = () =>
    Array.from({ length: sampling.sequences }, (_, i) => ({
      id: `${i}`,
      tokens: Array.from({ length: sampling.prompt }, () => random.integer(0, config.vocabularySize - 1)),
      maxTokens: sampling.reply,
      seed: calls++,
    }))
  return {
    train: () => seconds(() => policy.update(batch, { loss: crossEntropy(), learningRate: 1e-4 })),
    sample: () => seconds(() => policy.sample(requests())),
    memory: async () => process.memoryUsage().rss,
    close: () => policy.close(),
  }
}

/** PyTorch in a process of its own, which answers one line a command. Null where it cannot be started. */
async function torch(config) {
  const script = new URL('./torch_bench.py', import.meta.url).pathname
  const child = spawn(flags.python, [script], { stdio: ['pipe', 'pipe', 'pipe'] })
  let complaint = ''
  child.stderr.on('data', (data) => (complaint += data))
  child.on('error', (error) => (complaint += error.message))
  child.stdin.on('error', () => {})
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async (command) => {
    child.stdin.write(`${JSON.stringify(command)}\n`)
    const { value, done } = await lines.next()
    return done ? null : JSON.parse(value)
  }
  const opened = await ask({ command: 'open', config: decoderConfigToJson(config), shape, sampling, threads })
  if (opened === null) return { missing: complaint.trim().split('\n').at(-1) }
  return {
    versions: opened.versions,
    train: async () => (await ask({ command: 'train' })).seconds,
    sample: async () => (await ask({ command: 'sample' })).seconds,
    memory: async () => (await ask({ command: 'memory' })).bytes,
    close: async () => child.stdin.end(),
  }
}

const machine = { processor: os.cpus()[0].model, threads, node: process.version }
console.log(`${machine.processor}, ${threads} threads, Node ${machine.node}`)
const results = { date: new Date().toISOString().slice(0, 10), machine, models: {} }
let missing
for (const name of flags.models.split(',')) {
  const config = models[name]
  if (!config) throw new Error(`there is no model "${name}"; there are ${Object.keys(models).join(', ')}`)
  const rates = [await matrixRate()]
  const own = ours(config)
  const peer = await torch(config)
  missing ??= peer.missing
  const times = { own: { train: [], sample: [] }, peer: { train: [], sample: [] } }
  for (let round = 0; round <= rounds; round++) {
    for (const kind of ['train', 'sample']) {
      const mine = await own[kind]()
      const theirs = peer.missing ? undefined : await peer[kind]()
      if (round === 0) continue // the first builds programs and fills caches
      times.own[kind].push(mine)
      if (theirs !== undefined) times.peer[kind].push(theirs)
    }
    rates.push(await matrixRate())
  }
  const trained = shape.sequences * shape.length
  const sampled = sampling.sequences * sampling.reply
  const rate = median(rates)
  const figures = async (side, { train, sample }) => ({
    trainTokensPerSecond: trained / median(train),
    sampleTokensPerSecond: sampled / median(sample),
    shareOfMatrixRate: trainingOperations(config) / median(train) / rate,
    memoryBytes: await side.memory(),
  })
  const result = {
    parameters: parameterCount(config),
    matrixRate: rate,
    myriad: await figures(own, times.own),
    pytorch: peer.missing ? null : { ...(await figures(peer, times.peer)), versions: peer.versions },
    times,
  }
  results.models[name] = result
  await own.close()
  if (!peer.missing) await peer.close()
  console.log(
    `\n${name}: ${(result.parameters / 1e6).toFixed(2)}M parameters; matrix products ${(rate / 1e9).toFixed(0)} GFLOP/s`,
  )
  for (const [side, f] of Object.entries({ myriad: result.myriad, pytorch: result.pytorch }))
    if (f)
      console.log(
        `  ${side.padEnd(8)} training ${f.trainTokensPerSecond.toFixed(0).padStart(7)} tokens/s ` +
          `(${f.shareOfMatrixRate.toFixed(2)} of the matrix-product rate)   ` +
          `sampling ${f.sampleTokensPerSecond.toFixed(0).padStart(7)} tokens/s   memory ${(f.memoryBytes / 2 ** 20).toFixed(0)} MiB`,
      )
  if (result.pytorch)
    console.log(
      `  myriad / pytorch: training ${(result.myriad.trainTokensPerSecond / result.pytorch.trainTokensPerSecond).toFixed(2)}, ` +
        `sampling ${(result.myriad.sampleTokensPerSecond / result.pytorch.sampleTokensPerSecond).toFixed(2)}`,
    )
}
if (missing !== undefined)
  console.log(`\nPyTorch was not measured (${missing}); benchmarks/README.md says how to get it.`)
if (flags.json) writeFileSync(flags.json, `${JSON.stringify(results, null, 2)}\n`)
