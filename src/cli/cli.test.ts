import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { listTasks } from '../tasks/index.js'
import { runCommandLine } from './program.js'
import { myriad, Screen, startMyriad, writeTinyModel } from './testing.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-cli-'))
const model = join(folder, 'model')
const configFile = join(folder, 'tiny.json')
const config = {
  name: 'tiny',
  model: './model',
  tasks: [{ id: 'sort', languages: ['en'], difficulty: [0, 0] }],
  steps: 2,
  groupsPerStep: 2,
  samplesPerProblem: 2,
  workers: 1,
  limits: { maxReplyTokens: 4 },
  evaluation: { problemsPerCell: 2, samples: 2, randomPlays: 2 },
}

before(async () => {
  await writeTinyModel(model)
  writeFileSync(configFile, JSON.stringify(config))
})
after(() => rmSync(folder, { recursive: true }))

/** Each wrong usage, and what it must be told. */
const wrong: [args: string[], told: RegExp][] = [
  [['--no-such'], /unknown option '--no-such'/],
  [['tarin'], /unknown command 'tarin'\n\(Did you mean train\?\)/],
  [['train'], /say what to train/],
  [['train', 'quikstart'], /no configuration "quikstart"\. Did you mean "quickstart"\?/],
  [['train', 'nowhere.json'], /there is no file nowhere\.json/],
  [['train', configFile, '--sed', '3'], /unknown option '--sed'/],
  [['train', configFile, '--seed', 'x'], /whole number/],
  [['train', configFile, '--set', 'steps=ten'], /tiny\.json.*\n {2}steps: expected number.*got "ten"/],
  [['train', configFile, '--set', 'stepz=3'], /unknown field "stepz"/],
  [['train', configFile, '--set', 'steps'], /path=value/],
  [
    ['train', configFile, '--set', 'tasks.0.id=srot'],
    /tasks\[0\]\.id: there is no task "srot"\. Did you mean "sort"\?/,
  ],
  [['train', configFile, '--set', 'tasks.0.languages=["xx"]'], /tasks\[0\]\.languages.*"xx"/],
  [['train', configFile, '--set', 'rewards={"tsk":1}'], /reward "tsk"/],
  [['train', configFile, '--set', 'model=nowhere'], /nowhere/],
  [['train', '--resume'], /--resume RUN/],
  [['train', '--resume', join(folder, 'none')], /there is no folder/],
  [['tasks', 'show', 'srot'], /Did you mean "sort"\?/],
  [['tasks', 'show', 'sort', '--language', 'swa'], /does not speak "swa"\. Did you mean "sw"\?/],
  [['tasks', 'show', 'sort', '--difficulty', '2'], /from 0 to 1/],
  [['report', folder], /holds no run/],
  [['eval', model, '--task', 'srot'], /Did you mean "sort"\?/],
  [['sample', join(folder, 'modle')], /there is no folder .*modle\. Did you mean ".*model"\?/],
]

for (const [args, told] of wrong) {
  test(`wrong usage: myriad ${args.join(' ').replaceAll(folder, 'TMP')}`, async () => {
    const screen = new Screen()
    assert.equal(await runCommandLine(args, screen), 2, screen.notes)
    assert.match(screen.notes, told)
    assert.equal(screen.printed, '')
    assert.doesNotMatch(screen.notes, /\n\s+at /, 'no stack')
  })
}

test('wrong usage exits with 2, says so on standard error and prints nothing else', () => {
  const { status, stdout, stderr } = myriad(['train', 'quikstart'])
  assert.equal(status, 2)
  assert.match(stderr, /^myriad: there is no configuration "quikstart"/)
  assert.equal(stdout, '')
})

test('a damaged model exits with 1 and names the file', async () => {
  const damaged = join(folder, 'damaged')
  await writeTinyModel(damaged)
  writeFileSync(join(damaged, 'tokenizer.json'), '{"model":')
  const { status, stderr } = myriad(['sample', damaged], { input: 'hello\n' })
  assert.equal(status, 1, stderr)
  assert.match(stderr, /tokenizer\.json/)
})

test('--json: one document on standard output, also for an error', () => {
  const listed = myriad(['tasks', '--json'])
  assert.equal(listed.status, 0)
  const ids = (JSON.parse(listed.stdout) as { id: string }[]).map(({ id }) => id)
  assert.deepEqual(
    ids,
    listTasks().map(({ id }) => id),
  )
  const failed = myriad(['tasks', 'show', 'srot', '--json'])
  assert.equal(failed.status, 2)
  assert.equal((JSON.parse(failed.stdout) as { error: { code: string } }).error.code, 'usage')
})

test('tasks: every task is listed, and a problem is shown as it is played', () => {
  const { stdout, status } = myriad(['tasks'])
  assert.equal(status, 0)
  for (const { id, description } of listTasks())
    assert.match(stdout, new RegExp(`^${id} .*${description.slice(0, 20)}`, 'm'))
  const shown = myriad(['tasks', 'show', 'sort', '--language', 'sw', '--seed', '4'])
  assert.match(shown.stdout, /user +panga /)
  assert.match(shown.stdout, /expert player: success, reward 1/)
  assert.equal(myriad(['tasks', 'show', 'sort', '--language', 'sw', '--seed', '4']).stdout, shown.stdout)
  assert.notEqual(myriad(['tasks', 'show', 'sort', '--language', 'sw', '--seed', '5']).stdout, shown.stdout)
})

test('help and version exit with 0', () => {
  assert.match(myriad([]).stdout, /Usage: myriad/)
  assert.match(myriad(['train', '--help']).stdout, /--resume/)
  assert.match(myriad(['--version']).stdout, /^\d+\.\d+\.\d+\n$/)
})

