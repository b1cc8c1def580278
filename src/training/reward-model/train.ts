import {
  binaryCrossEntropy,
  bradleyTerryLoss,
  plackettLuceRewardLoss,
  pointwiseLoss,
  squaredError,
  type ScoreItem,
  type ScoreLoss,
} from '../../algorithms/reward-model/index.js'
import { createRandom, deriveSeed, MyriadError } from '../../core/index.js'
import { adamW } from '../../engine/index.js'
import {
  applyHead,
  createHead,
  fitTemperature,
  probeLength,
  probeSample,
  routeLoss,
  scoreFeatures,
  standardized,
  withFeaturizer,
  type Featurizer,
  type Head,
  type HeadSpec,
  type OpenRewardModel,
  type RewardModel,
  type RewardModelDescription,
} from '../../rewards/learned/index.js'
import type { Vector } from '../../rewards/semantic/index.js'
import { splitByPrompt, unitsOf, type RewardData, type Unit } from './data.js'
import { measure, type HeldOut } from './measure.js'

export interface RewardTrainingOptions {
  /** What features are made by: `openFeaturizer(...)` or `tableFeatures(...)`. */
  featurizer: Featurizer
  /** Linear unless given. */
  head?: HeadSpec
  /** Names of the scores; one, `reward`, unless given. Several only with ratings. */
  heads?: readonly string[]
  /** What each counts in the one score; all 1 / heads unless given. */
  headWeights?: readonly number[]
  /**
   * Of the scores; by the kind of data unless given: Bradley-Terry of pairs, Plackett-Luce of rankings, squared error of ratings,
   * binary cross-entropy of steps.
   */
  loss?: ScoreLoss
  /** Members of an ensemble (1), each with weights and a resample of the units of its own. */
  members?: number
  seed?: number
  /** Passes over the data (20). */
  epochs?: number
  /** Units of a step of AdamW (32). */
  batchSize?: number
  /** At the beginning; it falls to 0 along a cosine (0.01). */
  learningRate?: number
  /** Of matrices (0.01). */
  weightDecay?: number
  /** Of the cross-entropy that teaches the router of experts the categories of units (1). */
  routerWeight?: number
  /** Share of prompts that are measured and not trained on (0.2). */
  heldOut?: number
  /** After each epoch of each member. */
  onEpoch?: (progress: { member: number; epoch: number; loss: number }) => void
}

export interface RewardTrainingReport {
  kind: RewardData['kind']
  loss: string
  seed: number
  trained: number
  /** Mean loss of each epoch: [members][epochs]. */
  losses: number[][]
  heldOut: HeldOut
}

export interface TrainedRewardModel {
  model: OpenRewardModel
  report: RewardTrainingReport
}

/**
 * Trains a reward model: heads over features that stay as they are, which are computed once. With 384 features and a linear head
 * a thousand pairs take about a second. Nothing of the held-out prompts is used in training; the temperature of comparisons is
 * fitted on them, where there are any. The same data, options and features give the same weights.
 *
 * @throws MyriadError 'usage' when data or options do not fit, 'numeric' when training diverges
 * @example
 * const featurizer = await openFeaturizer({ kind: 'apart', embedder: { kind: 'character-ngrams' } })
 * const { model, report } = await trainRewardModel({ kind: 'pairs', pairs }, { featurizer, seed: 1 })
 * saveRewardModel('rewards/polite', model)
 */
export async function trainRewardModel(data: RewardData, options: RewardTrainingOptions): Promise<TrainedRewardModel> {
  const { featurizer, heads = ['reward'], head = { kind: 'linear' }, members = 1, seed = 0, heldOut = 0.2 } = options
  const headWeights = options.headWeights ?? heads.map(() => 1 / heads.length)
  checkOptions(data, options, heads, headWeights)
  const units = unitsOf(data, heads.length)
  const split = splitByPrompt(units, heldOut, createRandom(deriveSeed(seed, 'held-out')))
  if (split.train.length === 0) throw new MyriadError('usage', 'a reward model cannot be trained on nothing')
  const loss = options.loss ?? lossFor(data.kind)
  const [trained, measured] = [await featuresOf(featurizer, split.train), await featuresOf(featurizer, split.heldOut)]
  const { mean, scale } = spreadOf(trained.flat(), featurizer.dimension)
  const probe =
    featurizer.spec.kind === 'table'
      ? null
      : Array.from((await featurizer.features([probeSample]))[0].subarray(0, probeLength))
  const description: RewardModelDescription = {
    format: 'myriad-reward-model',
    version: 1,
    heads: [...heads],
    weights: [...headWeights],
    head,
    members,
    features: featurizer.spec,
    dimension: featurizer.dimension,
    featureScale: scale,
    centers: Array<number>(members).fill(0),
    spread: 0,
    calibration: null,
    probe,
    report: null,
  }
  const model: RewardModel = { description, featureMean: mean, members: [] }
  const trainable = split.train.map((unit, i) => ({ unit, x: standardized(model, trained[i]) }))
  const fitted = Array.from({ length: members }, (_, member) => fitMember(trainable, loss, model, options, member))
  const whole: RewardModel = { ...model, members: fitted.map(({ head: own }) => own) }
  settle(whole, data.kind, trained.flat())
  description.calibration = calibrationOf(whole, data.kind, split.heldOut, measured)
  const report: RewardTrainingReport = {
    kind: data.kind,
    loss: loss.name,
    seed,
    trained: split.train.length,
    losses: fitted.map(({ losses }) => losses),
    heldOut: measure(whole, data.kind, split.heldOut, measured),
  }
  description.report = report
  return { model: withFeaturizer(whole, featurizer), report }
}

