import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createRandom } from '../../core/index.js'
import type { Loss, LossTokens, TrainSequence } from '../../policy/types.js'
import { groupOf } from '../multi/testing.js'
import { assertLossEdges, gradientError, randomLossTokens } from '../testing-loss.js'
import { testGroup, testTrajectory } from '../testing.js'
import type { Algorithm, LearnContext, Shown } from '../types.js'
import * as distillation from './index.js'

interface Case {
  name: 'full' | 'top' | 'clipped-full' | 'sampled' | 'clipped-sampled' | 'iw-opd'
  beta: number
  temperature?: number
  tail?: boolean
  cap?: number
  gamma?: number
  value: number
  slopes: number[]
}
const fixture = JSON.parse(
  readFileSync(new URL('../../../src/algorithms/distillation/distillation.fixture.json', import.meta.url), 'utf8'),
) as {
  vocabulary: number
  top: number
  lengths: number[]
  ids: number[]
  student: number[]
  teacher: number[]
  old: number[]
  cases: Case[]
}

const close = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance = 1e-9): void => {
  assert.equal(actual.length, expected.length)
  for (let i = 0; i < actual.length; i++)
    assert.ok(Math.abs(actual[i] - expected[i]) <= tolerance, `entry ${i}: ${actual[i]}, expected ${expected[i]}`)
}

const { vocabulary, ids, student, teacher } = fixture
const places = [...ids.keys()]
const row = (values: readonly number[], t: number): number[] => values.slice(t * vocabulary, (t + 1) * vocabulary)
const chosen = (values: readonly number[]): Float64Array =>
  Float64Array.from(places, (t) => values[t * vocabulary + ids[t]])

/** The batch of the fixture, with the `width` most probable outcomes of the student as alternatives. */
function fixtureTokens(width: number): LossTokens {
  const order = places.map((t) =>
    [...row(student, t).keys()].sort((a, b) => row(student, t)[b] - row(student, t)[a]).slice(0, width),
  )
  const of = (values: readonly number[]): Float64Array =>
    Float64Array.from(order.flatMap((best, t) => best.map((v) => row(values, t)[v])))
  return {
    logprobs: chosen(student),
    oldLogprobs: Float64Array.from(fixture.old),
    teacherLogprobs: chosen(teacher),
    advantages: new Float64Array(places.length),
    weights: new Float64Array(places.length).fill(1 / places.length),
    segments: Int32Array.from(fixture.lengths.flatMap((length, i) => Array<number>(length).fill(i))),
    alternatives: { count: width, ids: Int32Array.from(order.flat()), logprobs: of(student), teacher: of(teacher) },
  }
}

/** Slopes with respect to logits, from those with respect to logprobs. */
function throughLogits(loss: Loss, tokens: LossTokens): number[] {
  const { gradient, alternativesGradient } = loss.evaluate(tokens)
  const { count, ids: others } = tokens.alternatives!
  return places.flatMap((t) => {
    const direct = new Float64Array(vocabulary)
    direct[ids[t]] += gradient[t]
    for (let k = t * count; k < (t + 1) * count; k++) direct[others[k]] += alternativesGradient?.[k] ?? 0
    const total = direct.reduce((sum, slope) => sum + slope, 0)
    return row(student, t).map((logprob, v) => direct[v] - Math.exp(logprob) * total)
  })
}

