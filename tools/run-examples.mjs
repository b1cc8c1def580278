// Runs every example from an empty folder, as its reader would, and checks that the model learned: success at temperature 1
// on withheld problems must rise by at least ten points. Usage: node tools/run-examples.mjs FOLDER [example ...]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const myriad = join(root, 'dist', 'cli', 'main.js')
const [folder = 'runs/examples', ...wanted] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })

/** The command line of each example, given its run folder. */
const examples = {
  'my-task': (out) => [myriad, 'train', join(root, 'examples/my-task/config.json'), '--out', out],
  'from-code': (out) => ['--import', 'myriad-rl/typescript', join(root, 'examples/from-code/train.ts'), out],
  'tool-task': (out) => [myriad, 'train', join(root, 'examples/tool-task/config.json'), '--out', out],
}

let failed = false
for (const [name, command] of Object.entries(examples)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const out = resolve(folder, name)
  const began = Date.now()
  const run = spawnSync(process.execPath, command(out), {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const problem =
    run.status === 0 ? problemWith(out) : `exit code ${run.status ?? run.signal}\n${run.stdout}${run.stderr}`
  const seconds = ((Date.now() - began) / 1000).toFixed(1)
  console.log(
    `${problem === null ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)${problem === null ? ` ${gain(out)}` : `: ${problem}`}`,
  )
  failed ||= problem !== null
}
process.exit(failed ? 1 : 0)

function successes(out) {
  const { evaluation } = JSON.parse(readFileSync(join(out, 'summary.json'), 'utf8'))
  const of = (rows) => rows.find((row) => row.decoding === 'sampled').success
  return [of(evaluation.aggregates.before.overall), of(evaluation.aggregates.after.overall)]
}

function gain(out) {
  return successes(out)
    .map((share) => `${Math.round(share * 100)}%`)
    .join(' -> ')
}

function problemWith(out) {
  if (!existsSync(join(out, 'report.html'))) return 'there is no report.html'
  const [before, after] = successes(out)
  return after >= before + 0.1 ? null : `success went from ${gain(out)}: less than ten points`
}
