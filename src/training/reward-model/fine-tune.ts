import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ScoreLoss } from '../../algorithms/reward-model/index.js'
import { createRandom, deriveSeed, MyriadError } from '../../core/index.js'
import {
  adamW,
  clipByGlobalNorm,
  compile,
  createGraph,
  grad,
  linear,
  mul,
  recompute,
  sum,
  warmup,
  type Program,
  type Tensor,
  type Value,
} from '../../engine/index.js'
import {
  declareEncoderInputs,
  declareEncoderParameters,
  encoder,
  encoderParameterShapes,
  encoderTables,
  meanPool,
  readEncoder,
  scatterEncoderEmbedding,
  writeEncoder,
  type EncoderConfig,
  type Weights,
} from '../../models/index.js'
import {
  applyHead,
  createHead,
  openFeaturizer,
  probeLength,
  probeSample,
  saveRewardModel,
  withFeaturizer,
  type FeaturesSpec,
  type Head,
  type RewardModel,
  type RewardModelDescription,
} from '../../rewards/learned/index.js'
import {
  byLength,
  encoderBatch,
  encoderFeeds,
  pairRow,
  readSpecialTokens,
  type TokenRow,
} from '../../rewards/semantic/index.js'
import { loadTokenizer } from '../../text/index.js'
import { splitByPrompt, unitsOf, type RewardData, type Unit } from './data.js'
import { measure } from './measure.js'
import {
  calibrationOf,
  checkOptions,
  itemsOf,
  lossFor,
  settle,
  type RewardTrainingReport,
  type TrainedRewardModel,
} from './train.js'

export interface FineTuningOptions {
  /** Folder of an encoder, with its tokenizer. */
  encoder: string
  /** Where the trained encoder and, beside it, the reward model go. */
  folder: string
  heads?: readonly string[]
  headWeights?: readonly number[]
  loss?: ScoreLoss
  seed?: number
  /** Passes over the data (3). */
  epochs?: number
  /** Units of a step (16). */
  batchSize?: number
  /** Reached after a tenth of the steps, then falling to 0 in a straight line (2e-5). */
  learningRate?: number
  /** Of the fresh head, by the same course (1e-3). */
  headLearningRate?: number
  /** Of matrices (0.01). */
  weightDecay?: number
  /** Most tokens of a prompt with its reply; what the encoder can read unless given. */
  maxTokens?: number
  /** Most tokens that are in memory at a time, padding counted (1024). */
  tokenBudget?: number
  /** Leave tables of embeddings as they are: most of a model of many languages, and rows that data do not name are lost slowly. */
  freezeTables?: boolean
  /** Compute layers again in the backward pass. */
  recompute?: boolean
  /** Share of prompts that are measured and not trained on (0.2). */
  heldOut?: number
  threads?: number
  onEpoch?: (progress: { epoch: number; loss: number }) => void
}

/**
 * Trains an encoder and a linear head over the mean of its states together: a cross-encoder that reads prompt and reply as one.
 * All of it is trained by AdamW, gradients clipped at norm 1. Writes the encoder with its tokenizer into `folder/encoder` and the
 * reward model into `folder`, and answers it opened. It computes on the calling thread.
 *
 * @throws MyriadError 'usage' when data or options do not fit, 'checkpoint' of the encoder's folder, 'numeric' when it diverges
 * @example await fineTuneRewardModel({ kind: 'pairs', pairs }, { encoder: 'models/xlm-r', folder: 'rewards/mine' })
 */
