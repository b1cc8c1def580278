import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { clippedLoss, crossEntropy } from '../../algorithms/index.js'
import { createRandom, MyriadError } from '../../core/index.js'
import {
  adapterSchema,
  readAdapter,
  readCheckpoint,
  readSafetensors,
  writeAdapter,
  writeCheckpoint,
  type Weights,
} from '../../models/index.js'
import { lossTokens } from '../loss-tokens.js'
import type { Loss, LossTokens, Policy, TrainSequence } from '../types.js'
import { localPolicyFromWeights, type LocalPolicy, type LocalPolicyOptions } from './index.js'

const fixtures = fileURLToPath(new URL('../../../src/models/fixtures', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'myriad-objectives-'))
const opened: Policy[] = []
after(async () => {
  for (const policy of opened) await policy.close()
  rmSync(folder, { recursive: true })
})

const vocabulary = 40
const count = 3

async function open(options: LocalPolicyOptions & { model?: string; from?: string } = {}): Promise<LocalPolicy> {
  const { model = 'llama', from, ...rest } = options
  const { config, weights } = await readCheckpoint(from ?? join(fixtures, model))
  const policy = localPolicyFromWeights(config, weights, {
    workers: 1,
    slots: 8,
    rowLength: 32,
    tokenBudget: 64,
    ...rest,
  })
  opened.push(policy)
  return policy
}

/** Sequences with everything an objective may read; two share a prompt, one has holes in its mask, one alternative is none. */
function batchOf(seed: number): TrainSequence[] {
  const random = createRandom(seed)
  return [9, 9, 14, 6, 11].map((length, i) => {
    const tokens = Array.from({ length }, (_, t) => (i < 2 && t < 4 ? 3 + t : random.integer(0, vocabulary - 1)))
    const draw = (size = length): Float32Array => Float32Array.from({ length: size }, () => random.normal())
    const ids = Int32Array.from({ length: length * count }, () => random.integer(0, vocabulary - 1))
    ids[length * count - 1] = -1
    ids[length * count - 2] = tokens[length - 1]
    return {
      tokens,
      mask: Uint8Array.from(tokens, (_, t) => (t > 3 && !(i === 2 && t % 4 === 0) ? 1 : 0)),
      logprobs: draw().map((x) => -3 + 0.3 * x),
      oldLogprobs: draw().map((x) => -3 + 0.3 * x),
      referenceLogprobs: draw().map((x) => -3 + x),
      teacherLogprobs: draw().map((x) => -3 + x),
      advantages: draw(),
      weights: draw().map((x) => 0.1 + 0.02 * x),
      values: draw(),
      returns: draw(),
      alternatives: { count, ids, logprobs: draw(length * count).map((x) => -3 + x) },
      teacherAlternatives: draw(length * count).map((x) => -3 + x),
      referenceAlternatives: draw(length * count).map((x) => -3 + x),
      info: { group: i, role: 'sample', reward: i, task: 'a', language: 'en' },
    }
  })
}

/** Every slope there is: ratios, entropies squared, values against returns, divergence from a teacher over alternatives. */
function everything(parts: { values: boolean }): Loss {
  return {
    name: 'everything',
    reads: { entropy: true, alternatives: true, values: parts.values },
    evaluate: (tokens) => {
      const { logprobs, oldLogprobs, advantages, weights, entropy, values, returns, alternatives } = tokens
      const gradient = new Float64Array(logprobs.length)
      const entropyGradient = new Float64Array(logprobs.length)
      const valueGradient = new Float64Array(logprobs.length)
      const alternativesGradient = new Float64Array(logprobs.length * count)
      let value = 0
      logprobs.forEach((logprob, t) => {
        const c = weights[t]
        const ratio = Math.exp(logprob - oldLogprobs[t])
        value -= c * advantages[t] * ratio
        gradient[t] = -c * advantages[t] * ratio
        value += c * entropy![t] ** 2
        entropyGradient[t] = 2 * c * entropy![t]
        if (parts.values) {
          const off = values![t] - returns![t]
          value += c * 2 * off ** 2
          valueGradient[t] = 4 * c * off
        }
        for (let k = t * count; k < (t + 1) * count; k++) {
          if (alternatives!.ids[k] < 0) continue
          const p = Math.exp(alternatives!.logprobs[k])
          const off = alternatives!.logprobs[k] - alternatives!.teacher![k]
          value += 3 * c * p * off
          alternativesGradient[k] = 3 * c * p * (off + 1)
        }
      })
      return {
        value,
        gradient,
        entropyGradient,
        alternativesGradient,
        ...(parts.values && { valueGradient }),
        metrics: {},
      }
    },
  }
}

