import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { algorithmByName } from '../algorithms/registry.js'
import type { Algorithm } from '../algorithms/types.js'
import { adapterSchema, initializeWeights, parseDecoderConfig, type DecoderConfig } from '../models/index.js'
import { localPolicyFromWeights } from '../policy/index.js'
import { createTestChat } from '../policy/testing.js'
import type { ChatFormat } from '../text/types.js'
import type { StepMetrics, TrainEvent } from './types.js'
import { TEST_CHARACTERS, TEST_CONFIG, TEST_TASKS } from './testing.js'
import { train, type TrainOptions } from './train.js'

const root = mkdtempSync(join(tmpdir(), 'myriad-local-'))
after(() => rmSync(root, { recursive: true, force: true }))

const tinyConfig = (chat: ChatFormat): DecoderConfig =>
  parseDecoderConfig({
    model_type: 'llama',
    vocab_size: chat.tokenizer.vocabularySize,
    hidden_size: 32,
    intermediate_size: 48,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    max_position_embeddings: 48,
    tie_word_embeddings: true,
  })

/** A transformer of a few thousand weights, on the engine, in two workers. */
const openTiny: TrainOptions['openPolicy'] = async () => {
  const chat = createTestChat(TEST_CHARACTERS)
  const config = tinyConfig(chat)
  const weights = initializeWeights(config, 3)
  const { stopTokens } = chat.tokenizer
  return { policy: localPolicyFromWeights(config, weights, { workers: 2, slots: 32, rowLength: 32, stopTokens }), chat }
}

const config = {
  ...TEST_CONFIG,
  steps: 24,
  learningRate: 0.01,
  algorithm: { klCoefficient: 0.001, minibatches: 2 },
  checkpointEvery: 4,
}
const stepsOf = (out: string): StepMetrics[] =>
  readFileSync(join(out, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as StepMetrics)

test('the loop on the engine: a tiny transformer learns, and an interrupted run ends in the same numbers', async () => {
  const options = { tasks: TEST_TASKS, openPolicy: openTiny }
  const whole = join(root, 'whole')
  const { evaluation } = await train(config, { ...options, out: whole })
  const success = ({ tasks }: { tasks: readonly { task: string; decoding: string; success: number }[] }): number =>
    tasks.find(({ task, decoding }) => task === 'climb' && decoding === 'sampled')!.success
  assert.ok(success(evaluation.aggregates.after!) > success(evaluation.aggregates.before) + 0.4)

  const out = join(root, 'interrupted')
  const controller = new AbortController()
  const paused = await train(config, {
    ...options,
    out,
    signal: controller.signal,
    onEvent: (event) => event.type === 'step' && event.metrics.step === 6 && controller.abort(),
  })
  assert.deepEqual([paused.finished, paused.steps], [false, 6])
  await train(config, { ...options, out, resume: true })
  const traceOf = (folder: string): unknown => stepsOf(folder).map((metrics) => ({ ...metrics, time: null }))
  assert.deepEqual(traceOf(out), traceOf(whole))
  const weightsOf = (folder: string): Buffer => readFileSync(join(folder, 'checkpoints', 'final', 'model.safetensors'))
  assert.ok(weightsOf(out).equals(weightsOf(whole)))
})

for (const adapter of [undefined, { kind: 'lora', rank: 2, alpha: 4, targets: 'all-linear' }] as const)
  test(`on the engine, ${adapter ? 'an adapter' : 'all weights'}: a value head and a reference that follows go on exactly`, async () => {
    const chat = createTestChat(TEST_CHARACTERS)
    const openPolicy: TrainOptions['openPolicy'] = async (_, { values }) => ({
      policy: localPolicyFromWeights(tinyConfig(chat), initializeWeights(tinyConfig(chat), 3), {
        workers: 2,
        slots: 32,
        rowLength: 32,
        stopTokens: chat.tokenizer.stopTokens,
        valueHead: values,
        ...(adapter && { adapter: { config: adapterSchema.parse(adapter), seed: 1 } }),
      }),
      chat,
    })
    const critic = algorithmByName('ppo')
    const algorithm: Algorithm = { ...critic, needs: { ...critic.needs, reference: { rate: 0.3 } } }
    const options: TrainOptions = { tasks: TEST_TASKS, openPolicy, algorithm }
    const short = {
      ...config,
      algorithm: {},
      steps: 3,
      checkpointEvery: 1,
      evaluation: { problemsPerCell: 1, samples: 1 },
    }
    const name = adapter ? 'adapter' : 'full'
    const [whole, out] = [join(root, `${name}-whole`), join(root, `${name}-interrupted`)]
    await train(short, { ...options, out: whole })
    const controller = new AbortController()
    const stop = (event: TrainEvent): void => {
      if (event.type === 'step' && event.metrics.step === 2) controller.abort()
    }
    await train(short, { ...options, out, signal: controller.signal, onEvent: stop })
    assert.ok(existsSync(join(out, 'checkpoints', 'step-000002', 'reference')))
    await train(short, { ...options, out, resume: true })
    const traceOf = (folder: string): unknown => stepsOf(folder).map((metrics) => ({ ...metrics, time: null }))
    assert.deepEqual(traceOf(out), traceOf(whole))
    assert.ok(stepsOf(out).every(({ loss }) => loss !== null && Number.isFinite(loss)))
  })
