// Myriad beside PyTorch, TRL and llama.cpp on the same work, as docs/performance.md tells.
//
//   npm run bench [-- --models 1M,4M,27M,135M --parts train,sample,grpo,parallel,profile --rounds 5 --minutes 10
//                     --python PATH --llama FOLDER --batched-bench PATH --json FILE --again]
//
// Every part is written to --json when it is measured; what the file already has is not measured again, unless --again.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parameterCount } from '../dist/models/index.js'
import { parts } from './parts.mjs'
import { describe } from './print.mjs'
import { quiet, tolerated } from './quiet.mjs'
import { models } from './shapes.mjs'
import { stopAll } from './side.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values: flags } = parseArgs({
  options: {
    models: { type: 'string', default: Object.keys(models).join() },
    parts: { type: 'string', default: Object.keys(parts).join() },
    rounds: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '10' },
    python: { type: 'string', default: process.env.MYRIAD_PYTHON ?? 'python3' },
    llama: { type: 'string', default: join(root, 'benchmarks') },
    'batched-bench': { type: 'string' },
    json: { type: 'string', default: join(root, 'benchmarks', 'results', 'bench.json') },
    again: { type: 'boolean', default: false },
  },
})
const numbers = { rounds: Number(flags.rounds), minutes: Number(flags.minutes) }
if (!Number.isInteger(numbers.rounds) || numbers.rounds < 1) throw new Error('--rounds: give a whole number above 0')
if (!(numbers.minutes > 0)) throw new Error('--minutes: give a number above 0')
const chosen = (flag, table) =>
  flags[flag].split(',').map((name) => {
    if (!Object.hasOwn(table, name))
      throw new Error(`--${flag}: there is no "${name}"; there are ${Object.keys(table).join(', ')}`)
    return name
  })
const [modelNames, partNames] = [chosen('models', models), chosen('parts', parts)]

const scratch = mkdtempSync(join(os.tmpdir(), 'myriad-bench-'))
process.on('exit', () => {
  stopAll()
  rmSync(scratch, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

const ort = JSON.parse(readFileSync(join(root, 'node_modules', 'onnxruntime-node', 'package.json'), 'utf8')).version
const machine = {
  processor: os.cpus()[0].model,
  threads: os.availableParallelism(),
  memoryBytes: os.totalmem(),
  system: `${os.type()} ${os.release()}`,
}
const results = openResults()
// Where things lie on this machine is nobody's business.
const told = process.argv.slice(2).map((word) => (word.startsWith('/') ? basename(word) : word))
const run = { date: new Date().toISOString(), command: ['npm run bench --', ...told].join(' ').replace(/ --$/, '') }
Object.assign(results.versions, { node: process.version.slice(1), 'onnxruntime-node': ort })
console.log(`${machine.processor}, ${machine.threads} threads, Node ${process.version}, ONNX Runtime ${ort}`)

const context = {
  ...numbers,
  root,
  scratch,
  threads: machine.threads,
  python: flags.python,
  llama: flags.llama,
  batchedBench: flags['batched-bench'],
  versions: results.versions,
}
for (const name of modelNames) {
  const parameters = parameterCount(models[name].config)
  const result = (results.models[name] ??= { parameters, parts: {} })
  console.log(`\n${name}: ${(parameters / 1e6).toFixed(2)}M parameters`)
  for (const part of partNames) {
    if (result.parts[part] && !flags.again) {
      console.log(`  ${part}: already in ${basename(flags.json)}, not measured again`)
      continue
    }
    const othersBefore = await quiet()
    if (othersBefore > tolerated)
      console.log(`  ${part}: others use ${(othersBefore * 100).toFixed(0)}% of the machine`)
    const start = performance.now()
    const measured = await parts[part](name, models[name], context)
    const tookSeconds = Math.round((performance.now() - start) / 1000)
    result.parts[part] = { date: run.date, tookSeconds, ...measured }
    store()
    for (const line of describe(part, measured)) console.log(`  ${line}`)
  }
}

function openResults() {
  if (!existsSync(flags.json)) return { runs: [], machine, versions: {}, models: {} }
  const stored = JSON.parse(readFileSync(flags.json, 'utf8'))
  if (!Array.isArray(stored.runs)) throw new Error(`${flags.json} is no result of this program: give another file`)
  if (stored.machine.processor !== machine.processor || stored.machine.threads !== machine.threads)
    throw new Error(`${flags.json} is of another machine: give another file`)
  return stored
}

/** The run is told of once it has measured something. A killed run leaves the file whole. */
function store() {
  if (!results.runs.includes(run)) results.runs.push(run)
  mkdirSync(dirname(flags.json), { recursive: true })
  const half = `${flags.json}.part`
  writeFileSync(half, `${JSON.stringify(results, null, 2)}\n`)
  renameSync(half, flags.json)
}