async function evaluateNow(policy: Policy, batch: TrainSequence[], loss: Loss, temperature: number): Promise<number> {
  const scored = await policy.score(
    batch.map(({ tokens }) => tokens),
    {
      temperature,
      masks: batch.map(({ mask }) => mask),
      values: loss.reads?.values,
      alternatives: { count, ids: batch.map(({ alternatives }) => alternatives!.ids) },
    },
  )
  return loss.evaluate(lossTokens(batch, scored, loss)).value
}

/** The gradient of the last step, the first of a policy: 1 - beta1 of it is Adam's first moment. */
async function gradientOf(policy: LocalPolicy, name: string): Promise<Weights> {
  await policy.save(join(folder, name), { optimizer: true })
  const { tensors } = readSafetensors(join(folder, name, 'optimizer.safetensors'))
  return Object.fromEntries(
    Object.entries(tensors).flatMap(([key, { data }]) =>
      key.startsWith('first.') ? [[key.slice('first.'.length), data.map((moment) => moment / 0.1)]] : [],
    ),
  )
}

const normOf = (values: Float32Array): number => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))

for (const [model, temperature] of [
  ['llama', 0.7],
  ['gemma2', 1.3],
  ['gpt2', 1],
] as const)
  test(`${model}: the gradient of any objective is the slope of its value along every weight (temperature ${temperature})`, async () => {
    const policy = await open({ model, valueHead: true })
    const batch = batchOf(3)
    const loss = everything({ values: true })
    // A head of zeros hands nothing on: a step away from there.
    await policy.update(batch, { loss, temperature, learningRate: 0.05 })
    const at = join(folder, `slopes-${model}`)
    await policy.save(at, { optimizer: true })
    const { config, weights } = await readCheckpoint(at)
    const head = readSafetensors(join(at, 'value_head.safetensors')).tensors
    const optimizer = readSafetensors(join(at, 'optimizer.safetensors')).tensors
    const fresh = Object.fromEntries(
      Object.entries(optimizer).map(([name, { shape, data }]) => [name, { shape, data: data.map(() => 0) }]),
    )
    /** The policy with one weight replaced, and an optimizer that has not begun. */
    const become = async (name?: string, replaced?: Float32Array): Promise<void> => {
      const values = Object.fromEntries(
        Object.entries(head).map(([key, { shape, data }]) => [key, { shape, data: key === name ? replaced! : data }]),
      )
      writeCheckpoint(at, config, name && name in weights ? { ...weights, [name]: replaced! } : weights, {
        extra: { 'value_head.safetensors': values, 'optimizer.safetensors': fresh },
        json: { 'trainer_state.json': { version: 0, optimizerSteps: 0 } },
      })
      await policy.load(at)
    }
    await become()
    const before = await evaluateNow(policy, batch, loss, temperature)
    const result = await policy.update(batch, { loss, temperature, learningRate: 0, clipNorm: 1e9 })
    assert.ok(Math.abs(result.loss - before) < 1e-6 * Math.abs(before))
    assert.equal(result.applied, true)
    const gradient = await gradientOf(policy, 'slopes')
    assert.deepEqual(Object.keys(gradient).sort(), [...Object.keys(weights), ...Object.keys(head)].sort())
    for (const [name, slopes] of Object.entries(gradient)) {
      const norm = normOf(slopes)
      const original = weights[name] ?? head[name].data
      const valueAt = async (distance: number): Promise<number> => {
        await become(
          name,
          original.map((value, i) => value + (norm === 0 ? 0 : (distance * slopes[i]) / norm)),
        )
        return evaluateNow(policy, batch, loss, temperature)
      }
      // From two distances, so that the third derivative falls out.
      const slope = async (h: number): Promise<number> => ((await valueAt(h)) - (await valueAt(-h))) / (2 * h)
      const measured = (4 * (await slope(0.005)) - (await slope(0.01))) / 3
      assert.ok(
        Math.abs(measured - norm) < 5e-3 * norm + 2e-4 * result.gradientNorm,
        `${name}: gradient ${norm}, slope ${measured}`,
      )
    }
    const whole = Math.hypot(...Object.values(gradient).map(normOf))
    assert.ok(Math.abs(whole - result.gradientNorm) < 1e-5 * result.gradientNorm)
  })