test('divergences, their top-K forms, sampled forms and IW-OPD are those of TRL', () => {
  for (const { name, beta, temperature = 1, tail, cap = null, gamma, value, slopes } of fixture.cases) {
    const tokens = fixtureTokens(name === 'top' ? fixture.top : vocabulary)
    const lossOf = (): Loss => {
      if (name === 'full') return distillation.divergenceLoss({ beta, temperature, support: 'renormalize' })
      if (name === 'top') return distillation.divergenceLoss({ beta, support: tail ? 'tail' : 'renormalize' })
      if (name === 'clipped-full') return distillation.divergenceLoss({ beta, support: 'full', weightCap: cap })
      return distillation.sampledReverseKl('score', cap)
    }
    if (name === 'iw-opd') {
      const sequences = fixture.lengths.map((length, i): TrainSequence => {
        const from = fixture.lengths.slice(0, i).reduce((a, b) => a + b, 0)
        const cut = (values: Float64Array): Float32Array =>
          Float32Array.from([0, ...values.subarray(from, from + length)])
        return {
          tokens: [0, ...ids.slice(from, from + length)],
          mask: Uint8Array.from({ length: length + 1 }, (_, t) => (t > 0 ? 1 : 0)),
          logprobs: cut(tokens.oldLogprobs),
          teacherLogprobs: cut(tokens.teacherLogprobs!),
          advantages: new Float32Array(length + 1),
          weights: new Float32Array(length + 1),
        }
      })
      const method = distillation.onPolicyDistillation.make(
        distillation.onPolicyDistillation.options.parse({ prefixGamma: gamma }),
      )
      const advantages = method.refine!(sequences).flatMap((sequence) => [...sequence.advantages].slice(1))
      // TRL differentiates -A lp; ours is that with the ratio, which is 1 where the policy is the sampler.
      const gradient = advantages.map((advantage) => -advantage / places.length)
      const logits = places.flatMap((t) =>
        row(student, t).map((logprob, v) => gradient[t] * ((v === ids[t] ? 1 : 0) - Math.exp(logprob))),
      )
      close(logits, slopes, 1e-6)
      close([gradient.reduce((sum, slope, t) => sum + slope * tokens.logprobs[t], 0)], [value], 1e-6)
      continue
    }
    close([lossOf().evaluate(tokens).value], [value], 1e-7)
    close(throughLogits(lossOf(), tokens), slopes, 1e-7)
  }
  assert.equal(new Set(fixture.cases.map(({ name }) => name)).size, 6)
})

const logs = (values: readonly number[]): number[] => values.map(Math.log)

test('KL and JS of three outcomes have the values and slopes worked out by hand', () => {
  const [T, S] = [
    [0.7, 0.2, 0.1],
    [0.5, 0.3, 0.2],
  ]
  for (const [beta, value, dz] of [
    [0, 0.085123, [-0.2, 0.1, 0.1]],
    [1, 0.092033, [-0.214253, 0.09403, 0.120223]],
    [0.5, 0.021901, [-0.050848, 0.024187, 0.026661]],
  ] as const)
    for (const support of distillation.SUPPORTS) {
      const result = distillation.divergence(logs(S), logs(T), { beta, support })
      close([result.value], [value], 1e-6)
      const total = result.slopes.reduce((a, b) => a + b, 0)
      close(
        result.slopes.map((slope, v) => slope - S[v] * total),
        dz,
        1e-6,
      )
    }
})

test('descending a divergence leads the student to the teacher, by alternatives and tail too', () => {
  const target = [0.5, 0.25, 0.15, 0.07, 0.03]
  const softmax = (z: readonly number[]): number[] => {
    const all = z.map(Math.exp)
    return all.map((x) => x / all.reduce((a, b) => a + b, 0))
  }
  for (const beta of [0, 0.5, 1])
    for (const width of [3, 5]) {
      let logits = [0, 1, -1, 0.5, 0]
      for (let step = 0; step < 4000; step++) {
        const p = softmax(logits)
        const own = logs(p).slice(0, width)
        const { slopes } = distillation.divergence(own, logs(target).slice(0, width), { beta })
        const total = slopes.reduce((a, b) => a + b, 0)
        logits = logits.map((z, v) => z - 0.5 * ((slopes[v] ?? 0) - p[v] * total))
      }
      const p = softmax(logits)
      close(p.slice(0, width), target.slice(0, width), 1e-3)
    }
})

test('COPSD cuts each outcome before the sum, and what is cut has no slope', () => {
  const [T, S] = [
    [0.7, 0.2, 0.1],
    [0.5, 0.3, 0.2],
  ]
  const { value, slopes } = distillation.divergence(logs(S), logs(T), { beta: 0, support: 'full', elementLimit: 0.05 })
  close([value], [0.05 + 0.2 * Math.log(0.2 / 0.3) + 0.1 * Math.log(0.5)])
  assert.ok(value < 0)
  close(slopes, [0, -0.2, -0.1])
  // Through the softmax: S (sum of T over the others) - T there.
  const total = slopes.reduce((a, b) => a + b, 0)
  close(
    slopes.map((slope, v) => slope - S[v] * total),
    [0.15, 0.09 - 0.2, 0.06 - 0.1],
  )
})

