// Writes the tables of a result of bench.mjs into docs/performance.md, between its two markers.
//
//   node benchmarks/table.mjs [RESULTS.json]
import { readFileSync, writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { tolerated } from './quiet.mjs'
import { median } from './turns.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const file = process.argv[2] ?? resolve(root, 'benchmarks/results/bench.json')
const page = resolve(root, 'docs/performance.md')
const results = JSON.parse(readFileSync(file, 'utf8'))

const measured = (side) => side !== undefined && side.missing === undefined
const seconds = (side) => (measured(side) ? median(side.seconds) : NaN)
const rate = ({ tokens, sides }, name) => tokens / seconds(sides[name])
const shown = (value, digits = 0) => (Number.isFinite(value) ? value.toFixed(digits) : '–')
const memory = (side) => (measured(side) ? (side.memoryBytes / 2 ** 20).toFixed(0) : '–')
const division = ({ workers, threads }) => `${workers} × ${threads}`
const power = (value) => value.toExponential(1)

const missing = new Set()
function table(title, part, columns, row) {
  const rows = []
  for (const [model, { parts }] of Object.entries(results.models)) {
    const figures = parts[part]
    if (figures === undefined) continue
    for (const [side, { missing: why }] of Object.entries(figures.sides ?? {}))
      if (why !== undefined) missing.add(`- ${side}, ${part}, ${model}: not measured: ${why}`)
    rows.push([model, ...row(figures)])
  }
  if (rows.length === 0) return ''
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [
    `### ${title}`,
    '',
    line(['model', ...columns]),
    line(['', ...columns].map(() => '---')),
    ...rows.map(line),
    '',
  ].join('\n')
}

const { processor, threads, memoryBytes } = results.machine
const versions = Object.entries(results.versions).map(([name, version]) => `${name} ${version}`)
const all = Object.values(results.models).flatMap(({ parts }) => Object.values(parts))
const rounds = all.flatMap((part) => [part, part.train, part.sample].map((each) => each?.rounds ?? []).flat())
const dates = [...new Set(results.runs.map(({ date }) => date.slice(0, 10)))]
const commands = [...new Set(results.runs.map(({ command }) => `\`${command}\``))]
const source = relative(root, resolve(file))
const from = source.startsWith('..') ? '' : ` Raw times: [${source}](../${source}).`
const sides = all.flatMap((part) => [part, part.train, part.sample].flatMap((each) => Object.values(each?.sides ?? {})))
const disturbed = sides.some((side) => measured(side) && median(side.othersShare ?? []) > tolerated)
  ? ' **Others used the machine meanwhile: these figures are worth nothing.**'
  : ''
const range = [...new Set([Math.min(...rounds), Math.max(...rounds)])].join(' to ')

const trainingSides = ['myriad', 'PyTorch eager', 'PyTorch compiled']
const samplingSides = [
  'myriad',
  'myriad 8 bits',
  'myriad 4 bits',
  'myriad trained',
  'transformers',
  'llama.cpp F32',
  'llama.cpp F16',
  'batched-bench F32',
  'batched-bench F16',
]
const samplingHeads = ['Myriad', '8 bits', '4 bits', 'trained in full', ...samplingSides.slice(4)]

const text = [
  `${dates.join(', ')}; ${processor}, ${threads} processors, ${Math.round(memoryBytes / 2 ** 30)} GiB; ${versions.join(', ')}. Medians of ${range} turns, by ${commands.join(', ')}.${from}${disturbed}`,
  '',
  targets(),
  table(
    'Training, tokens/s',
    'train',
    ['workers × threads', 'Myriad', 'PyTorch eager', 'compiled', 'micro-batches', 'Myriad’s share of matrix rate'],
    (part) => [
      division(part.setting),
      ...trainingSides.map((side) => shown(rate(part, side))),
      part.torch.microBatches ?? '–',
      shown(part.operations / seconds(part.sides.myriad) / part.matrixRate, 2),
    ],
  ),
  table('Training, memory in MiB', 'train', ['Myriad', 'PyTorch eager', 'compiled'], ({ sides }) =>
    trainingSides.map((side) => memory(sides[side])),
  ),
  table('Sampling, tokens/s', 'sample', ['workers × threads', ...samplingHeads, 'cache of transformers'], (part) => [
    division(part.setting),
    ...samplingSides.map((side) => shown(rate(part, side))),
    part.torch.cache ?? '–',
  ]),
  table('Sampling, memory in MiB', 'sample', samplingHeads, ({ sides }) =>
    samplingSides.map((side) => memory(sides[side])),
  ),
  differences(),
  table(
    'One step of GRPO, seconds',
    'grpo',
    ['workers × threads', 'prompts × replies', 'Myriad', 'TRL', 'Myriad, MiB', 'TRL, MiB'],
    ({ setting, prompts, replies, sides }) => [
      division(setting),
      `${prompts} × ${replies}`,
      shown(seconds(sides.myriad), 2),
      shown(seconds(sides.TRL), 2),
      memory(sides.myriad),
      memory(sides.TRL),
    ],
  ),
  table(
    'A second replica, tokens/s',
    'parallel',
    ['training, 1 worker', '2 workers', 'sampling, 1 worker', '2 workers'],
    ({ train, sample }) =>
      [train, sample].flatMap((part) => ['1 worker', '2 workers'].map((side) => shown(rate(part, side)))),
  ),
  profiles(),
  [...missing].join('\n'),
].join('\n')

/** What was aimed at, how far it was reached, by model. */
function targets() {
  const times = (one, other) => (Number.isFinite(one / other) ? one / other : undefined)
  const rates = (part, sides) => (parts) => {
    const [one, other] = sides.map((side) => (parts[part] ? rate(parts[part], side) : NaN))
    return times(one, other)
  }
  const replica = (part) => (parts) =>
    parts.parallel && times(rate(parts.parallel[part], '2 workers'), rate(parts.parallel[part], '1 worker'))
  const aims = [
    ['training ÷ PyTorch eager', 1, rates('train', ['myriad', 'PyTorch eager'])],
    ['training ÷ PyTorch compiled', 1, rates('train', ['myriad', 'PyTorch compiled'])],
    ['sampling ÷ transformers', 3, rates('sample', ['myriad', 'transformers'])],
    ['sampling ÷ llama.cpp F32', 0.8, rates('sample', ['myriad', 'llama.cpp F32'])],
    ['sampling ÷ llama.cpp F16', 0.8, rates('sample', ['myriad', 'llama.cpp F16'])],
    ['sampling in 8 bits ÷ llama.cpp F16', undefined, rates('sample', ['myriad 8 bits', 'llama.cpp F16'])],
    ['sampling ÷ batched-bench F32, which draws nothing', undefined, rates('sample', ['myriad', 'batched-bench F32'])],
    ['sampling ÷ batched-bench F16, which draws nothing', undefined, rates('sample', ['myriad', 'batched-bench F16'])],
    ['GRPO: time of TRL ÷ ours', 2, ({ grpo }) => grpo && times(seconds(grpo.sides.TRL), seconds(grpo.sides.myriad))],
    ['training, 2 workers ÷ 1', 1.7, replica('train')],
    ['sampling, 2 workers ÷ 1', 1.7, replica('sample')],
  ]
  const models = Object.keys(results.models)
  const rows = aims.map(([what, aim, measure]) => {
    const cells = models.map((model) => {
      const value = measure(results.models[model].parts)
      if (value === undefined) return '–'
      // What rounds to the aim has not reached it.
      const text = (Math.floor(value * 100) / 100).toFixed(2)
      return aim !== undefined && value < aim ? `${text} (missed)` : text
    })
    return `| ${[what, aim?.toFixed(1) ?? '', ...cells].join(' | ')} |`
  })
  return [
    '### What was aimed at',
    '',
    `| ratio of speeds | at least | ${models.join(' | ')} |`,
    `| --- | --- | ${models.map(() => '---').join(' | ')} |`,
    ...rows,
    '',
  ].join('\n')
}

/** Operations of ONNX Runtime by their share of the time, on one thread. */
function profiles() {
  const percent = (share) => `${(share * 100).toFixed(0)}%`
  const rows = Object.entries(results.models).flatMap(([model, { parts }]) =>
    Object.entries(parts.profile ?? {})
      .filter(([, figure]) => figure?.operations !== undefined)
      .map(([command, { operations, outsideShare }]) => {
        const list = operations.slice(0, 8).map(({ name, share }) => `${name} ${percent(share)}`)
        return `| ${model} | ${command} | ${list.join(', ')} | ${percent(outsideShare)} |`
      }),
  )
  if (rows.length === 0) return ''
  const head = '| model | work | operations of ONNX Runtime | outside |'
  return ['### Where the time goes', '', head, '| --- | --- | --- | --- |', ...rows, ''].join('\n')
}

function differences() {
  const rows = Object.entries(results.models).flatMap(([model, { parts }]) =>
    Object.entries(parts.sample?.differences ?? {})
      .filter(([, figure]) => figure?.tokens !== undefined)
      .map(([what, { tokens, meanAbsoluteLogprobDifference, largestLogprobDifference, kl }]) => {
        const cells = [
          model,
          what,
          tokens,
          power(meanAbsoluteLogprobDifference),
          power(largestLogprobDifference),
          power(kl),
        ]
        return `| ${cells.join(' | ')} |`
      }),
  )
  if (rows.length === 0) return ''
  const head = '| shape | weights, sampled in | tokens | mean difference of logprobs | largest | KL, nats a token |'
  return ['### What fewer bits change', '', head, '| --- | --- | --- | --- | --- | --- |', ...rows, ''].join('\n')
}

const whole = readFileSync(page, 'utf8')
const parts = /^([^]*<!-- table -->\n)[^]*(<!-- \/table -->[^]*)$/.exec(whole)
if (parts === null) throw new Error(`${page} has no <!-- table --> ... <!-- /table -->`)
const formatted = await format(`${parts[1]}\n${text}\n${parts[2]}`, { ...(await resolveConfig(page)), filepath: page })
writeFileSync(page, formatted)