test('the gradient of an adapter and of a value head beside it is the slope of the value; the base has no head', async () => {
  const adapter = { config: adapterSchema.parse({ kind: 'lora', rank: 2, alpha: 4 }), seed: 1 }
  const policy = await open({ adapter, valueHead: true })
  const batch = batchOf(4)
  const loss = everything({ values: true })
  // B and the head are zero at first: a step away from there, everything has a gradient.
  await policy.update(batch, { loss, learningRate: 0.05 })
  const at = join(folder, 'slopes-adapter')
  await policy.save(at, { optimizer: true })
  const { config } = await readCheckpoint(join(fixtures, 'llama'))
  const { weights } = readAdapter(at, config)
  const head = readSafetensors(join(at, 'value_head.safetensors')).tensors
  const optimizer = readSafetensors(join(at, 'optimizer.safetensors')).tensors
  for (const { data } of Object.values(optimizer)) data.fill(0)
  const become = async (direction: Weights, distance: number): Promise<void> => {
    const from = (name: string, data: Float32Array): Float32Array =>
      data.map((value, i) => value + (distance === 0 ? 0 : distance * direction[name][i]))
    writeAdapter(at, {
      config,
      adapter: adapter.config,
      weights: Object.fromEntries(Object.entries(weights).map(([name, data]) => [name, from(name, data)])),
      extra: {
        'value_head.safetensors': Object.fromEntries(
          Object.entries(head).map(([name, { shape, data }]) => [name, { shape, data: from(name, data) }]),
        ),
        'optimizer.safetensors': optimizer,
      },
      json: { 'trainer_state.json': { version: 0, optimizerSteps: 0 } },
    })
    await policy.load(at)
  }
  await become({}, 0)
  const { gradientNorm } = await policy.update(batch, { loss, learningRate: 0, clipNorm: 1e9 })
  const gradient = await gradientOf(policy, 'slopes')
  assert.ok(normOf(gradient['value_head.weight']) > 0.01 * gradientNorm)
  for (const slopes of Object.values(gradient)) slopes.forEach((slope, i) => (slopes[i] = slope / gradientNorm))
  const valueAt = async (distance: number): Promise<number> => {
    await become(gradient, distance)
    return evaluateNow(policy, batch, loss, 1)
  }
  const slope = async (h: number): Promise<number> => ((await valueAt(h)) - (await valueAt(-h))) / (2 * h)
  const measured = (4 * (await slope(0.005)) - (await slope(0.01))) / 3
  assert.ok(Math.abs(measured - gradientNorm) < 5e-3 * gradientNorm, `gradient ${gradientNorm}, slope ${measured}`)
  const base = await policy.base()
  await assert.rejects(
    () => base.score([batch[0].tokens], { values: true }),
    (error) => error instanceof MyriadError && error.code === 'usage' && /valueHead: true/.test(error.message),
  )
  await base.close()
})

