// Where Myriad's time goes: ONNX Runtime's profile of one training step and one round of sampling, on one thread.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openSide } from './side.mjs'

const turns = 3

/** By command: operations by their share of the time, and the share that is spent outside ONNX Runtime. */
export async function profile(name, { tokenBudget }, context) {
  const measured = {}
  for (const command of ['train', 'sample']) {
    const folder = join(context.scratch, `profile-${name}-${command}`)
    mkdirSync(folder)
    const hook = new URL('profile-hook.mjs', import.meta.url).href
    const side = await openSide(
      'myriad',
      { name, setting: { workers: 1, threads: 1, tokenBudget }, frozen: command === 'sample' },
      { ...context, node: ['--import', hook], environment: { MYRIAD_PROFILE: folder } },
    )
    let last
    for (let i = 0; i < turns; i++) last = await side.ask(command)
    await side.ask('end')
    measured[command] = side.missing ? { missing: side.missing } : { seconds: last.seconds, ...summary(folder, last) }
    await side.close()
    rmSync(folder, { recursive: true })
  }
  return measured
}

function summary(folder, { seconds }) {
  const operations = new Map()
  const shapes = new Map()
  let inside = 0
  let runs = 0
  for (const file of readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.json'))) {
    const events = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const all = events.filter((event) => event.name === 'model_run').sort((a, b) => a.ts - b.ts)
    // Every turn runs a program as often as the one before; the last turn is the one that counts.
    const own = all.slice(all.length - Math.floor(all.length / turns))
    if (own.length === 0) continue
    runs += own.length
    inside += own.reduce((sum, { dur }) => sum + dur, 0)
    for (const { cat, name, ts, dur, args } of events) {
      if (cat !== 'Node' || !name.endsWith('_kernel_time') || ts < own[0].ts) continue
      add(operations, args.op_name, dur)
      const inputs = (args.input_type_shape ?? []).map((each) => Object.values(each)[0].join(' '))
      add(shapes, `${args.op_name} ${inputs.map((shape) => `[${shape}]`).join(' ')}`, dur)
    }
  }
  const ranked = (table, count) =>
    [...table]
      .map(([name, microseconds]) => ({ name, share: microseconds / 1e6 / seconds }))
      .sort((a, b) => b.share - a.share)
      .slice(0, count)
  return {
    runs,
    outsideShare: 1 - inside / 1e6 / seconds,
    operations: ranked(operations, 12),
    largest: ranked(shapes, 12),
  }
}

const add = (table, key, value) => table.set(key, (table.get(key) ?? 0) + value)
