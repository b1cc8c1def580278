import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Loss, LossTokens } from '../../policy/types.js'
import type { Objective } from '../objective.js'
import { assertLossEdges, gradientError, randomLossTokens } from '../testing-loss.js'
import * as preference from './index.js'
import { batchOf, pairOf } from './testing.js'

interface Case {
  name: string
  value: number
  gradient: number[][]
  label_smoothing?: number
  ld_alpha?: number
  f_divergence_type?: string
  labels?: boolean[]
  mismatched?: number[][]
  mismatchedReference?: number[][]
  alpha?: number
}
interface Fixture {
  pairs: number
  beta: number
  logprobs: number[][]
  reference: number[][]
  cases: Case[]
}
const fixture = JSON.parse(
  readFileSync(new URL('../../../src/algorithms/preference/preference.fixture.json', import.meta.url), 'utf8'),
) as Fixture

/** Makes the loss of a declaration with some of its options given. */
function made(declared: Objective<'loss'>, given: object = {}): Loss {
  return declared.make(declared.options.parse(given))
}

function lossOf({
  name,
  label_smoothing: smoothing = 0,
  ld_alpha: tail = 1,
  f_divergence_type: kind,
  alpha,
}: Case): Loss {
  const { beta } = fixture
  const p = preference
  switch (name) {
    case 'dpo/sigmoid':
      if (kind === undefined) return made(p.dpo.loss, { beta, tail })
      return made(p.fDpo.loss, {
        beta,
        divergence: { forward_kl: 'forward-kl', js_divergence: 'jensen-shannon', alpha_divergence: 'alpha' }[kind],
      })
    case 'dpo/hinge':
      return made(p.hingeDpo.loss, { beta })
    case 'dpo/ipo':
      return made(p.ipo.loss, { beta })
    case 'dpo/exo_pair':
      return made(p.exo.loss, { beta, labelSmoothing: smoothing })
    case 'dpo/nca_pair':
      return made(p.nca.loss, { beta })
    case 'dpo/robust':
      return made(p.robustDpo.loss, { beta, flipRate: smoothing })
    case 'dpo/bco_pair':
      return made(p.bco.loss, { beta })
    case 'dpo/sppo_hard':
      return made(p.sppoHard.loss, { beta })
    case 'dpo/aot':
    case 'dpo/aot_unpaired':
      return made(p.aot.loss, {
        beta,
        labelSmoothing: smoothing,
        distributions: name.endsWith('unpaired') ? 'unpaired' : 'paired',
      })
    case 'dpo/apo_zero':
      return made(p.apoZeroDpo.loss, { beta })
    case 'dpo/apo_down':
      return made(p.apoDownDpo.loss, { beta })
    case 'dpo/discopop':
      return made(p.discopop.loss, { beta })
    case 'dpo/sigmoid_norm':
      return made(p.normalizedDpo.loss, { beta })
    case 'dpo/mpo':
      return made(p.mpo.loss, { beta })
    case 'dpo/sft':
      return p.pairLoss({
        name: 'sft',
        reference: false,
        nll: 1,
        compare: () => ({ value: 0, chosen: 0, rejected: 0 }),
      })
    case 'kto/kto':
      return made(p.ktoPart, { beta, desirable: 1.2, undesirable: 0.9, baseline: 'mismatched' })
    case 'kto/apo_zero_unpaired':
      return made(p.ktoPart, { beta, desirable: 1.2, undesirable: 0.9, baseline: 'none' })
    case 'cpo/sigmoid':
      return made(p.cpo.loss, { beta: 0.3, labelSmoothing: 0.05 })
    case 'cpo/hinge':
      return made(p.slic.loss, { delta: 1, nll: 0.5 })
    case 'cpo/ipo':
      return made(p.ipo.loss, { beta: 0.3, referenceFree: true })
    case 'cpo/simpo':
      return alpha ? made(p.alphaPo.loss, { alpha }) : made(p.simpo.loss)
    case 'orpo':
      return made(p.orpo.loss)
    default:
      throw new Error(`no loss for ${name}`)
  }
}