test('the compiled clipped loss and the pure function take the same step, from logprobs of before the update', async () => {
  const batch = batchOf(5)
  const loss = clippedLoss({ clipLow: 0.1, clipHigh: 0.2, klCoefficient: 0.3 })
  const outcomes = []
  for (const chosen of [loss, { name: 'pure', evaluate: loss.evaluate }]) {
    const policy = await open({ workers: 2 })
    const scored = await policy.score(batch.map(({ tokens }) => tokens))
    const near = batch.map((sequence, i) => ({
      ...sequence,
      oldLogprobs: scored[i].logprobs.map((value, t) => value + 0.25 * Math.sin(t)),
    }))
    const result = await policy.update(near, { loss: chosen, learningRate: 1e-3, clipNorm: 1e9 })
    const gradient = await gradientOf(policy, chosen.name)
    const { weights } = await readCheckpoint(join(folder, chosen.name))
    outcomes.push({ result, gradient, weights })
  }
  const [compiled, pure] = outcomes
  const norm = pure.result.gradientNorm
  assert.ok(pure.result.metrics.clipFraction > 0.05 && pure.result.metrics.clipFraction < 0.9)
  assert.ok(Math.abs(compiled.result.gradientNorm - norm) < 1e-5 * norm, `${compiled.result.gradientNorm}, ${norm}`)
  for (const [name, slopes] of Object.entries(pure.gradient))
    slopes.forEach((slope, i) => {
      const off = Math.abs(compiled.gradient[name][i] - slope)
      assert.ok(off < 1e-5 * norm, `${name}[${i}]: gradient off by ${off}`)
      // Where a gradient is rounding alone, Adam's first step has its sign and the full learning rate.
      const step = Math.abs(compiled.weights[name][i] - pure.weights[name][i])
      assert.ok(step < 1e-5 || Math.abs(slope) < 1e-5 * norm, `${name}[${i}]: weight off by ${step}`)
    })
})

test('old logprobs are those of before the update where there are any, else the sampler’s', async () => {
  const batch = batchOf(6)
  for (const [sequences, expected] of [
    [batch, (s: TrainSequence) => s.oldLogprobs!],
    [batch.map(({ oldLogprobs: _, ...rest }) => rest), (s: TrainSequence) => s.logprobs],
  ] as const) {
    const seen: LossTokens[] = []
    const loss = clippedLoss()
    for (const compiled of [loss.compiled, undefined]) {
      const policy = await open()
      const watched: Loss = {
        name: 'watched',
        compiled,
        evaluate: (tokens) => (seen.push(tokens), loss.evaluate(tokens)),
      }
      const result = await policy.update(sequences, { loss: watched, learningRate: 0 })
      const at = batch.flatMap((s) => [...expected(s)].filter((_, t) => s.mask[t]))
      assert.deepEqual([...seen.at(-1)!.oldLogprobs], at)
      assert.deepEqual(
        [...seen.at(-1)!.behaviourLogprobs!],
        batch.flatMap((s) => [...s.logprobs].filter((_, t) => s.mask[t])),
      )
      seen.at(-1)!.weights[0] = result.gradientNorm
    }
    const [compiled, pure] = seen.map(({ weights }) => weights[0])
    assert.ok(Math.abs(compiled - pure) < 1e-4 * pure, `gradient norms ${compiled} and ${pure}`)
  }
})