test('a divergence is never negative, 0 for equal distributions, and the tail bounds it from below', () => {
  const random = createRandom(4)
  const draw = (): number[] => {
    const raw = Array.from({ length: 6 }, () => Math.exp(1.5 * random.normal()))
    return raw.map((x) => Math.log(x / raw.reduce((a, b) => a + b, 0)))
  }
  for (let i = 0; i < 50; i++)
    for (const beta of [0, 0.2, 0.5, 1]) {
      const [s, t] = [draw(), draw()]
      const whole = distillation.divergence(s, t, { beta, support: 'full' }).value
      const part = distillation.divergence(s.slice(0, 3), t.slice(0, 3), { beta, support: 'tail' }).value
      assert.ok(part >= -1e-12 && part <= whole + 1e-9, `${part} of ${whole} at beta ${beta}`)
      close([distillation.divergence(s, s, { beta }).value], [0])
    }
})

const losses: Record<string, Loss> = {
  forward: distillation.divergenceLoss({ beta: 0 }),
  reverse: distillation.divergenceLoss({ beta: 1 }),
  'reverse full': distillation.divergenceLoss({ beta: 1, support: 'full' }),
  'js renormalized': distillation.divergenceLoss({ beta: 0.3, support: 'renormalize', temperature: 1.3 }),
  js: distillation.divergenceLoss({ beta: 0.7 }),
  clamped: distillation.divergenceLoss({ beta: 0, elementLimit: 0.03 }),
  k2: distillation.sampledReverseKl('k2'),
  importance: distillation.importanceLoss(null),
  'importance clipped': distillation.importanceLoss({ clipLow: 0.2, clipHigh: 0.2 }),
}

for (const [name, loss] of Object.entries(losses))
  test(`slopes of ${name} are those of its value`, () => {
    for (let seed = 1; seed <= 5; seed++)
      assert.ok(gradientError(loss, randomLossTokens(seed, { alternatives: 3 })) < 1e-6)
    assertLossEdges(loss, { alternatives: 3 })
  })

test('what is held constant has no slope: the score form and importance weights', () => {
  const tokens = randomLossTokens(3, { alternatives: 3 })
  const { gradient } = distillation.sampledReverseKl('score').evaluate(tokens)
  close(
    gradient,
    tokens.weights.map((c, t) => c * (tokens.logprobs[t] - tokens.teacherLogprobs![t])),
  )
  const plain = distillation.divergenceLoss({ beta: 1 }).evaluate(tokens)
  const weighted = distillation.divergenceLoss({ beta: 1, weightCap: 1.1 }).evaluate(tokens)
  assert.ok(weighted.gradient.every((slope) => slope === 0))
  close(
    weighted.alternativesGradient!,
    plain.alternativesGradient!.map(
      (slope, k) =>
        slope * Math.min(1.1, Math.exp(tokens.logprobs[Math.floor(k / 3)] - tokens.oldLogprobs[Math.floor(k / 3)])),
    ),
  )
  assertLossEdges(distillation.sampledReverseKl('score', 2))
})

test('the expected slope of the score form over all tokens is that of the reverse KL', () => {
  const [t] = places
  const [s, q] = [row(student, t), row(teacher, t)]
  const expected = new Float64Array(vocabulary)
  s.forEach((logprob, y) => {
    const slope = Math.exp(logprob) * (logprob - q[y])
    s.forEach((other, v) => (expected[v] += slope * ((v === y ? 1 : 0) - Math.exp(other))))
  })
  const { slopes } = distillation.divergence(s, q, { beta: 1, support: 'full' })
  const total = slopes.reduce((a, b) => a + b, 0)
  close(
    expected,
    slopes.map((slope, v) => slope - Math.exp(s[v]) * total),
    1e-6,
  )
})

test('extremes of alternatives: none, impossible ones, and a teacher that is sure', () => {
  const extremes = [-1e30, -Infinity, -700, -50, -1e-12, 0]
  for (const beta of [0, 0.5, 1])
    for (const support of distillation.SUPPORTS)
      for (const a of extremes)
        for (const b of extremes) {
          const { value, slopes } = distillation.divergence([a, -2], [b, -2], { beta, support })
          assert.ok([value, ...slopes].every(Number.isFinite), `${a} ${b} at beta ${beta}, ${support}: ${value}`)
        }
  const tokens = randomLossTokens(1, { alternatives: 2 })
  tokens.alternatives!.ids.fill(-1)
  tokens.alternatives!.logprobs.fill(NaN)
  const { value, alternativesGradient } = distillation.divergenceLoss({ beta: 0.5 }).evaluate(tokens)
  assert.equal(value, 0)
  assert.ok(alternativesGradient!.every((slope) => slope === 0))
  const bare = randomLossTokens(1)
  assert.throws(() => distillation.divergenceLoss({ beta: 0 }).evaluate(bare), { code: 'usage' })
  assert.throws(() => distillation.sampledReverseKl('k2').evaluate({ ...bare, teacherLogprobs: undefined }), {
    code: 'usage',
  })
})

