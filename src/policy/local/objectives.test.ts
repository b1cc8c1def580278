import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { clippedLoss } from '../../algorithms/index.js'
import { MyriadError } from '../../core/index.js'
import {
  adapterSchema,
  readAdapter,
  readCheckpoint,
  readSafetensors,
  writeAdapter,
  writeCheckpoint,
  type Weights,
} from '../../models/index.js'
import type { Loss, LossTokens, TrainSequence } from '../types.js'
import {
  batchOf,
  count,
  evaluateNow,
  everything,
  fixtures,
  folder,
  gradientOf,
  normOf,
  open,
  vocabulary,
} from './testing.js'

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
  await refused(
    batch,
    { ...loss, reads: { entropy: true }, evaluate: blind },
    /teaches alternatives that it does not read/,
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

function blind(tokens: LossTokens): ReturnType<Loss['evaluate']> {
  const none = new Float64Array(tokens.logprobs.length)
  return { value: 0, gradient: none, alternativesGradient: new Float64Array(none.length * count), metrics: {} }
}

test('alternatives of fewer places than the projection has chunks are those of many places', async () => {
  const policy = await open({ workers: 1, tokenBudget: 2048 })
  const tokens = batchOf(11)[2].tokens
  const [whole] = await policy.score([tokens], { alternatives: 3 })
  const mask = new Uint8Array(tokens.length)
  mask[2] = 1
  const [one] = await policy.score([tokens], { masks: [mask], alternatives: 3 })
  const at = 2 * 3
  assert.deepEqual(one.alternatives!.ids.slice(at, at + 3), whole.alternatives!.ids.slice(at, at + 3))
  one.alternatives!.logprobs.forEach((logprob, k) => {
    const isAsked = k >= at && k < at + 3
    assert.ok(Math.abs(logprob - (isAsked ? whole.alternatives!.logprobs[k] : 0)) < 1e-5)
  })
})