test('an objective sees every constant of its sequences, in their order', async () => {
  const policy = await open({ valueHead: true })
  const batch = batchOf(7)
  let seen: LossTokens | undefined
  const loss = everything({ values: true })
  await policy.update(batch, {
    loss: { ...loss, evaluate: (tokens) => ((seen = tokens), loss.evaluate(tokens)) },
    learningRate: 0,
  })
  const pick = (of: (s: TrainSequence) => ArrayLike<number>, width = 1): number[] =>
    batch.flatMap((s) =>
      [...s.mask].flatMap((on, t) => (on ? Array.from({ length: width }, (_, k) => of(s)[t * width + k]) : [])),
    )
  assert.deepEqual(
    [...seen!.referenceLogprobs!],
    pick((s) => s.referenceLogprobs!),
  )
  assert.deepEqual(
    [...seen!.teacherLogprobs!],
    pick((s) => s.teacherLogprobs!),
  )
  assert.deepEqual(
    [...seen!.returns!],
    pick((s) => s.returns!),
  )
  assert.deepEqual(
    [...seen!.oldValues!],
    pick((s) => s.values!),
  )
  assert.deepEqual(
    [...seen!.alternatives!.ids],
    pick((s) => s.alternatives!.ids, count),
  )
  assert.deepEqual(
    [...seen!.alternatives!.old!],
    pick((s) => s.alternatives!.logprobs, count),
  )
  assert.deepEqual(
    [...seen!.alternatives!.teacher!],
    pick((s) => s.teacherAlternatives!, count),
  )
  assert.deepEqual(
    [...seen!.alternatives!.reference!],
    pick((s) => s.referenceAlternatives!, count),
  )
  assert.deepEqual(
    seen!.sequences?.map(({ reward }) => reward),
    [0, 1, 2, 3, 4],
  )
  const [scored] = await policy.score([batch[0].tokens], { alternatives: { count, ids: [batch[0].alternatives!.ids] } })
  batch[0].mask.forEach((on, t) => {
    if (!on) return
    const i = t - 4
    assert.ok(Math.abs(seen!.logprobs[i] - scored.logprobs[t]) < 1e-5)
    assert.ok(Math.abs(seen!.entropy![i] - scored.entropy[t]) < 1e-5)
    for (let k = 0; k < count; k++)
      assert.ok(
        Math.abs(seen!.alternatives!.logprobs[i * count + k] - scored.alternatives!.logprobs[t * count + k]) < 1e-5,
      )
  })
})

test('one replica and two take the same step with every kind of slope', async () => {
  const batch = batchOf(8)
  const loss = everything({ values: true })
  const outcomes = []
  for (const workers of [1, 2]) {
    const policy = await open({ workers, valueHead: true })
    const result = await policy.update(batch, { loss, learningRate: 1e-3, clipNorm: 1e9 })
    const [scored] = await policy.score([batch[2].tokens], { values: true })
    outcomes.push({
      numbers: [result.loss, result.gradientNorm],
      gradient: await gradientOf(policy, `w${workers}`),
      scored,
    })
  }
  const [one, two] = outcomes
  one.numbers.forEach((value, i) => assert.ok(Math.abs(value - two.numbers[i]) < 1e-5 * Math.abs(value)))
  for (const [name, slopes] of Object.entries(one.gradient))
    slopes.forEach((slope, i) => assert.ok(Math.abs(slope - two.gradient[name][i]) < 1e-5 * one.numbers[1]))
  one.scored.values!.forEach((value, t) => assert.ok(Math.abs(value - two.scored.values![t]) < 1e-3))
})

test('a compiled loss that reads more is not taken for its graph; one that answers more without reading is taken at its word', async () => {
  const batch = batchOf(9)
  const bonus: Loss = {
    name: 'with entropy',
    compiled: { kind: 'linear' },
    reads: { entropy: true },
    evaluate: (tokens) => ({
      value: 0,
      gradient: new Float64Array(tokens.logprobs.length),
      entropyGradient: tokens.entropy!.map(() => -0.1),
      metrics: {},
    }),
  }
  const norms = []
  for (const loss of [bonus, { ...bonus, compiled: undefined }, { ...bonus, reads: undefined, evaluate: silent }]) {
    const policy = await open()
    norms.push((await policy.update(batch, { loss, learningRate: 0 })).gradientNorm)
  }
  assert.ok(norms[0] > 0)
  assert.deepEqual(norms, [norms[0], norms[0], norms[0]])
})

function silent(tokens: LossTokens): ReturnType<Loss['evaluate']> {
  const none = new Float64Array(tokens.logprobs.length)
  return { value: 0, gradient: none, entropyGradient: none.map(() => -0.1), metrics: {} }
}