/** Of ratings of renderings in [0, 1] or any other scale: an estimator that reads source and reply, and no reference. */
export function trainQualityEstimator(
  ratings: readonly { source: string; reply: string; quality: number; language?: string }[],
  options: Omit<RewardTrainingOptions, 'heads' | 'headWeights'>,
): Promise<TrainedRewardModel> {
  const rated = ratings.map(({ source, quality, ...rest }) => ({ ...rest, prompt: source, ratings: quality }))
  return trainRewardModel({ kind: 'ratings', ratings: rated }, { ...options, heads: ['quality'] })
}

export function checkOptions(
  data: RewardData,
  {
    members = 1,
    epochs = 20,
    batchSize = 32,
    heldOut = 0.2,
  }: Pick<RewardTrainingOptions, 'members' | 'epochs' | 'batchSize' | 'heldOut'>,
  heads: readonly string[],
  headWeights: readonly number[],
): void {
  const refuse = (what: string): never => {
    throw new MyriadError('usage', `trainRewardModel: ${what}`)
  }
  if (heads.length === 0 || new Set(heads).size !== heads.length) refuse(`heads [${heads}] need names of their own`)
  if (heads.length > 1 && data.kind !== 'ratings') refuse(`${data.kind} teach one head, not ${heads.length}`)
  if (headWeights.length !== heads.length) refuse(`${headWeights.length} headWeights for ${heads.length} heads`)
  for (const [name, value] of Object.entries({ members, epochs, batchSize }))
    if (!(Number.isInteger(value) && value >= 1)) refuse(`${name} must be a whole number from 1, got ${value}`)
  if (!(heldOut >= 0 && heldOut < 1)) refuse(`heldOut must be in [0, 1), got ${heldOut}`)
}

/** The usual loss of a kind of data. */
export function lossFor(kind: RewardData['kind']): ScoreLoss {
  switch (kind) {
    case 'pairs':
      return bradleyTerryLoss()
    case 'rankings':
      return plackettLuceRewardLoss()
    case 'ratings':
      return pointwiseLoss('regression', squaredError)
    case 'steps':
      return pointwiseLoss('binary', binaryCrossEntropy)
  }
}

/** Features of every unit's samples: [units][samples]. */
async function featuresOf(featurizer: Featurizer, units: readonly Unit[]): Promise<Vector[][]> {
  const vectors = await featurizer.features(units.flatMap(({ samples }) => samples))
  let next = 0
  return units.map(({ samples }) => samples.map(() => vectors[next++]))
}

/**
 * Mean of each feature, and one scale for all: the root of their mean variance. A scale of each would make what hardly ever
 * occurs, such as a rare n-gram, enormous where it does.
 */
function spreadOf(vectors: readonly Vector[], dimension: number): { mean: Float32Array; scale: number } {
  const sums = new Float64Array(dimension)
  for (const vector of vectors) for (let j = 0; j < dimension; j++) sums[j] += vector[j] / vectors.length
  const mean = Float32Array.from(sums)
  let variance = 0
  for (const vector of vectors)
    for (let j = 0; j < dimension; j++) variance += (vector[j] - mean[j]) ** 2 / vectors.length / dimension
  if (!Number.isFinite(variance)) throw new MyriadError('numeric', 'features of the training data are not finite')
  return { mean, scale: variance > 0 ? Math.sqrt(variance) : 1 }
}

interface Trainable {
  unit: Unit
  /** [samples * dimension] */
  x: Float32Array
}