test('train ends with the table and the report; the other commands work on the run', () => {
  const out = join(folder, 'run')
  const run = myriad(['train', configFile, '--out', out, '--seed', '7'])
  assert.equal(run.status, 0, run.stderr)
  assert.match(run.stdout, /task +random +temperature 1 +greedy/)
  assert.match(run.stdout, new RegExp(`Report +${join(out, 'report.html')}`))
  assert.match(run.stderr, /training 2\/2/)
  assert.ok(!(run.stdout + run.stderr).includes('\x1b'), 'no colours or cursor movements off a terminal')
  assert.match(readFileSync(join(out, 'report.html'), 'utf8'), /<title>tiny: Myriad report/)
  assert.equal((JSON.parse(readFileSync(join(out, 'config.json'), 'utf8')) as { seed: number }).seed, 7)

  const again = myriad(['train', configFile, '--out', out, '--seed', '7'])
  assert.equal(again.status, 2)
  assert.match(again.stderr, /--resume/)

  const evaluated = myriad(['eval', out, '--problems', '2', '--samples', '2', '--workers', '1', '--json'])
  assert.equal(evaluated.status, 0, evaluated.stderr)
  const { rows } = JSON.parse(evaluated.stdout) as { rows: { task: string }[] }
  assert.deepEqual(
    rows.map(({ task }) => task),
    ['sort', 'sort'],
  )

  const talk = myriad(['sample', out, '--max-tokens', '3', '--json'], { input: 'repeat a\nrepeat b\n\nrepeat c\n' })
  assert.equal(talk.status, 0, talk.stderr)
  const conversations = JSON.parse(talk.stdout) as { messages: { role: string }[] }[]
  assert.deepEqual(
    conversations.map(({ messages }) => messages.map(({ role }) => role[0]).join('')),
    ['uaua', 'ua'],
  )
})

test('what a task of the user’s prints does not get into the JSON', () => {
  writeFileSync(
    join(folder, 'loud.ts'),
    `console.log('loud')
import { singleTurn, type Reward } from 'myriad-rl'
export const loud = singleTurn<{ n: number }>({
  id: 'loud', description: 'd', languages: ['en'], difficulty: { easiest: 'e', hardest: 'h' }, maxReplyTokens: 4,
  generate: (random) => ({ data: { n: random.integer(0, 99) } }),
  prompt: ({ n }) => { console.log('loud'); return 'repeat ' + n },
  score: (reply, { n }) => reply.trim() === String(n),
  guess: () => '1',
})
export const noise: Reward = { name: 'noise', score: ({ replies }) => replies[0].length % 2 }
`.replace("'myriad-rl'", JSON.stringify(new URL('../index.js', import.meta.url).href)),
  )
  const file = join(folder, 'loud.json')
  const own = { modules: ['./loud.ts'], tasks: [{ id: 'loud' }], rewards: { task: 1, noise: 0.5 }, steps: 1 }
  writeFileSync(file, JSON.stringify({ ...config, name: 'loud', ...own }))
  const { status, stdout, stderr } = myriad(['train', file, '--out', join(folder, 'loud'), '--json'])
  assert.equal(status, 0, stderr)
  const summary = JSON.parse(stdout) as Record<string, unknown>
  for (const field of [
    'name',
    'seed',
    'steps',
    'wallSeconds',
    'evaluation',
    'throughput',
    'dropped',
    'versions',
    'report',
  ]) {
    assert.ok(field in summary, field)
  }
  assert.match(stderr, /^loud$/m)
})

test('Ctrl-C finishes the step, saves, says how to go on; the run goes on from there', async () => {
  const out = join(folder, 'interrupted')
  const child = startMyriad(['train', configFile, '--out', out, '--set', 'steps=100000', '--json'])
  let [stdout, stderr, pressed] = ['', '', false]
  child.stdout?.on('data', (data) => (stdout += data))
  child.stderr?.on('data', (data) => {
    stderr += data
    if (!pressed && /^training \d/m.test(stderr)) {
      pressed = true
      child.kill('SIGINT')
    }
  })
  const [status] = (await once(child, 'close')) as [number]
  assert.equal(status, 130, stderr)
  assert.match(stderr, /Finishing the step and saving/)
  assert.match(stderr, new RegExp(`train --resume ${out}`))
  const { steps, finished } = JSON.parse(stdout) as { steps: number; finished: boolean }
  assert.equal(finished, false)
  assert.ok(steps > 0 && existsSync(join(out, 'checkpoints')))
  const short = readFileSync(join(out, 'config.json'), 'utf8').replace('100000', String(steps + 1))
  writeFileSync(join(out, 'config.json'), short)
  const resumed = myriad(['train', '--resume', out, '--json'])
  assert.equal(resumed.status, 0, resumed.stderr)
  assert.match(resumed.stderr, new RegExp(`Going on after step ${steps} of`))
  assert.equal((JSON.parse(resumed.stdout) as { steps: number }).steps, steps + 1)
})

test('Ctrl-C twice stops at once', async () => {
  const child = startMyriad([
    'train',
    configFile,
    '--out',
    join(folder, 'stopped'),
    '--set',
    'steps=100000',
    '--set',
    'groupsPerStep=3000',
  ])
  let stderr = ''
  let waiting = 0
  const press = (): void => void child.kill('SIGINT')
  child.stderr?.on('data', (data) => {
    stderr += data
    // Both within the second step, which takes many times as long as they are apart.
    if (waiting === 0 && /^training 1\//m.test(stderr)) waiting = 1
    else if (waiting === 1 && stderr.includes('Ctrl-C once more')) waiting = 2
    else return
    setTimeout(press, 400)
  })
  const [, signal] = (await once(child, 'close')) as [number | null, string]
  assert.equal(signal, 'SIGINT', stderr)
  assert.match(stderr, /Stopped at once/)
})