export async function fineTuneRewardModel(data: RewardData, options: FineTuningOptions): Promise<TrainedRewardModel> {
  const { folder, heads = ['reward'], seed = 0, epochs = 3, batchSize = 16, heldOut = 0.2 } = options
  const { learningRate = 2e-5, headLearningRate = 1e-3, weightDecay = 0.01, loss = lossFor(data.kind) } = options
  const headWeights = options.headWeights ?? heads.map(() => 1 / heads.length)
  checkOptions(data, { epochs, batchSize, heldOut }, heads, headWeights)
  const split = splitByPrompt(unitsOf(data, heads.length), heldOut, createRandom(deriveSeed(seed, 'held-out')))
  if (split.train.length === 0) throw new MyriadError('usage', 'a reward model cannot be trained on nothing')

  const trunk = await openTrunk(options)
  const random = createRandom(deriveSeed(seed, 'fine-tune'))
  const head = createHead({ kind: 'linear' }, trunk.config.hiddenSize, heads.length, random)
  const rows = new Map(split.train.map((unit) => [unit, unit.samples.map(trunk.rowOf)]))
  const optimizer = adamW({ weightDecay, noDecay: (name) => name.endsWith('bias') || name.includes('LayerNorm') })
  const states = { trunk: optimizer.init(trunk.trained), head: optimizer.init(head.weights) }
  const steps = epochs * Math.ceil(split.train.length / batchSize)
  const course = warmup(Math.ceil(steps / 10), linear(1, 0, steps))
  const losses: number[] = []
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = random.shuffle(split.train)
    let total = 0
    for (let start = 0; start < order.length; start += batchSize) {
      const batch = order.slice(start, start + batchSize)
      const step = await slopesThroughEncoder(
        trunk,
        head,
        batch,
        batch.flatMap((unit) => rows.get(unit)!),
        loss,
      )
      total += (step.value * batch.length) / order.length
      const norm = clipByGlobalNorm({ ...step.trunk, ...prefixed(step.head) }, 1)
      if (!Number.isFinite(norm + step.value))
        throw new MyriadError('numeric', `fine-tuning diverged in epoch ${epoch}; take a lower learningRate`)
      const share = course(states.trunk.steps)
      optimizer.step(trunk.trained, step.trunk, states.trunk, share * learningRate)
      optimizer.step(head.weights, step.head, states.head, share * headLearningRate)
    }
    losses.push(total)
    options.onEpoch?.({ epoch, loss: total })
  }
  await trunk.close()
  writeTrained(options, trunk)

  const features: FeaturesSpec = {
    kind: 'together',
    embedder: { kind: 'model', folder: 'encoder', pooling: 'mean', normalize: false, maxTokens: options.maxTokens },
  }
  const featurizer = await openFeaturizer(features, { inline: true, threads: options.threads }, folder)
  const vectorsOf = async (units: readonly Unit[]): Promise<Float32Array[][]> => {
    const flat = await featurizer.features(units.flatMap(({ samples }) => samples))
    let next = 0
    return units.map(({ samples }) => samples.map(() => flat[next++]))
  }
  const description: RewardModelDescription = {
    format: 'myriad-reward-model',
    version: 1,
    heads: [...heads],
    weights: [...headWeights],
    head: head.spec,
    members: 1,
    features,
    dimension: trunk.config.hiddenSize,
    featureScale: 1,
    centers: [0],
    spread: 0,
    calibration: null,
    probe: Array.from((await featurizer.features([probeSample]))[0].subarray(0, probeLength)),
    report: null,
  }
  const model: RewardModel = { description, featureMean: new Float32Array(trunk.config.hiddenSize), members: [head] }
  const measured = await vectorsOf(split.heldOut)
  settle(model, data.kind, (await vectorsOf(split.train)).flat())
  description.calibration = calibrationOf(model, data.kind, split.heldOut, measured)
  const report: RewardTrainingReport = {
    kind: data.kind,
    loss: loss.name,
    seed,
    trained: split.train.length,
    losses: [losses],
    heldOut: measure(model, data.kind, split.heldOut, measured),
  }
  description.report = report
  saveRewardModel(folder, model)
  return { model: withFeaturizer(model, featurizer), report }
}

/** An encoder that is trained: its weights, programs that read them in place, and how samples become rows. */
export interface Trunk {
  config: EncoderConfig
  weights: Weights
  /** Those of `weights` that are trained. */
  trained: Weights
  tokenBudget: number
  rowOf(sample: { prompt: string; reply: string }): TokenRow
  /** Means of states [rows, hidden]. */
  forward: Program
  /** The same, and derivatives of sum(means * slopes). */
  backward: Program
  close(): Promise<void>
}

/** Opens an encoder for training. */
export async function openTrunk(
  options: Pick<FineTuningOptions, 'encoder' | 'maxTokens' | 'tokenBudget' | 'freezeTables' | 'recompute' | 'threads'>,
): Promise<Trunk> {
  const { threads, tokenBudget = 1024 } = options
  const tokenizer = await loadTokenizer(options.encoder)
  const specials = readSpecialTokens(options.encoder, tokenizer)
  const { config, weights } = readEncoder(options.encoder)
  const most = Math.min(options.maxTokens ?? Infinity, config.contextLength)
  const build = async (withGradient: boolean): Promise<Program> => {
    const graph = createGraph()
    const inputs = declareEncoderInputs(graph, config)
    const parameters = declareEncoderParameters(graph, config)
    const wrapLayer = options.recompute
      ? (_: number, layer: (x: Tensor) => Tensor, x: Tensor) => recompute(layer, [x])
      : undefined
    const { hidden } = encoder(config, parameters, inputs, { wrapLayer })
    const means = meanPool(hidden, graph.input('valid', ['batch', 'time']))
    const outputs: Record<string, Tensor> = {}
    if (withGradient) {
      const value = sum(mul(means, graph.input('slopes', ['batch', config.hiddenSize])))
      const names = throughGraph(parameters)
      const [flowed, ...rest] = grad(value, [inputs.embedded, ...names.map((name) => parameters[name])])
      if (!options.freezeTables) outputs['at embedded'] = flowed
      names.forEach((name, i) => (outputs[name] = rest[i]))
    } else outputs['means'] = means
    const program = await compile(graph, { outputs, inline: true, threads })
    const shapes = Object.entries(encoderParameterShapes(config))
    program.bind(Object.fromEntries(shapes.map(([name, shape]) => [name, { data: weights[name], shape }])))
    return program
  }
  const [forward, backward] = [await build(false), await build(true)]
  const trained = [...throughGraph(weights), ...(options.freezeTables ? [] : encoderTables)]
  return {
    config,
    weights,
    trained: Object.fromEntries(trained.map((name) => [name, weights[name]])),
    tokenBudget,
    rowOf: ({ prompt, reply }) => pairRow({ tokenizer, specials }, prompt, reply, most),
    forward,
    backward,
    async close() {
      await forward.close()
      await backward.close()
    },
  }
}