function batchOfCase({ labels, mismatched, mismatchedReference }: Case): LossTokens {
  const { logprobs, reference, pairs } = fixture
  const rows = logprobs.map((row, i) => ({
    logprobs: row,
    reference: reference[i],
    info: labels
      ? { role: labels[i] ? ('chosen' as const) : ('rejected' as const) }
      : { role: i < pairs ? ('chosen' as const) : ('rejected' as const), pair: i % pairs },
  }))
  return batchOf([
    ...rows,
    ...(mismatched ?? []).map((row, i) => ({ logprobs: row, reference: mismatchedReference![i] })),
  ])
}

for (const [i, entry] of fixture.cases.entries())
  test(`${entry.name} (${i}) is TRL's, value and gradient`, () => {
    const { value, gradient } = lossOf(entry).evaluate(batchOfCase(entry))
    const close = (a: number, b: number, what: string): void =>
      assert.ok(Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b)), `${what}: ${a}, TRL ${b}`)
    close(value, entry.value, 'value')
    entry.gradient.flat().forEach((slope, t) => close(gradient[t], slope, `gradient ${t}`))
    // What is only compared with, such as mismatched rows, is not taught.
    assert.ok(gradient.subarray(entry.gradient.flat().length).every((slope) => slope === 0))
  })

test('losses of one pair have the values and slopes worked out by hand', () => {
  // s_w = -18, s_l = -27, references -20 and -25, 10 and 14 tokens: r_w = 2, r_l = -2.
  const p = preference
  const table: [Loss, number, number, number][] = [
    [made(p.dpo.loss), 0.513015, -0.040131, 0.040131],
    [made(p.cdpo.loss), 0.553015, -0.030131, 0.030131],
    [made(p.robustDpo.loss), 0.463015, -0.052631, 0.052631],
    [made(p.ipo.loss, { normalization: 'sum' }), 1, -2, 2],
    [made(p.ipo.loss), 21.68898, -0.931429, 0.665306],
    [made(p.hingeDpo.loss), 0.6, -0.1, 0.1],
    [made(p.apoZeroDpo.loss), 0.900332, -0.024752, 0.024752],
    [made(p.apoDownDpo.loss), 0.951146, 0.000726, 0.024026],
    [made(p.cpo.loss), 2.141154, -0.128905, 0.028905],
    [made(p.simpo.loss), 0.82193, -0.112084, 0.08006],
    [made(p.orpo.loss), 1.861995, -0.105535, 0.003861],
    [made(p.sppoHard.loss), 18, -6, 6],
    [made(p.cpl.loss), 0.943249, -0.061064, 0.030532],
    [made(p.rebel.loss), 9, 6, -6],
    [made(p.exo.loss), 2.099226, -0.156332, 0.156332],
  ]
  for (const [loss, value, chosen, rejected] of table) {
    const result = loss.evaluate(pairOf([-18, -27], [-20, -25], [10, 14]))
    assert.ok(Math.abs(result.value - value) < 1e-5, `${loss.name}: ${result.value}, expected ${value}`)
    assert.ok(Math.abs(result.gradient[0] - chosen) < 1e-6, `${loss.name}: chosen ${result.gradient[0]}`)
    assert.ok(Math.abs(result.gradient[10] - rejected) < 1e-6, `${loss.name}: rejected ${result.gradient[10]}`)
  }
})

