import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Loss } from '../policy/types.js'
import type { Reward } from '../rewards/types.js'
import type { Task } from '../tasks/types.js'
import { grpo } from '../algorithms/grpo.js'
import { climb, echo, openTestPolicy, TEST_CONFIG, TEST_TASKS } from './testing.js'
import { train, type TrainOptions } from './train.js'
import type { StepMetrics, TrainEvent } from './types.js'

const root = mkdtempSync(join(tmpdir(), 'myriad-train-'))
after(() => rmSync(root, { recursive: true, force: true }))
const options = (name: string, more: TrainOptions = {}): TrainOptions => ({
  out: join(root, name),
  tasks: TEST_TASKS,
  openPolicy: () => openTestPolicy(),
  ...more,
})
const stepsOf = (name: string): StepMetrics[] =>
  readFileSync(join(root, name, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as StepMetrics)
const short = { ...TEST_CONFIG, steps: 3 }

test('a run learns, and leaves its folder behind', async () => {
  const events: TrainEvent[] = []
  const onEvent = (event: TrainEvent): void => void events.push(event)
  const summary = await train({ ...TEST_CONFIG, steps: 40 }, options('learns', { onEvent }))
  const success = (rows: typeof summary.evaluation.before): number =>
    rows.find((row) => row.task === 'climb' && row.decoding === 'sampled')!.success
  assert.ok(success(summary.evaluation.before) < 0.3)
  assert.ok(success(summary.evaluation.after!) > 0.7)
  const steps = stepsOf('learns')
  assert.deepEqual(
    steps.map(({ step }) => step),
    Array.from({ length: 40 }, (_, i) => i + 1),
  )
  assert.ok(steps[39].tasks.echo.success > steps[0].tasks.echo.success + 0.2)
  assert.ok(steps[39].entropy! < steps[0].entropy! / 2)
  const files = ['checkpoints', 'config.json', 'episodes.jsonl', 'evaluations.jsonl', 'metrics.jsonl']
  assert.deepEqual(readdirSync(join(root, 'learns')).sort(), [...files, 'report.html', 'summary.json'])
  assert.deepEqual(
    JSON.parse(readFileSync(join(root, 'learns', 'summary.json'), 'utf8')),
    JSON.parse(JSON.stringify(summary)),
  )
  assert.equal(events[0].type, 'start')
  assert.equal(events.at(-1)?.type, 'done')
  assert.ok(summary.throughput.sampledTokensPerSecond > 0 && summary.throughput.trainedTokensPerSecond > 0)
})

test('groups cannot be replaced one by one where a problem has several', async () => {
  const both = { ...short, dynamicSampling: { rounds: 1 }, curriculum: { languagesPerProblem: 2 } }
  await assert.rejects(train(both, options('both')), { code: 'usage', message: /languagesPerProblem/ })
  assert.ok(!existsSync(join(root, 'both')), 'before anything is written')
})

test('the same seed gives the same metrics, another seed others', async () => {
  const traceOf = (name: string): unknown => stepsOf(name).map((metrics) => ({ ...metrics, time: null }))
  await train(short, options('once'))
  await train(short, options('again'))
  await train({ ...short, seed: 2 }, options('other'))
  assert.deepEqual(traceOf('once'), traceOf('again'))
  assert.notDeepEqual(traceOf('once'), traceOf('other'))
})

const failing = (name: string, score: Reward['score']): Reward => ({ name, score })

test('a reward that throws drops its trajectory, is counted, and the run goes on', async () => {
  let calls = 0
  const moody = failing('moody', ({ outcome }) => {
    if (calls++ % 3 === 0) throw new Error('judge down')
    return outcome.reward
  })
  const dropped: string[] = []
  const onEvent = (event: TrainEvent): void => {
    if (event.type === 'dropped') dropped.push(...event.episodes.map(({ message }) => message))
  }
  const config = { ...short, rewards: { moody: 1 } }
  const summary = await train(config, options('moody', { rewards: [moody], onEvent }))
  assert.ok(summary.finished)
  assert.ok(summary.dropped['reward-error'] > 20, JSON.stringify(summary.dropped))
  assert.equal(summary.skippedSteps, 0)
  assert.match(dropped[0], /moody.*judge down/)
  const [first] = stepsOf('moody')
  assert.equal(first.episodes + first.dropped['reward-error'], 96)
})

test('a reward that is not a number skips the step; several in a row stop the run with an explanation', async () => {
  const poison = failing('poison', ({ problem }) => (problem.split === 'train' ? NaN : 0))
  const config = { ...TEST_CONFIG, rewards: { poison: 1 }, maxBadSteps: 3, checkpointEvery: 1 }
  await assert.rejects(train(config, options('poison', { rewards: [poison] })), {
    code: 'numeric',
    message: /step 3: 3 steps in a row.*poison.*NaN/,
  })
  assert.deepEqual(
    stepsOf('poison').map(({ version, trainedTokens }) => [version, trainedTokens]),
    [
      [0, 0],
      [0, 0],
      [0, 0],
    ],
  )
  assert.ok(existsSync(join(root, 'poison', 'checkpoints', 'step-000003')))
})

test('a reward that always throws ends the run with its words, not with an empty table', async () => {
  const broken = failing('broken', ({ problem }) => {
    if (problem.split === 'train') throw new Error('judge down')
    return 0
  })
  const config = { ...TEST_CONFIG, rewards: { broken: 1 }, maxBadSteps: 2 }
  await assert.rejects(train(config, options('hopeless', { rewards: [broken] })), {
    code: 'numeric',
    message:
      /step 2: 2 steps in a row.*every episode was dropped.*judge down\. Everything until then is in .*hopeless\.$/,
  })
})

test('a gradient that is not finite skips the step, and the run goes on when it was one of few', async () => {
  const { loss } = grpo()
  let updates = 0
  const spoilt: Loss = {
    name: 'spoilt',
    evaluate: (tokens) => {
      const result = loss.evaluate(tokens)
      if (++updates === 2) result.gradient[0] = Infinity
      return result
    },
  }
  const summary = await train({ ...TEST_CONFIG, steps: 4 }, options('spoilt', { algorithm: grpo({ loss: spoilt }) }))
  assert.equal(summary.skippedSteps, 1)
  const steps = stepsOf('spoilt')
  assert.deepEqual(
    steps.map(({ skipped }) => skipped !== null),
    [false, true, false, false],
  )
  assert.match(steps[1].skipped!, /norm of the gradient Infinity/)
  assert.deepEqual([steps[0].version, steps[1].version], [1, 1])
  assert.ok(steps[3].version > 1 && summary.finished)
})

test('a task that fails is counted, and the others are trained', async () => {
  const broken: Task = {
    ...climb,
    id: 'broken',
    generate: (seed, how) => {
      if (seed % 2 === 0) throw new Error('no problem today')
      return { ...climb.generate(seed, how), task: 'broken' }
    },
    play: () => ({
      messages: [],
      respond: () => {
        throw new Error('no answer')
      },
      randomReply: () => 'a',
    }),
  }
  const config = { ...short, tasks: [{ id: 'broken' }, { id: 'echo' }] }
  const summary = await train(config, options('broken', { tasks: [broken, echo] }))
  assert.ok(summary.dropped['task-error'] > 50)
  assert.equal(stepsOf('broken')[2].tasks.echo.groups, 6)
  assert.ok(stepsOf('broken')[2].version > 0)
})

test(
  'a full disk says so, and what was written stays',
  { skip: !existsSync('/dev/full') && 'no /dev/full here' },
  async () => {
    const out = join(root, 'full')
    const onEvent = (event: TrainEvent): void => {
      if (event.type === 'evaluation') symlinkSync('/dev/full', join(out, 'metrics.jsonl'))
    }
    const message = /disk is full.*metrics\.jsonl.*resume/i
    await assert.rejects(train(short, options('full', { onEvent })), { code: 'io', message })
    assert.ok(existsSync(join(out, 'evaluations.jsonl')))
    rmSync(join(out, 'metrics.jsonl'))
    assert.ok((await train(short, options('full', { resume: true }))).finished)
  },
)

test('modules bring tasks and rewards; what they lack is said', async () => {
  const path = join(root, 'own.mjs')
  writeFileSync(
    path,
    `const outcome = { reward: 1, success: true, wellFormed: true }
    export const own = { id: 'own', languages: ['en'], maxTurns: 1, maxReplyTokens: 2,
      generate: (seed, how) => ({ task: 'own', ...how, key: String(seed), data: null }),
      play: () => ({ messages: [{ role: 'user', content: 'a' }], randomReply: () => 'a',
        respond: (reply) => ({ messages: [], done: true, outcome: { ...outcome, reward: reply.length } }) }) }
    export const long = { name: 'long', score: ({ replies }) => replies[0].length }
    `,
  )
  const config = { ...short, modules: [path], tasks: [{ id: 'own' }], rewards: { task: 1, long: 0.5 } }
  await train(config, options('own'))
  assert.ok(stepsOf('own')[0].reward > 0)
  const without = train({ ...config, modules: [] }, options('without'))
  await assert.rejects(without, { code: 'usage', message: /unknown task "own"/ })
  await assert.rejects(train({ ...config, modules: ['none.mjs'] }, options('none')), {
    code: 'usage',
    message: /none\.mjs/,
  })
  assert.ok(!existsSync(join(root, 'without')), 'nothing is written before every name is known')
})

test('modules bring objectives: a loss for the parts of "composed", and a whole method', async () => {
  const path = join(root, 'objectives.mjs')
  const algorithms = new URL('../algorithms/index.js', import.meta.url).href
  writeFileSync(
    path,
    `import { compose, groupAdvantages, objective } from '${algorithms}'
    import { z } from '${import.meta.resolve('zod')}'
    const about = { family: 'policy-gradient', summary: 's', formula: 'f', reference: 'r', standing: 'ours', use: 'u', rows: [] }
    const options = z.strictObject({ scale: z.number().default(1) })
    const loss = ({ scale }) => ({ name: 'mine', evaluate: ({ logprobs, advantages, weights }) => ({
      value: 0, gradient: logprobs.map((_, t) => -scale * weights[t] * advantages[t]), metrics: { scale } }) })
    export const mine = objective({ ...about, kind: 'loss', name: 'mine-loss', options, make: loss })
    export const more = [objective({ ...about, kind: 'method', name: 'mine', options, make: (chosen) =>
      compose({ name: 'mine', advantage: groupAdvantages({ normalization: 'mean' }), loss: loss(chosen) }) })]
    `,
  )
  const config = { ...short, modules: [path] }
  await train({ ...config, algorithm: { name: 'mine', scale: 3 } }, options('mine'))
  assert.equal(stepsOf('mine')[0]['loss/scale'], 3)
  const parts = { name: 'composed', loss: { name: 'mine-loss', scale: 2 } }
  await train({ ...config, algorithm: parts }, options('mine-in-parts'))
  assert.equal(stepsOf('mine-in-parts')[0]['loss/scale'], 2)
  const refuse = (algorithm: Record<string, unknown>, message: RegExp, modules = [path]): Promise<void> =>
    assert.rejects(train({ ...config, modules, algorithm }, options('refused')), { code: 'usage', message })
  await refuse({ name: 'mine', scale: 'x' }, /algorithm\.scale: expected number; got "x"/)
  await refuse({ name: 'mime' }, /algorithm\.name: there is no method "mime"\. Did you mean "mine"\?/)
  await refuse({ name: 'mine' }, /there is no method "mine"/, [])
  await refuse({ name: 'on-policy-distillation' }, /teacher: .*give the folder of its model/)
  assert.ok(!existsSync(join(root, 'refused')), 'nothing is written before every name is known')
})

test('unknown languages, rewards and tasks named twice are refused by field', async () => {
  const refuse = (config: object, message: RegExp): Promise<void> =>
    assert.rejects(train({ ...short, ...config }, options('refused')), { code: 'usage', message })
  await refuse(
    { tasks: [{ id: 'echo', languages: ['tlh'] }] },
    /tasks\[0\]\.languages: task "echo" has no "tlh"; it has en, sw/,
  )
  await refuse({ tasks: [{ id: 'echo' }, { id: 'echo' }] }, /tasks\[1\]\.id.*twice/)
  await refuse({ rewards: { charm: 1 } }, /charm/)
})
