// Myriad beside PyTorch, TRL and llama.cpp on the same work, as docs/performance.md tells.
//
//   npm run bench [-- --models 1M,4M,27M,135M --parts train,sample,grpo,parallel --rounds 3
//                     --python PATH --llama FOLDER --json FILE]
//
// Every side is a process of its own. The sides of a part take turns, `--rounds` times after a first turn that is not counted,
// and the median counts. With --json every part is written when it is measured, and what the file already has is not measured again.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { decoderConfigToJson, initializeWeights, parameterCount, writeCheckpoint } from '../dist/models/index.js'
import { matrixRate } from './matrix-rate.mjs'
import { models, prompts } from './shapes.mjs'
import { openSide } from './side.mjs'

const { values: flags } = parseArgs({
  options: {
    models: { type: 'string', default: Object.keys(models).join() },
    parts: { type: 'string', default: 'train,sample,grpo,parallel' },
    rounds: { type: 'string', default: '3' },
    python: { type: 'string', default: process.env.MYRIAD_PYTHON ?? 'python3' },
    llama: { type: 'string' },
    json: { type: 'string' },
  },
})
const rounds = Number(flags.rounds)
const threads = os.availableParallelism()
const root = fileURLToPath(new URL('..', import.meta.url))
const scratch = mkdtempSync(join(os.tmpdir(), 'myriad-bench-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const open = (kind, opening, options) => openSide(kind, opening, { python: flags.python, ...options })

/** The sides take turns at one command. Answers, by side, its times and memory; or why it is missing. */
async function alternate(sides, command) {
  const figures = Object.fromEntries(Object.keys(sides).map((name) => [name, { seconds: [] }]))
  for (let round = 0; round <= rounds; round++)
    for (const [name, side] of Object.entries(sides)) {
      await setTimeout(300) // until the threads of the one before have stopped spinning
      const answer = await side.ask(command)
      if (answer === null) continue
      // The first builds programs and fills caches.
      if (round === 0) figures[name].firstSeconds = answer.seconds
      else figures[name].seconds.push(answer.seconds)
    }
  for (const [name, side] of Object.entries(sides)) {
    if (!side.missing) figures[name].memoryBytes = (await side.ask('memory')).bytes
    if (side.missing) figures[name] = { missing: side.missing }
    Object.assign(results.versions, side.opened?.versions)
  }
  return figures
}

async function closeAll(sides) {
  for (const side of Object.values(sides)) await side.close()
}

const torchOpening = ({ config, training, sampling, setting }) => ({
  config: decoderConfigToJson(config),
  training,
  sampling,
  threads,
  parts: Math.max(1, (training.sequences * training.length) / setting.tokenBudget),
})

/** Operations of forward and backward: 6 a weight and token, and the attention products of causal rows in full. */
function trainingOperations({ config, training }) {
  const attention = 12 * config.layers * config.heads * config.headDimension * training.length
  return training.sequences * training.length * (6 * parameterCount(config) + attention)
}

async function train(name, model) {
  const { setting, training } = model
  const rates = [await matrixRate(threads)]
  const sides = {
    myriad: await open('myriad', { name, setting }),
    'PyTorch eager': await open('torch', torchOpening(model)),
    'PyTorch compiled': await open('torch', { ...torchOpening(model), compile: true }, { seconds: 1800 }),
  }
  const figures = await alternate(sides, 'train')
  await closeAll(sides)
  rates.push(await matrixRate(threads))
  return {
    setting,
    tokens: training.sequences * training.length,
    operations: trainingOperations(model),
    matrixRate: Math.max(...rates),
    matrixRates: rates,
    sides: figures,
  }
}

async function sample(name, model) {
  const { sampling, setting } = model
  const { tokenBudget } = setting
  const divisions = [
    { workers: threads, threads: 1, tokenBudget },
    { workers: 1, threads, tokenBudget },
  ]
  const trial = []
  const candidates = []
  for (const division of divisions) candidates.push(await open('myriad', { name, setting: division, frozen: true }))
  for (let round = 0; round < 3; round++)
    for (const [i, candidate] of candidates.entries())
      (trial[i] ??= []).push((await candidate.ask('sample'))?.seconds ?? Infinity)
  const best = (i) => Math.min(...trial[i].slice(1))
  const chosen = best(0) <= best(1) ? 0 : 1
  const division = divisions[chosen]
  await candidates[1 - chosen].close()
  const sides = {
    myriad: candidates[chosen],
    'myriad 8 bits': await open('myriad', { name, setting: division, frozen: true, samplingBits: 8 }),
    'myriad trained': await open('myriad', { name, setting: division }),
    transformers: await open('torch', torchOpening(model)),
    'llama.cpp F32': await openLlama(model, 'F32'),
    'llama.cpp F16': await openLlama(model, 'F16'),
  }
  const figures = await alternate(sides, 'sample')
  const differences = {
    'random weights, float32': await sides.myriad.ask('difference'),
    'random weights, 8 bits': await sides['myriad 8 bits'].ask('difference'),
  }
  await closeAll(sides)
  // Random weights are nearly uniform and say little: the models that come with the repository say more.
  const real = { '1M': 'models/base', '135M': 'models/smollm2-135m-instruct' }[name]
  if (real !== undefined && existsSync(join(root, real))) {
    const folder = join(root, real)
    for (const [label, samplingBits] of [
      ['float32', undefined],
      ['8 bits', 8],
    ]) {
      // prettier-ignore
      const side = await open('myriad', { name, folder, setting: division, frozen: true, samplingBits, texts: prompts })
      differences[`${real}, ${label}`] = (await side.ask('difference')) ?? { missing: side.missing }
      await side.close()
    }
  }
  return {
    setting: division,
    trial: divisions.map((each, i) => ({ ...each, seconds: trial[i] })),
    tokens: sampling.sequences * sampling.reply,
    sides: figures,
    differences,
  }
}

async function openLlama({ config, sampling }, kind) {
  const absent = (missing) => ({ missing, ask: async () => null, close: async () => {} })
  if (flags.llama === undefined) return absent('no --llama FOLDER with node-llama-cpp was given')
  const file = join(scratch, `${kind}.gguf`)
  const json = JSON.stringify(decoderConfigToJson(config))
  try {
    execFileSync(flags.python, [join(root, 'benchmarks', 'write_gguf.py'), json, file, kind], { stdio: 'pipe' })
  } catch (error) {
    return absent(
      `no GGUF file: ${String(error.stderr ?? error.message)
        .trim()
        .split('\n')
        .at(-1)}`,
    )
  }
  return open('llama', { llama: flags.llama, file, sampling, threads, vocabulary: config.vocabularySize })
}

async function grpo(name, model) {
  const { config, setting } = model
  const folder = join(scratch, `grpo-${name}`)
  writeCheckpoint(folder, config, initializeWeights(config, 1))
  for (const file of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    copyFileSync(join(root, 'models', 'base', file), join(folder, file))
  const texts = prompts.slice(0, model.grpo.prompts)
  const sides = {
    myriad: await open('myriad', { name, folder, setting, texts }),
    TRL: await open('trl', { folder, grpo: model.grpo, prompts: texts, threads }),
  }
  const lengths = await sides.myriad.ask('lengths')
  const figures = await alternate(sides, 'grpo')
  await closeAll(sides)
  rmSync(folder, { recursive: true })
  return { setting, ...model.grpo, promptTokens: lengths?.lengths, sides: figures }
}

async function parallel(name, model) {
  const { training, sampling, setting } = model
  const { tokenBudget } = setting
  const sides = {
    '1 worker': await open('myriad', { name, setting: { workers: 1, threads: 1, tokenBudget } }),
    '2 workers': await open('myriad', { name, setting: { workers: 2, threads: 1, tokenBudget } }),
  }
  const trained = await alternate(sides, 'train')
  const sampled = await alternate(sides, 'sample')
  await closeAll(sides)
  return {
    train: { tokens: training.sequences * training.length, sides: trained },
    sample: { tokens: sampling.sequences * sampling.reply, sides: sampled },
  }
}

const parts = { train, sample, grpo, parallel }

function store() {
  if (flags.json) writeFileSync(flags.json, `${JSON.stringify(results, null, 2)}\n`)
}

function print(part, measured) {
  const rows = part === 'parallel' ? Object.entries(measured) : [[part, measured]]
  for (const [kind, { sides, tokens }] of rows)
    for (const [side, { missing, seconds, memoryBytes }] of Object.entries(sides)) {
      const label = `  ${kind.padEnd(7)} ${side.padEnd(17)}`
      if (missing !== undefined) {
        console.log(`${label} not measured: ${missing}`)
        continue
      }
      const time = median(seconds)
      const rate = tokens === undefined ? '' : `${(tokens / time).toFixed(0).padStart(7)} tokens/s`
      console.log(
        `${label} ${time.toFixed(3).padStart(8)} s ${rate} ${(memoryBytes / 2 ** 20).toFixed(0).padStart(6)} MiB`,
      )
    }
  for (const [what, figure] of Object.entries(measured.differences ?? {}))
    if (figure?.tokens)
      console.log(
        `  ${what}: mean |logprob difference| ${figure.meanAbsoluteLogprobDifference.toExponential(1)}, KL ${figure.kl.toExponential(1)}`,
      )
}

const ort = JSON.parse(readFileSync(join(root, 'node_modules', 'onnxruntime-node', 'package.json'), 'utf8')).version
const machine = {
  processor: os.cpus()[0].model,
  threads,
  memoryBytes: os.totalmem(),
  system: `${os.type()} ${os.release()}`,
}
let results = { runs: [], machine, versions: {}, models: {} }
if (flags.json && existsSync(flags.json)) {
  results = JSON.parse(readFileSync(flags.json, 'utf8'))
  if (results.machine.processor !== machine.processor || results.machine.threads !== threads)
    throw new Error(`${flags.json} is of another machine: give another file`)
}
// Where things lie on this machine is nobody's business.
const told = process.argv.slice(2).map((word) => (word.startsWith('/') ? basename(word) : word))
results.runs.push({ date: new Date().toISOString(), command: ['npm run bench --', ...told].join(' ') })
Object.assign(results.versions, { node: process.version.slice(1), 'onnxruntime-node': ort })
console.log(`${machine.processor}, ${threads} threads, Node ${process.version}, ONNX Runtime ${ort}`)

for (const name of flags.models.split(',')) {
  const model = models[name]
  if (!model) throw new Error(`there is no model "${name}"; there are ${Object.keys(models).join(', ')}`)
  const result = (results.models[name] ??= { parameters: parameterCount(model.config), parts: {} })
  console.log(`\n${name}: ${(result.parameters / 1e6).toFixed(2)}M parameters`)
  for (const part of flags.parts.split(',')) {
    if (!Object.hasOwn(parts, part))
      throw new Error(`there is no part "${part}"; there are ${Object.keys(parts).join(', ')}`)
    if (result.parts[part]) {
      console.log(`  ${part}: already in ${flags.json}, not measured again`)
      continue
    }
    const start = performance.now()
    const measured = await parts[part](name, model)
    result.parts[part] = { rounds, tookSeconds: Math.round((performance.now() - start) / 1000), ...measured }
    store()
    print(part, measured)
  }
}