/** Weights that the mean of states depends on, tables left out: neither the pooler nor a classifier. */
function throughGraph(weights: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(weights).filter((name) => !encoderTables.includes(name) && !/^(pooler|classifier)\./.test(name))
}

/**
 * The loss of a batch and its derivatives by every trained weight of the encoder and of the head. States are computed first, the
 * loss says what each should move by, and that is sent back: sequences go through in parts, whatever the batch.
 */
export async function slopesThroughEncoder(
  trunk: Trunk,
  head: Head,
  units: readonly Unit[],
  rows: readonly TokenRow[],
  loss: ScoreLoss,
): Promise<{ value: number; trunk: Record<string, Float32Array>; head: Record<string, Float32Array> }> {
  const { config } = trunk
  const width = config.hiddenSize
  const means = new Float32Array(rows.length * width)
  const parts = byLength(rows, trunk.tokenBudget)
  for (const part of parts) {
    const result = await trunk.forward.run(
      feedsOf(
        trunk,
        part.map((i) => rows[i]),
      ),
    )
    part.forEach((i, k) =>
      means.set((result.means.data as Float32Array).subarray(k * width, (k + 1) * width), i * width),
    )
  }
  const pass = applyHead(head, means)
  const result = loss.evaluate({ scores: pass.scores, heads: head.outputs, items: itemsOf(units) })
  const ofHead = Object.entries(pass.back(result.gradient)).map(
    ([name, gradient]) => [name, Float32Array.from(gradient)] as const,
  )
  const gradients: Record<string, Float32Array> = Object.fromEntries(
    Object.entries(trunk.trained).map(([name, { length }]) => [name, new Float32Array(length)]),
  )
  for (const part of parts) {
    const slopes = new Float32Array(part.length * width)
    part.forEach((i, k) => {
      for (let o = 0; o < head.outputs; o++)
        for (let j = 0; j < width; j++)
          slopes[k * width + j] += result.gradient[i * head.outputs + o] * head.weights.weight[o * width + j]
    })
    const own = part.map((i) => rows[i])
    const feeds = { ...feedsOf(trunk, own), slopes: { data: slopes, shape: [part.length, width] } }
    const { 'at embedded': flowed, ...rest } = await trunk.backward.run(feeds)
    for (const [name, { data }] of Object.entries(rest)) {
      const into = gradients[name]
      for (let i = 0; i < into.length; i++) into[i] += Number(data[i])
    }
    if (flowed) {
      const { tokens, positions, types } = encoderBatch(config, own, longestOf(own))
      scatterEncoderEmbedding((name) => gradients[name], { tokens, positions, types }, flowed.data as Float32Array)
    }
  }
  return { value: result.value, trunk: gradients, head: Object.fromEntries(ofHead) }
}

function longestOf(rows: readonly TokenRow[]): number {
  return rows.reduce((most, { ids }) => Math.max(most, ids.length), 1)
}

function feedsOf({ config, weights }: Trunk, rows: readonly TokenRow[]): Record<string, Value> {
  const time = longestOf(rows)
  const valid = new Float32Array(rows.length * time)
  rows.forEach(({ ids }, i) => valid.fill(1, i * time, i * time + ids.length))
  return {
    ...encoderFeeds(config, weights, rows, time),
    valid: { data: valid, shape: [rows.length, time] },
  }
}

function prefixed(weights: Readonly<Record<string, Float32Array>>): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(weights).map(([name, data]) => [`head.${name}`, data]))
}

const tokenizerFiles = ['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', 'vocab.txt']

/** The bare encoder and the files of its tokenizer; what sentence-transformers would make of it is no longer so. */
function writeTrained({ encoder: from, folder }: FineTuningOptions, { config, weights }: Trunk): void {
  const to = join(folder, 'encoder')
  mkdirSync(to, { recursive: true })
  const { labels: _labels, ...bare } = config
  writeEncoder(to, bare, weights)
  for (const file of tokenizerFiles) if (existsSync(join(from, file))) copyFileSync(join(from, file), join(to, file))
}