test('KTO of two judged replies has the value worked out by hand', () => {
  // z = 0.5, from one mismatched row.
  const judged = pairOf([-18, -27], [-20, -25], [10, 14])
  const even = (sum: number, n: number): number[] => Array<number>(n).fill(sum / n)
  const tokens = batchOf([
    { logprobs: even(-18, 10), reference: even(-20, 10), info: { role: 'chosen' } },
    { logprobs: even(-27, 14), reference: even(-25, 14), info: { role: 'rejected' } },
    { logprobs: [-1], reference: [-1.5] },
  ])
  const { value, gradient, metrics } = preference.ktoLoss({ baseline: 'mismatched' }).evaluate(tokens)
  assert.ok(Math.abs(2 * value - 0.900394) < 1e-6)
  assert.ok(Math.abs(2 * gradient[0] + 0.02486) < 1e-6)
  assert.ok(Math.abs(2 * gradient[10] - 0.024613) < 1e-6)
  assert.ok(Math.abs(metrics.baseline - 0.5) < 1e-12)
  // Log-ratios 2 and -2: z is their mean, 0; each other's, -2 (held at 0) and 2; or none.
  const baselineOf = (baseline: 'batch' | 'opposite' | 'none'): number =>
    preference.ktoLoss({ baseline }).evaluate(judged).metrics.baseline
  assert.deepEqual(
    [baselineOf('batch'), baselineOf('opposite'), baselineOf('none')].map((z) => +z.toFixed(9)),
    [0, 1, 0],
  )
})

const lossParts = preference.preferenceObjectives.filter(({ kind }) => kind === 'loss')
/** Losses of options that lead elsewhere than the defaults. */
const others: [string, Loss][] = [
  ['dpo with a tail and likelihood', made(preference.dpo.loss, { tail: 0.3, nll: 0.5 })],
  ['dpo without reference', made(preference.dpo.loss, { referenceFree: true })],
  ['ipo on sums', made(preference.ipo.loss, { normalization: 'sum' })],
  ['f-dpo forward', made(preference.fDpo.loss, { divergence: 'forward-kl' })],
  ['f-dpo alpha', made(preference.fDpo.loss, { divergence: 'alpha', alpha: 1.5 })],
  ['kto without baseline', preference.ktoLoss({ baseline: 'none' })],
  ['aot unpaired', preference.transportLoss({ distributions: 'unpaired' })],
  ['cpl discounted', preference.cplLoss({ discount: 0.8 })],
  ['cpl of means', preference.cplLoss({ normalization: 'mean' })],
  ['rebel of means', preference.rebelLoss({ normalization: 'mean', eta: 0.5 })],
  ['sppo', preference.sppoLoss(0.2)],
  ['plackett-luce, best alone', preference.plackettLuceDpoLoss({ beta: 0.3, top: 1 })],
  ['alphapo below 0', made(preference.alphaPo.loss, { alpha: -0.5 })],
  ['pairwise ppo, wide clip', preference.pairwisePpoLoss({ clipLow: 0.999, clipHigh: 1e6 })],
  ['pairwise ppo, joint', preference.pairwisePpoLoss({ clip: 'joint', clipLow: 0.999, clipHigh: 1e6 })],
  ['pairwise ppo of means', preference.pairwisePpoLoss({ lengthNormalized: true })],
]
const roles = ['chosen', 'rejected', 'rejected', 'chosen', 'sample'] as const

for (const [name, loss] of [
  ...lossParts.map((part): [string, Loss] => [part.name, made(part as Objective<'loss'>)]),
  ...others,
])
  test(`${name}: gradients are those of the value, and extremes stay finite`, () => {
    for (const seed of [1, 2, 3]) {
      const tokens = randomLossTokens(seed, { lengths: [4, 2, 5, 1, 3], roles })
      // A baseline is a constant for derivatives: held where no difference moves it.
      const steady = name === 'kto-loss' ? withLowRatios(tokens) : tokens
      assert.ok(gradientError(loss, steady) < 1e-6, `seed ${seed}: ${gradientError(loss, steady)}`)
      assert.ok(
        loss.evaluate(tokens).gradient.some((slope) => slope !== 0),
        'something is taught',
      )
    }
    assertLossEdges(loss, { roles: ['chosen', 'rejected', 'sample'] })
  })

/** With the policy below its reference everywhere, KTO's baseline is held at 0. */
function withLowRatios(tokens: LossTokens): LossTokens {
  return { ...tokens, referenceLogprobs: tokens.logprobs.map((logprob) => logprob + 0.1) }
}