test('what an objective reads and is not there is named', async () => {
  const policy = await open()
  const batch = batchOf(10)
  const refused = async (sequences: TrainSequence[], loss: Loss, message: RegExp): Promise<void> =>
    assert.rejects(
      () => policy.update(sequences, { loss, learningRate: 0.1 }),
      (error) => error instanceof MyriadError && error.code === 'usage' && message.test(error.message),
    )
  const loss = everything({ values: false })
  await refused(batch, everything({ values: true }), /open it with valueHead: true/)
  await refused(
    batch,
    {
      name: 'late',
      evaluate: ({ logprobs }) => ({ value: 0, gradient: logprobs, valueGradient: logprobs, metrics: {} }),
    },
    /open it with valueHead: true/,
  )
  await refused([...batch.slice(1), { ...batch[0], alternatives: undefined }], loss, /"everything" reads alternatives/)
  const other = { count: 1, ids: new Int32Array(9), logprobs: new Float32Array(9) }
  await refused([{ ...batch[0], alternatives: other }, batch[1]], loss, /these have 1 and 3/)
  const outside = { ...batch[0].alternatives!, ids: new Int32Array(9 * count).fill(vocabulary) }
  await refused([{ ...batch[0], alternatives: outside }], loss, /alternative 40, which is outside the vocabulary of 40/)
  await refused(
    batch,
    { name: 'short', evaluate: () => ({ value: 0, gradient: new Float64Array(2), metrics: {} }) },
    /"short" answered 2 derivatives, but the batch asks for/,
  )
  assert.equal(policy.version, 0)
  assert.equal((await policy.update(batch, { loss, learningRate: 0.01 })).applied, true)
})

test('the most probable alternatives are the distribution itself, in order', async () => {
  const policy = await open({ workers: 2 })
  const [long, short] = [batchOf(11)[2].tokens, batchOf(11)[3].tokens]
  const temperature = 0.7
  const plain = await policy.score([long, short], { temperature })
  const whole = await policy.score([long, short], { temperature, alternatives: vocabulary })
  const few = await policy.score([long, short], { temperature, alternatives: 4 })
  const many = await policy.score([short], { temperature, alternatives: vocabulary + 2 })
  const given = await policy.score([long, short], {
    temperature,
    alternatives: { count: vocabulary, ids: whole.map(({ alternatives }) => alternatives!.ids) },
  })
  ;[long, short].forEach((tokens, s) => {
    assert.deepEqual([whole[s].alternatives!.count, few[s].alternatives!.count], [vocabulary, 4])
    assert.deepEqual([...few[s].alternatives!.ids.subarray(0, 4)], [-1, -1, -1, -1])
    tokens.forEach((token, t) => {
      if (t === 0) return
      const at = (result: typeof whole, k: number): [ids: number[], logprobs: number[]] => [
        [...result[s].alternatives!.ids.subarray(t * k, (t + 1) * k)],
        [...result[s].alternatives!.logprobs.subarray(t * k, (t + 1) * k)],
      ]
      const [ids, logprobs] = at(whole, vocabulary)
      assert.deepEqual(
        [...ids].sort((a, b) => a - b),
        [...Array(vocabulary).keys()],
      )
      assert.ok(logprobs.every((value, k) => k === 0 || value <= logprobs[k - 1]))
      assert.ok(Math.abs(logprobs.reduce((sum, value) => sum + Math.exp(value), 0) - 1) < 1e-5)
      const entropy = -logprobs.reduce((sum, value) => sum + Math.exp(value) * value, 0)
      assert.ok(Math.abs(entropy - plain[s].entropy[t]) < 1e-4)
      assert.ok(Math.abs(logprobs[ids.indexOf(token)] - plain[s].logprobs[t]) < 1e-5)
      const [fewIds, fewLogprobs] = at(few, 4)
      assert.deepEqual(fewIds, ids.slice(0, 4))
      fewLogprobs.forEach((value, k) => assert.ok(Math.abs(value - logprobs[k]) < 1e-5))
      at(given, vocabulary)[1].forEach((value, k) => assert.ok(Math.abs(value - logprobs[k]) < 1e-5))
    })
  })
  const last = many[0].alternatives!.ids.subarray(-(vocabulary + 2))
  assert.deepEqual([...last.subarray(-2)], [-1, -1])
  assert.ok(!last.subarray(0, vocabulary).includes(-1))
  const ids = new Int32Array(short.length * 2).fill(-1)
  ids[2] = 5
  const [some] = await policy.score([short], { alternatives: { count: 2, ids: [ids] } })
  assert.ok(some.alternatives!.logprobs[2] < 0)
  assert.equal(some.alternatives!.logprobs.filter((value) => value !== 0).length, 1)
  await assert.rejects(() => policy.score([short], { alternatives: 0 }), /must be a positive integer/)
  await assert.rejects(
    () => policy.score([short], { alternatives: { count: 2, ids: [ids.slice(1)] } }),
    /needs 2 a token/,
  )
})

