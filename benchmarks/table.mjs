// Writes the tables of a result of bench.mjs into docs/performance.md, between its two markers.
//
//   node benchmarks/table.mjs RESULTS.json
import { readFileSync, writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'

const file = process.argv[2]
if (file === undefined) throw new Error('usage: node benchmarks/table.mjs RESULTS.json')
const root = fileURLToPath(new URL('..', import.meta.url))
const page = resolve(root, 'docs/performance.md')
const results = JSON.parse(readFileSync(file, 'utf8'))

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const measured = (side) => side !== undefined && side.missing === undefined
const seconds = (side) => (measured(side) ? median(side.seconds) : NaN)
const rate = ({ tokens, sides }, name) => tokens / seconds(sides[name])
const shown = (value, digits = 0) => (Number.isFinite(value) ? value.toFixed(digits) : '–')
const ratio = (ours, theirs) => shown(ours / theirs, 2)
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

const { processor, threads } = results.machine
const versions = Object.entries(results.versions).map(([name, version]) => `${name} ${version}`)
const dates = [...new Set(results.runs.map(({ date }) => date.slice(0, 10)))]
const source = relative(root, resolve(file))
const from = source.startsWith('..') ? '' : ` Raw times: [${source}](../${source}).`
const rounds = [
  ...new Set(Object.values(results.models).flatMap(({ parts }) => Object.values(parts).map((p) => p.rounds))),
]

const text = [
  `${dates.join(', ')}; ${processor}, ${threads} processors; ${versions.join(', ')}. Medians of ${rounds.join(' or ')} turns.${from}`,
  '',
  table(
    'Training',
    'train',
    [
      'Myriad, tokens/s',
      'PyTorch eager',
      'PyTorch compiled',
      '÷ eager',
      '÷ compiled',
      'share of matrix rate',
      'MiB',
      'eager',
      'compiled',
    ],
    (part) => {
      const [ours, eager, compiled] = ['myriad', 'PyTorch eager', 'PyTorch compiled'].map((side) => rate(part, side))
      const share = part.operations / seconds(part.sides.myriad) / part.matrixRate
      const { myriad, 'PyTorch eager': eagerSide, 'PyTorch compiled': compiledSide } = part.sides
      return [
        shown(ours),
        shown(eager),
        shown(compiled),
        ratio(ours, eager),
        ratio(ours, compiled),
        shown(share, 2),
        ...[myriad, eagerSide, compiledSide].map(memory),
      ]
    },
  ),
  table(
    'Sampling',
    'sample',
    [
      'workers × threads',
      'Myriad, tokens/s',
      '8 bits',
      'trained in full',
      'transformers',
      'llama.cpp F32',
      'llama.cpp F16',
      '÷ transformers',
      '÷ llama.cpp F32',
      '8 bits ÷ llama.cpp F16',
    ],
    (part) => {
      const of = (side) => rate(part, side)
      return [
        division(part.setting),
        ...['myriad', 'myriad 8 bits', 'myriad trained', 'transformers', 'llama.cpp F32', 'llama.cpp F16'].map((side) =>
          shown(of(side)),
        ),
        ratio(of('myriad'), of('transformers')),
        ratio(of('myriad'), of('llama.cpp F32')),
        ratio(of('myriad 8 bits'), of('llama.cpp F16')),
      ]
    },
  ),
  table(
    'Memory of sampling, MiB',
    'sample',
    ['Myriad', '8 bits', 'trained in full', 'transformers', 'llama.cpp F32', 'llama.cpp F16'],
    ({ sides }) =>
      ['myriad', 'myriad 8 bits', 'myriad trained', 'transformers', 'llama.cpp F32', 'llama.cpp F16'].map((side) =>
        memory(sides[side]),
      ),
  ),
  differences(),
  table(
    'One step of GRPO',
    'grpo',
    ['prompts × replies', 'Myriad, s', 'TRL, s', 'TRL ÷ Myriad', 'MiB', 'TRL, MiB'],
    ({ prompts, replies, sides }) => [
      `${prompts} × ${replies}`,
      shown(seconds(sides.myriad), 2),
      shown(seconds(sides.TRL), 2),
      ratio(seconds(sides.TRL), seconds(sides.myriad)),
      memory(sides.myriad),
      memory(sides.TRL),
    ],
  ),
  table(
    'A second replica',
    'parallel',
    ['training, 1 worker, tokens/s', '2 workers', '÷', 'sampling, 1 worker', '2 workers', '÷'],
    ({ train, sample }) =>
      [train, sample].flatMap((part) => {
        const [one, two] = ['1 worker', '2 workers'].map((side) => rate(part, side))
        return [shown(one), shown(two), ratio(two, one)]
      }),
  ),
  [...missing].join('\n'),
].join('\n')

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
  return ['### What 8 bits change', '', head, '| --- | --- | --- | --- | --- | --- |', ...rows, ''].join('\n')
}

const whole = readFileSync(page, 'utf8')
const parts = /^([^]*<!-- table -->\n)[^]*(<!-- \/table -->[^]*)$/.exec(whole)
if (parts === null) throw new Error(`${page} has no <!-- table --> ... <!-- /table -->`)
const formatted = await format(`${parts[1]}\n${text}\n${parts[2]}`, { ...(await resolveConfig(page)), filepath: page })
writeFileSync(page, formatted)