const shown: Shown = { tokens: [7, 8, 9, 10], mask: Uint8Array.of(0, 1, 1, 1) }
const contextWith = (demonstrations: (Shown | null)[], step = 1): LearnContext => ({
  step,
  seed: 1,
  state: null,
  demonstrations,
})

/** A scored lesson: every number another, so that methods which read different ones answer differently. */
function scored(algorithm: Algorithm, seed = 1, step = 1): TrainSequence[] {
  const random = createRandom(seed)
  const groups = [testGroup([0, 1, 1]), groupOf([testTrajectory(0), testTrajectory(1)], { language: 'sw' })]
  const lesson = algorithm.learn(groups, contextWith([shown, null], step))
  const k = algorithm.needs.alternatives ?? 2
  return lesson.sequences.map((sequence) => {
    const draw = (size: number): Float32Array => Float32Array.from({ length: size }, () => -0.3 - 2 * random.uniform())
    const n = sequence.tokens.length
    return {
      ...sequence,
      oldLogprobs: draw(n),
      teacherLogprobs: draw(n),
      referenceLogprobs: draw(n),
      entropy: draw(n).map(Math.abs),
      alternatives: { count: k, ids: Int32Array.from({ length: n * k }, (_, i) => i % k), logprobs: draw(n * k) },
      teacherAlternatives: draw(n * k),
      referenceAlternatives: draw(n * k),
    }
  })
}

const lesson = (algorithm: Algorithm, step = 1): TrainSequence[] => {
  const sequences = scored(algorithm, 1, step)
  return algorithm.weigh(algorithm.refine?.(sequences, contextWith([shown, null], step)) ?? sequences)
}
const made = (method: (typeof distillation.distillationObjectives)[number], options: object = {}): Algorithm =>
  method.make(method.options.parse({ ...options }) as never) as Algorithm

test('every method learns, with weights that sum to 1, and survives groups without anything', () => {
  const methods = distillation.distillationObjectives.filter(({ kind }) => kind === 'method')
  assert.equal(methods.length, 12)
  for (const method of methods) {
    const algorithm = made(method)
    const sequences = lesson(algorithm)
    assert.ok(sequences.length > 0, method.name)
    const total = sequences.reduce((sum, { weights }) => sum + weights.reduce((a, b) => a + b, 0), 0)
    close([total], [1], 1e-5)
    const empty = testGroup([0, 1], { length: 0 })
    assert.deepEqual(algorithm.learn([empty], contextWith([null])).sequences, [], method.name)
    assert.deepEqual(algorithm.learn([], contextWith([])).sequences, [], method.name)
    assert.ok(algorithm.needs.teacher, method.name)
  }
})

test('GKD chooses by seed between samples and demonstrations; a problem without one gives samples', () => {
  const algorithm = made(distillation.gkd, { lambda: 0.5 })
  const rolesAt = (step: number): string =>
    lesson(algorithm, step)
      .map(({ info }) => info!.role[0])
      .join('')
  const seen = Array.from({ length: 40 }, (_, i) => rolesAt(i + 1))
  assert.deepEqual([...new Set(seen)].sort(), ['dss', 'sssss'])
  const onPolicy = seen.filter((roles) => roles === 'sssss').length
  assert.ok(onPolicy > 10 && onPolicy < 30, `${onPolicy} of 40`)
  assert.deepEqual(
    seen,
    Array.from({ length: 40 }, (_, i) => rolesAt(i + 1)),
  )
  assert.equal(made(distillation.gkd, { lambda: 1 }).needs.demonstrations, undefined)
  assert.ok(lesson(made(distillation.onPolicyDivergence)).every(({ info }) => info!.role === 'sample'))
  assert.ok(lesson(made(distillation.offPolicyDivergence)).every(({ info }) => info!.role === 'demonstration'))
})