/** Squares of what the head is off by. */
const valueLoss: Loss = {
  name: 'value',
  reads: { values: true },
  evaluate: ({ values, returns, weights }) => ({
    value: weights.reduce((sum, weight, t) => sum + (weight * (values![t] - returns![t]) ** 2) / 2, 0),
    gradient: new Float64Array(weights.length),
    valueGradient: weights.map((weight, t) => weight * (values![t] - returns![t])),
    metrics: {},
  }),
}

test('a value head says 0 at first, and learns a constant', async () => {
  for (const adapter of [undefined, { config: adapterSchema.parse({ kind: 'lora', rank: 2, alpha: 4 }), seed: 1 }]) {
    const policy = await open({ valueHead: true, adapter })
    const batch = batchOf(12).map((sequence) => ({ ...sequence, returns: sequence.returns!.map(() => 0.7) }))
    const tokens = batch.map((sequence) => sequence.tokens)
    const [first] = await policy.score(tokens, { values: true })
    assert.deepEqual([...first.values!], [...first.values!].fill(0))
    for (let i = 0; i < 60; i++) await policy.update(batch, { loss: valueLoss, learningRate: 0.02 })
    const scores = await policy.score(tokens, { values: true, masks: batch.map(({ mask }) => mask) })
    scores.forEach(({ values }, i) =>
      values!.forEach((value, t) =>
        assert.ok(Math.abs(value - (batch[i].mask[t] ? 0.7 : 0)) < 0.05, `sequence ${i}, token ${t}: ${value}`),
      ),
    )
    assert.equal((await policy.score(tokens))[0].values, undefined)
  }
})

test('the value of a token is that of the state before it: it does not depend on the token', async () => {
  const policy = await open({ valueHead: true })
  const batch = batchOf(13)
  await policy.update(batch, { loss: valueLoss, learningRate: 0.05 })
  const { tokens } = batch[2]
  const changed = [...tokens.slice(0, -1), (tokens.at(-1)! + 1) % vocabulary]
  const [one, other] = await policy.score([tokens, changed], { values: true })
  const last = tokens.length - 1
  assert.ok(Math.abs(one.values![last]) > 1e-3)
  assert.ok(Math.abs(one.values![last] - other.values![last]) < 1e-5)
  const earlier = [...tokens.slice(0, -2), (tokens.at(-2)! + 1) % vocabulary, tokens.at(-1)!]
  const [moved] = await policy.score([earlier], { values: true })
  assert.ok(Math.abs(one.values![last] - moved.values![last]) > 1e-4)
})

test('a policy with a value head is saved, read as a plain model, and goes on exactly where it stood', async () => {
  const config = adapterSchema.parse({ kind: 'lora', rank: 2, alpha: 4 })
  for (const adapter of [undefined, { config, seed: 1 }]) {
    const at = join(folder, adapter ? 'head-adapter' : 'head')
    const options = { valueHead: true, adapter, workers: 2 }
    const policy = await open(options)
    const batch = batchOf(14)
    const loss = everything({ values: true })
    const step = async (of: LocalPolicy): Promise<unknown> => {
      const { loss: value, gradientNorm } = await of.update(batch, { loss, learningRate: 0.01 })
      return [value, gradientNorm, (await of.score([batch[0].tokens], { values: true }))[0].values]
    }
    await step(policy)
    await policy.save(at, { optimizer: true })
    const [saved] = await policy.score([batch[0].tokens], { values: true })
    const expected = [await step(policy), await step(policy)]
    const resumed = await open(options)
    await resumed.load(at)
    assert.deepEqual([await step(resumed), await step(resumed)], expected)
    if (adapter) readAdapter(at, (await readCheckpoint(join(fixtures, 'llama'))).config)
    else await readCheckpoint(at)
    if (adapter) {
      const reopened = await open({ valueHead: true, adapter: { folder: at } })
      const [again] = await reopened.score([batch[0].tokens], { values: true })
      again.values!.forEach((value, t) => assert.ok(Math.abs(value - saved.values![t]) < 1e-5))
    }
    const headless = await open({ adapter })
    await assert.rejects(() => headless.load(at), /holds a value head: open the policy with valueHead/)
    await headless.save(join(folder, 'headless'), { optimizer: true })
    await assert.rejects(() => resumed.load(join(folder, 'headless')), /holds no value head: open the policy without/)
  }
})

