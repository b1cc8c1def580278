/**
 * Sentence scores a second, ours and sacreBLEU's, on the same pairs in turn: node benchmarks/string-metrics.mjs [--python PATH].
 * Each round's texts are new (a word is added), as a policy's are: neither side may remember a whole text.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { sentenceBleu, sentenceChrf } from '../dist/rewards/index.js'

const { values } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    rounds: { type: 'string', default: '5' },
    out: { type: 'string', default: new URL('results/string-metrics.json', import.meta.url).pathname },
  },
})
const rounds = Number(values.rounds)
const fixture = new URL('../src/rewards/strings/pairs.fixture.json', import.meta.url)
const pairs = JSON.parse(readFileSync(fixture, 'utf8')).rows.map(({ hypothesis, reference }) => [hypothesis, reference])

/** A text as one piece of memory, as decoded replies are. */
const flat = (text) => Buffer.from(text, 'utf16le').toString('utf16le')

const metrics = {
  bleu: (hypothesis, reference) => sentenceBleu(hypothesis, [reference]),
  chrf: (hypothesis, reference) => sentenceChrf(hypothesis, [reference]),
  'chrf++': (hypothesis, reference) => sentenceChrf(hypothesis, [reference], { wordOrder: 2 }),
}
const peer = `
import json, sys, time
from sacrebleu.metrics import BLEU, CHRF
import sacrebleu
metrics = {"bleu": BLEU(effective_order=True), "chrf": CHRF(), "chrf++": CHRF(word_order=2)}
job = json.load(sys.stdin)
rates = {}
for name, metric in metrics.items():
    texts = [(h + " w" + str(job["round"]) + name[-1], [r + " w" + str(job["round"])]) for h, r in job["pairs"]]
    start = time.perf_counter()
    for hypothesis, references in texts:
        metric.sentence_score(hypothesis, references)
    rates[name] = len(texts) / (time.perf_counter() - start)
print(json.dumps({"version": sacrebleu.__version__, "rates": rates}))
`

const samples = Object.fromEntries(Object.keys(metrics).map((name) => [name, { ours: [], sacrebleu: [] }]))
let version
for (let round = 0; round < rounds; round++) {
  for (const [name, score] of Object.entries(metrics)) {
    // 40 passes, as one takes milliseconds only; each on texts of its own.
    const passes = 40
    let seconds = 0
    for (let pass = 0; pass < passes; pass++) {
      const texts = pairs.map(([h, r]) => [flat(`${h} w${round}${pass}${name.at(-1)}`), flat(`${r} w${round}${pass}`)])
      const start = performance.now()
      for (const [hypothesis, reference] of texts) score(hypothesis, reference)
      seconds += (performance.now() - start) / 1000
    }
    samples[name].ours.push((passes * pairs.length) / seconds)
  }
  const answer = JSON.parse(
    execFileSync(values.python, ['-c', peer], { input: JSON.stringify({ round, pairs }), encoding: 'utf8' }),
  )
  version = answer.version
  for (const name of Object.keys(metrics)) samples[name].sacrebleu.push(answer.rates[name])
}

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]
const result = {
  command: 'node benchmarks/string-metrics.mjs',
  machine: `${cpus()[0].model}, ${cpus().length} cores, one used`,
  versions: { node: process.version, sacrebleu: version },
  pairs: pairs.length,
  rounds,
  scoresPerSecond: Object.fromEntries(
    Object.entries(samples).map(([name, { ours, sacrebleu }]) => [
      name,
      {
        ours: Math.round(median(ours)),
        sacrebleu: Math.round(median(sacrebleu)),
        ratio: Number((median(ours) / median(sacrebleu)).toFixed(1)),
      },
    ]),
  ),
}
writeFileSync(values.out, `${JSON.stringify(result, null, 2)}\n`)
console.log(JSON.stringify(result.scoresPerSecond, null, 2))