test('on-policy distillation: the gap to the teacher, discounted, with an outcome where asked', () => {
  const sequences = scored(made(distillation.onPolicyDistillation))
  const gaps = sequences.map(({ mask, teacherLogprobs, oldLogprobs }) =>
    Array.from(mask, (m, t) => (m ? teacherLogprobs![t] - oldLogprobs![t] : 0)),
  )
  const advantages = (options: object): Float32Array[] => {
    const algorithm = made(distillation.onPolicyDistillation, options)
    return algorithm.refine!(scored(algorithm)).map((sequence) => sequence.advantages)
  }
  advantages({ coefficient: 0.5 }).forEach((own, i) =>
    close(
      own,
      gaps[i].map((gap) => gap / 2),
      1e-6,
    ),
  )
  const [first] = advantages({ gamma: 1 })
  close([first[2], first[4]], [gaps[0][2] + gaps[0][3] + gaps[0][4], gaps[0][4]], 1e-6)
  // The first group's rewards are 0, 1, 1.
  close([advantages({ outcome: 3 })[1][3] - gaps[1][3]], [1], 1e-5)
  const impossible = { ...sequences[0], teacherLogprobs: sequences[0].teacherLogprobs!.map(() => -Infinity) }
  assert.ok(distillation.teacherGap(impossible).every((gap) => gap === 0 || gap === -20))
  // Its nearest neighbour follows the policy: off the sampler the two slopes differ.
  const tokens = randomLossTokens(5)
  tokens.advantages = tokens.teacherLogprobs!.map((logprob, t) => logprob - tokens.oldLogprobs[t])
  const frozen = distillation.importanceLoss(null).evaluate(tokens).gradient
  const moving = distillation.sampledReverseKl('score').evaluate(tokens).gradient
  assert.ok(frozen.some((slope, t) => Math.abs(slope - moving[t]) > 1e-3))
  tokens.oldLogprobs = tokens.logprobs
  tokens.advantages = tokens.teacherLogprobs!.map((logprob, t) => logprob - tokens.logprobs[t])
  close(distillation.importanceLoss(null).evaluate(tokens).gradient, moving)
})

test('OPD^2 is silent where the teacher is its own base, and never points away from the teacher', () => {
  const sequences = scored(made(distillation.opd2))
  for (const sequence of sequences) {
    const same = {
      ...sequence,
      referenceLogprobs: sequence.teacherLogprobs,
      referenceAlternatives: sequence.teacherAlternatives,
    }
    close(
      distillation.deltaAdvantages(same),
      sequence.mask.map(() => 0),
      1e-6,
    )
  }
  // Two outcomes, S = (1/2, 1/2): the teacher moved from (1/2, 1/2) to (3/4, 1/4) and the first was sampled.
  const two = (a: number, b: number): Float32Array => Float32Array.of(0, 0, Math.log(a), Math.log(b))
  const sequence: TrainSequence = {
    ...sequences[0],
    tokens: [0, 0],
    mask: Uint8Array.of(0, 1),
    oldLogprobs: Float32Array.of(0, Math.log(0.5)),
    teacherLogprobs: Float32Array.of(0, Math.log(0.75)),
    referenceLogprobs: Float32Array.of(0, Math.log(0.5)),
    alternatives: { count: 2, ids: Int32Array.of(-1, -1, 0, 1), logprobs: two(0.5, 0.5) },
    teacherAlternatives: two(0.75, 0.25),
    referenceAlternatives: two(0.5, 0.5),
  }
  close(distillation.deltaAdvantages(sequence), [0, Math.log(1.5) - (Math.log(1.5) + Math.log(0.5)) / 2], 1e-6)
  // The same signal, but the policy already says the token more than the teacher does.
  const beyond = {
    ...sequence,
    oldLogprobs: Float32Array.of(0, Math.log(0.9)),
    alternatives: { ...sequence.alternatives!, logprobs: two(0.9, 0.1) },
  }
  assert.equal(distillation.deltaAdvantages(beyond)[1], 0)
  assert.throws(() => distillation.deltaAdvantages({ ...sequence, referenceAlternatives: undefined }), {
    code: 'usage',
  })
})