test('a frozen copy follows its policy: each weight is the average, rounded once, on every replica', async () => {
  const lora = adapterSchema.parse({ kind: 'lora', rank: 2, alpha: 4 })
  for (const adapter of [undefined, { config: lora, seed: 1 }]) {
    const policy = await open({ workers: 2, adapter, valueHead: true })
    const { config } = await readCheckpoint(join(fixtures, 'llama'))
    const weightsOf = async (of: LocalPolicy): Promise<Weights> => {
      const at = join(folder, 'followed')
      await of.save(at)
      const { tensors } = readSafetensors(join(at, 'value_head.safetensors'))
      const head = Object.fromEntries(Object.entries(tensors).map(([name, { data }]) => [name, data]))
      return { ...(adapter ? readAdapter(at, config).weights : (await readCheckpoint(at)).weights), ...head }
    }
    const batch = batchOf(15)
    await policy.update(batch, { loss: everything({ values: true }), learningRate: 0.02 })
    const average = await policy.snapshot()
    opened.push(average)
    let expected = await weightsOf(average)
    for (const rate of [0.1, 0.25]) {
      await policy.update(batch, { loss: everything({ values: true }), learningRate: 0.02 })
      await average.follow(policy, rate)
      const now = await weightsOf(policy)
      const before = expected
      expected = Object.fromEntries(
        Object.entries(before).map(([name, own]) => [
          name,
          own.map((value, i) => (1 - rate) * value + rate * now[name][i]),
        ]),
      )
      const followed = await weightsOf(average)
      assert.deepEqual(followed, expected)
      assert.ok(Object.keys(followed).some((name) => followed[name].some((value, i) => value !== before[name][i])))
    }
    // Whichever replica scores: so many sequences are dealt to both.
    const { tokens } = batch[2]
    const copies = Array.from({ length: 40 }, () => tokens)
    const scores = await average.score(copies, { values: true })
    for (const { logprobs, values } of scores) {
      logprobs.forEach((value, t) => assert.ok(Math.abs(value - scores[0].logprobs[t]) < 1e-5))
      values!.forEach((value, t) => assert.ok(Math.abs(value - scores[0].values![t]) < 1e-5))
    }
    await average.follow(policy, 1)
    assert.deepEqual(await average.score([tokens]), await policy.score([tokens]))
    const untouched = await policy.score([tokens])
    await average.follow(policy, 0)
    assert.deepEqual(await policy.score([tokens]), untouched)
    await assert.rejects(() => policy.follow(average, 0.1), /not a frozen copy/)
    await assert.rejects(() => average.follow(policy, 1.5), /rate is 1.5/)
    const stranger = await open()
    await assert.rejects(() => average.follow(stranger, 0.1), /follows the policy it was taken of/)
    const base = await policy.base()
    await assert.rejects(() => base.follow(policy, 0.1), /not a frozen copy/)
    await base.close()
  }
})

test('crossEntropy of a policy with a value head leaves the head as it is', async () => {
  const policy = await open({ valueHead: true })
  const batch = batchOf(16)
  await policy.update(batch, { loss: crossEntropy(), learningRate: 0.05 })
  const [{ values }] = await policy.score([batch[0].tokens], { values: true })
  assert.ok(values!.every((value) => value === 0))
})