function fitMember(
  data: readonly Trainable[],
  loss: ScoreLoss,
  { description, featureMean }: RewardModel,
  options: RewardTrainingOptions,
  member: number,
): { head: Head; losses: number[] } {
  const { seed = 0, epochs = 20, batchSize = 32, learningRate = 0.01, weightDecay = 0.01, routerWeight = 1 } = options
  const random = createRandom(deriveSeed(seed, 'member', member))
  const outputs = description.heads.length
  const head = createHead(description.head, featureMean.length, outputs, random)
  // A member of an ensemble sees a resample, so that members differ where data are few.
  const own = description.members === 1 ? data : data.map(() => random.pick(data))
  const optimizer = adamW({ weightDecay, noDecay: (name) => name.endsWith('bias') })
  const state = optimizer.init(head.weights)
  const steps = epochs * Math.ceil(own.length / batchSize)
  const losses: number[] = []
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = random.shuffle(own)
    let total = 0
    for (let start = 0; start < order.length; start += batchSize) {
      const batch = order.slice(start, start + batchSize)
      const { value, gradients } = slopesOf(head, batch, loss, routerWeight)
      total += (value * batch.length) / order.length
      const rate = 0.5 * learningRate * (1 + Math.cos((Math.PI * state.steps) / steps))
      optimizer.step(head.weights, gradients, state, rate)
    }
    if (!Number.isFinite(total))
      throw new MyriadError(
        'numeric',
        `reward model: the loss of epoch ${epoch} is ${total}; take a lower learningRate`,
      )
    losses.push(total)
    options.onEpoch?.({ member, epoch, loss: total })
  }
  return { head, losses }
}

/** Loss of a batch and its derivative by every weight. */
export function slopesOf(
  head: Head,
  batch: readonly Trainable[],
  loss: ScoreLoss,
  routerWeight: number,
): { value: number; gradients: Record<string, Float32Array> } {
  const x = new Float32Array(batch.reduce((sum, each) => sum + each.x.length, 0))
  let at = 0
  for (const each of batch) {
    x.set(each.x, at)
    at += each.x.length
  }
  const items = itemsOf(batch.map(({ unit }) => unit))
  const pass = applyHead(head, x)
  const result = loss.evaluate({ scores: pass.scores, heads: head.outputs, items })
  let [value, routes]: [number, Float64Array | undefined] = [result.value, undefined]
  const categories = batch.flatMap(({ unit }) => unit.items.map(() => unit.category))
  if (head.spec.kind === 'experts' && routerWeight > 0 && categories.some((category) => !Number.isNaN(category))) {
    const router = routeLoss(pass.routes!, head.spec.experts, categories)
    value += routerWeight * router.value
    routes = router.slopes.map((slope) => routerWeight * slope)
  }
  const gradients = Object.entries(pass.back(result.gradient, routes)).map(
    ([name, gradient]) => [name, Float32Array.from(gradient)] as const,
  )
  return { value, gradients: Object.fromEntries(gradients) }
}

/** Sets the centres of comparisons, which fix no level, and the spread of scores, from the training data. */
export function settle(model: RewardModel, kind: RewardData['kind'], vectors: readonly Vector[]): void {
  const { description } = model
  const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value / values.length, 0)
  if (kind === 'pairs' || kind === 'rankings') {
    const raw = scoreFeatures(model, vectors)
    description.centers = description.centers.map((_, m) => average(raw.map(({ members }) => members[m])))
  }
  const scores = scoreFeatures(model, vectors).map(({ score }) => score)
  const centre = average(scores)
  description.spread = Math.sqrt(average(scores.map((score) => (score - centre) ** 2)))
}

/** Items of units as a loss reads them: those of one unit are one comparison. */
export function itemsOf(units: readonly Unit[]): ScoreItem[] {
  return units.flatMap(({ items }, comparison) =>
    items.map((item) => (item.rank === undefined ? item : { ...item, comparison })),
  )
}

/** Of comparisons, the temperature that makes held-out ones most likely; null without any. */
export function calibrationOf(
  model: RewardModel,
  kind: RewardData['kind'],
  units: readonly Unit[],
  features: readonly (readonly Vector[])[],
): RewardModelDescription['calibration'] {
  if ((kind !== 'pairs' && kind !== 'rankings') || units.length === 0) return null
  const differences = units.flatMap(({ items }, u) => {
    const scores = scoreFeatures(model, features[u])
    return items.flatMap((better, i) =>
      items.flatMap((worse, j) => (better.rank! < worse.rank! ? [scores[i].score - scores[j].score] : [])),
    )
  })
  // Drawn a little inward, as Platt did: all of few in the right order say nothing of certainty.
  const label = (differences.length + 1) / (differences.length + 2)
  return differences.length === 0
    ? null
    : fitTemperature(
        differences,
        differences.map(() => label),
      )
}