test('each language has its teacher, and its advantages the spread of all', () => {
  assert.equal(distillation.teacherFor('pt-BR', ['en', 'pt']), 'pt')
  assert.equal(distillation.teacherFor('sw', ['en', 'pt'], 'en'), 'en')
  assert.equal(distillation.teacherFor('sw', ['en', 'pt']), null)
  const scales = distillation.languageScales({ en: [1, -1], sw: [4, -4] })
  close([scales.en, scales.sw], [Math.sqrt(8.5), Math.sqrt(8.5) / 4])
  assert.deepEqual(distillation.languageScales({ en: [2, 2], sw: [2] }), { en: 1, sw: 1 })
  assert.deepEqual(distillation.languageScales({ en: [5], sw: [0, 1] }).en, 4)
  const plain = lesson(made(distillation.lsMopd, { scales: null }))
  const scaled = lesson(made(distillation.lsMopd))
  const ratio = (i: number): number => scaled[i].advantages[2] / plain[i].advantages[2]
  close([ratio(1), ratio(4)], [ratio(0), ratio(3)], 1e-5)
  assert.ok(Math.abs(ratio(0) - ratio(3)) > 1e-3)
  close(plain[0].advantages, lesson(made(distillation.onPolicyDistillation))[0].advantages)
})

test('MiniLLM: returns to the end by length, whitened; the ends of gamma', () => {
  const [gaps, mask] = [Float32Array.of(0, 1, 9, 3, 5), Uint8Array.of(0, 1, 0, 1, 1)]
  close(distillation.miniLlmReturns(gaps, mask, { gamma: 1, lengthNormalization: true }), [0, 3, 0, 4, 5])
  close(distillation.miniLlmReturns(gaps, mask, { gamma: 1, lengthNormalization: false }), [0, 9, 0, 8, 5])
  close(distillation.miniLlmReturns(gaps, mask, { gamma: 0, lengthNormalization: true }), [0, 1, 0, 3, 5])
  const sequences = lesson(made(distillation.miniLlm))
  const all = sequences.flatMap(({ mask: own, advantages }) => [...advantages].filter((_, t) => own[t]))
  close([all.reduce((a, b) => a + b, 0), all.reduce((a, b) => a + b * b, 0) / all.length], [0, 1], 1e-4)
  const withText = lesson(made(distillation.miniLlm, { language: 0.5 }))
  const [demonstration] = withText.filter(({ info }) => info!.role === 'demonstration')
  close([demonstration.weights.reduce((a, b) => a + b, 0)], [0.5], 1e-6)
  close(demonstration.advantages, [0, 1, 1, 1])
})

const miniLlm = JSON.parse(
  readFileSync(new URL('../../../src/algorithms/distillation/minillm.fixture.json', import.meta.url), 'utf8'),
) as {
  vocabulary: number
  lengths: number[]
  student: number[][]
  teacher: number[][]
  returns: { gamma: number; lengthNormalization: boolean; returns: number[][] }[]
  singleStep: { value: number; slopes: number[] }
}

test('returns and single steps of MiniLLM are those of TRL 1.0', () => {
  const { vocabulary: size, lengths, returns, singleStep } = miniLlm
  for (const { returns: expected, ...options } of returns)
    lengths.forEach((length, i) => {
      const first = (values: number[]): number[] => values.filter((_, k) => k % size === 0)
      const own = first(miniLlm.student[i])
      const gaps = Float32Array.from(first(miniLlm.teacher[i]), (logprob, t) => logprob - own[t])
      close(distillation.miniLlmReturns(gaps, new Uint8Array(length).fill(1), options), expected[i], 1e-5)
    })
  const rows = lengths.flatMap((length, i) => Array.from({ length }, (_, t) => ({ i, t })))
  let value = 0
  const slopes = rows.flatMap(({ i, t }) => {
    const cut = (values: number[]): number[] => values.slice(t * size, (t + 1) * size)
    const step = distillation.divergence(cut(miniLlm.student[i]), cut(miniLlm.teacher[i]), { beta: 1 })
    value += step.value / rows.length
    const total = step.slopes.reduce((a, b) => a + b, 0)
    return cut(miniLlm.student[i]).map((logprob, v) => (step.slopes[v] - Math.exp(logprob) * total) / rows.length)
  })
  close([value], [singleStep.value], 1e-6)
  close(slopes, singleStep.slopes, 1e-6)
})