test('the gradients of KTO treat the baseline as a constant', () => {
  const tokens = pairOf([-18, -27], [-25, -28], [10, 14])
  const { gradient, metrics } = preference.ktoLoss({ baseline: 'batch' }).evaluate(tokens)
  assert.equal(+metrics.baseline.toFixed(9), 4)
  const alone = preference.ktoLoss({ baseline: 'mismatched' }).evaluate(tokens)
  assert.equal(alone.metrics.baseline, metrics.baseline, 'nothing is mismatched here')
  const slope = 0.1 * preference.sigmoidSlope(0.1 * (7 - 4))
  assert.ok(Math.abs(gradient[0] + slope / 2) < 1e-12)
})

test('a pair that lost a member is not counted', () => {
  const loss = made(preference.dpo.loss)
  const whole = pairOf([-18, -27], [-20, -25], [10, 14])
  const more = batchOf([
    { logprobs: [-1, -2], reference: [-2, -2], info: { role: 'chosen', pair: 7 } },
    {
      logprobs: [...whole.logprobs.subarray(0, 10)],
      reference: Array<number>(10).fill(-2),
      info: { role: 'chosen', pair: 0 },
    },
    {
      logprobs: [...whole.logprobs.subarray(10)],
      reference: Array<number>(14).fill(-25 / 14),
      info: { role: 'rejected', pair: 0 },
    },
  ])
  const [a, b] = [loss.evaluate(whole), loss.evaluate(more)]
  assert.ok(Math.abs(a.value - b.value) < 1e-12)
  assert.deepEqual([...b.gradient.subarray(0, 2)], [0, 0])
})

test('what a loss needs and does not get is named', () => {
  const tokens = { ...pairOf([-1, -2], [-1, -1], [1, 1]), referenceLogprobs: undefined }
  assert.throws(() => made(preference.dpo.loss).evaluate(tokens), { code: 'usage', message: /reference/ })
  assert.throws(() => made(preference.cpo.loss).evaluate({ ...tokens, sequences: undefined }), { code: 'usage' })
  const huge = pairOf([-1, -2], [-1, -1], [1, 1], [1e300, -1e300])
  assert.throws(() => made(preference.rebel.loss).evaluate(huge), { code: 'numeric' })
  assert.throws(() => preference.robustMargin(0, 0.5), { code: 'usage' })
})

test('Nash learning pulls by win rates and back to the reference, token by token', () => {
  const tokens = batchOf([
    { logprobs: [-1, -2], reference: [-1.5, -2] },
    { logprobs: [-3], reference: [-2] },
  ])
  tokens.advantages.set([0.5, 0.5, -0.25])
  const { gradient, metrics } = preference.nashLoss(0.2).evaluate(tokens)
  const expected = [-0.5 + 0.2 * 0.5, -0.5, 0.25 - 0.2].map((slope) => slope / 2)
  expected.forEach((slope, t) => assert.ok(Math.abs(gradient[t] - slope) < 1e-12, `token ${t}: ${gradient[t]}`))
  assert.ok(Math.abs(metrics.kl + 0.5 / 3) < 1e-12)
})

test("SPPO's targets are win rates over beta", () => {
  // Rates 0.8 and 0.3 at beta 0.1: targets 3 and -2 of log-ratios 2 and -2.
  const { value, gradient } = preference.sppoLoss(0.1).evaluate(pairOf([-18, -27], [-20, -25], [10, 14], [0.8, 0.3]))
  assert.ok(Math.abs(value - 0.5) < 1e-9)
  assert.ok(Math.abs(gradient[0] + 1) < 1e-9 && Math.abs(gradient[10]) < 1e-9)
})