test('SDPO leaves out what has no successful sibling; SDFT keeps all, and may skip the beginning', () => {
  const group = groupOf([0, 1, 0].map((reward) => testTrajectory(reward)))
  assert.deepEqual(distillation.siblingSolutions(group, { threshold: 1 }, createRandom(1)), [1, -1, 1])
  assert.deepEqual(distillation.siblingSolutions(group, { threshold: 1, own: true }, createRandom(1)), [1, 1, 1])
  const count = (algorithm: Algorithm): number =>
    algorithm.learn([group, testGroup([0, 0])], contextWith([shown, shown])).sequences.length
  assert.equal(count(made(distillation.sdpo)), 2)
  assert.equal(count(made(distillation.sdft)), 5)
  const [skipped] = made(distillation.sdft, { skip: 2 }).learn([group], contextWith([shown])).sequences
  assert.deepEqual([...skipped.mask], [0, 0, 0, 0, 1])
  assert.equal(made(distillation.sdpo, { mode: 'topk' }).needs.alternatives, 100)
  assert.equal(made(distillation.sdpo).needs.alternatives, undefined)
})

test('a self-teacher needs a solution to read, and follows the policy where asked', () => {
  const selves = [distillation.contextDistillation, distillation.copsd, distillation.sdft]
  for (const method of selves) {
    const groups = [testGroup([0, 1, 1]), testGroup([0, 1, 1])]
    const { origins } = made(method).learn(groups, contextWith([null, shown]))
    assert.deepEqual(new Set(origins.map(({ group }) => group)), new Set([1]), method.name)
    assert.deepEqual(made(method, { teacherRate: 0.1 }).needs.reference, { rate: 0.1 })
  }
  assert.equal(made(distillation.copsd).needs.reference, undefined)
  assert.deepEqual(made(distillation.sdpo).needs.reference, { rate: 0.05 })
})

test('sdpo names the sibling its teacher reads, or asks for the expert', () => {
  const groups = [testGroup([0, 1, 1]), testGroup([0, 0]), testGroup([0, 1])]
  const { siblings, origins } = made(distillation.sdpo).learn(groups)
  assert.deepEqual(
    origins.map(({ group, trajectory }) => [group, trajectory]),
    [
      [0, 0],
      [0, 1],
      [0, 2],
      [2, 0],
    ],
  )
  assert.ok([1, 2].includes(siblings![0]!))
  assert.deepEqual(siblings!.slice(1), [2, 1, 1])
  assert.equal(made(distillation.sdpo).needs.demonstrations, undefined)
  const expert = made(distillation.sdpo, { solution: 'expert' })
  const lesson = expert.learn(groups, contextWith([shown, shown, null]))
  assert.deepEqual([lesson.origins.length, lesson.siblings, expert.needs.demonstrations], [3, undefined, true])
})

test('methods that share a form differ in teacher, loss or sequences', () => {
  const valueOf = (method: (typeof distillation.distillationObjectives)[number]): number => {
    const tokens = randomLossTokens(2, { alternatives: 3 })
    return made(method).loss.evaluate(tokens).value
  }
  assert.equal(made(distillation.contextDistillation).needs.teacher, 'privileged')
  assert.equal(made(distillation.onPolicyDivergence).needs.teacher, 'model')
  const values = [
    distillation.contextDistillation,
    distillation.copsd,
    distillation.sdft,
    distillation.onPolicyDivergence,
  ].map(valueOf)
  values.forEach((value, i) => values.slice(i + 1).forEach((other) => assert.ok(Math.abs(value - other) > 1e-4)))
})

test("a discriminator's loss has the slopes of its value; replies that pass earn one more", () => {
  const random = createRandom(8)
  const logits = Array.from({ length: 6 }, () => 3 * random.normal())
  const student = logits.map((_, i) => i % 2 === 0)
  const { value, gradient } = distillation.discriminatorLoss(logits, student)
  const direct = logits.map((z, i) => -Math.log(1 / (1 + Math.exp(student[i] ? -z : z)))).reduce((a, b) => a + b / 6, 0)
  close([value], [direct])
  logits.forEach((_, i) => {
    const at = (d: number): number =>
      distillation.discriminatorLoss(
        logits.map((z, j) => z + (i === j ? d : 0)),
        student,
      ).value
    close([gradient[i]], [(at(1e-6) - at(-1e-6)) / 2e-6], 1e-8)
  })
  assert.ok(Number.isFinite(distillation.discriminatorLoss([-1e4, 1e4], [true, false]).value))
  assert.deepEqual(distillation.discriminatorLoss([], []), { value: 0, gradient: [] })
  assert.equal(distillation.similarityReward(-2, 1), 2)
  assert.equal(distillation.similarityReward(2, 1), 1)
})