test('REBEL of means divides each log-ratio by its length', () => {
  // Moved by 0.2 and -1/7 a token, rewards 1 apart.
  const { value, gradient } = preference
    .rebelLoss({ normalization: 'mean', eta: 0.5 })
    .evaluate(pairOf([-18, -27], [-20, -25], [10, 14]))
  const gap = 0.2 + 1 / 7 - 0.5
  assert.ok(Math.abs(value - gap * gap) < 1e-12)
  assert.ok(Math.abs(gradient[0] - (2 * gap) / 10) < 1e-12 && Math.abs(gradient[10] + (2 * gap) / 14) < 1e-12)
})

test('metrics of a batch of pairs', () => {
  const { metrics } = made(preference.hingeDpo.loss).evaluate(pairOf([-18, -27], [-20, -25], [10, 14]))
  assert.deepEqual(
    Object.entries(metrics).map(([name, value]) => [name, +value.toFixed(9)]),
    [
      ['accuracy', 1],
      ['margin', 4],
      ['chosenLogRatio', 2],
      ['active', 1],
    ],
  )
  assert.equal(
    made(preference.hingeDpo.loss, { beta: 1 }).evaluate(pairOf([-18, -27], [-20, -25], [10, 14])).metrics.active,
    0,
  )
})

test('Plackett-Luce of two is Bradley-Terry, and of three the product of its draws', () => {
  const two = preference.plackettLuce([0.3, -0.4], [0, 1])
  assert.ok(Math.abs(two.value - preference.softplus(-0.7)) < 1e-12)
  const scores = [1, 0.2, -0.5]
  const e = scores.map(Math.exp)
  const likelihood = (e[0] / (e[0] + e[1] + e[2])) * (e[1] / (e[1] + e[2]))
  assert.ok(Math.abs(preference.plackettLuce(scores, [0, 1, 2]).value + Math.log(likelihood)) < 1e-12)
  assert.ok(Math.abs(preference.plackettLuce(scores, [0, 1, 1]).value + Math.log(e[0] / (e[0] + e[1] + e[2]))) < 1e-12)
})

test('pairwise PPO does not see a constant added to rewards, and clips', () => {
  const at = (rewards: [number, number], old: [number, number]): number[] => {
    const tokens = {
      ...pairOf([-4, -6], [-4, -6], [2, 2], rewards),
      oldLogprobs: Float64Array.of(old[0], old[0], old[1], old[1]),
    }
    return [...preference.pairwisePpoLoss().evaluate(tokens).gradient]
  }
  assert.deepEqual(at([3, 1], [-2, -3]), at([103, 101], [-2, -3]))
  assert.deepEqual(at([1, 0], [-2, -3]), [-0.5, -0.5, 0.5, 0.5])
  // The first is already more than 1.2 times as likely, the second less than 0.8 times.
  assert.deepEqual(at([1, 0], [-2.2, -2.8]).map(Math.abs), [0, 0, 0, 0])
})

test('importance weights of DRPO are held, and still pull', () => {
  assert.deepEqual(preference.heldWeight(0, 10), { value: 1, slope: 1 })
  assert.ok(Math.abs(preference.heldWeight(9, 10).slope - 10) < 1e-12)
  assert.ok(Math.abs(preference.heldWeight(-9, 10).slope - 0.1) < 1e-12)
})

test('DRPO corrects its preference model by what it got wrong', () => {
  // The model is sure of the first pair (reward gap 40) and wrong about the second.
  const sequence = (role: 'chosen' | 'rejected' | 'sample', pair: number | undefined, reward: number) => ({
    logprobs: [-1],
    info: { role, pair, reward },
  })
  const tokens = batchOf([
    sequence('chosen', 0, 20),
    sequence('rejected', 0, -20),
    sequence('chosen', 1, -20),
    sequence('rejected', 1, 20),
    sequence('sample', undefined, 60),
  ])
  const { gradient } = preference.doublyRobustLoss().evaluate(tokens)
  const expected = [0, 0, -0.25, 0.25, -0.5]
  expected.forEach((slope, t) => assert.ok(Math.abs(gradient[t] - slope) < 1e-9, `token ${t}: ${gradient[t]}`))
})
