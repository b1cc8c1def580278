import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { readSafetensors, writeFailure, writeSafetensors } from '../../models/index.js'
import type { ModelEmbedderOptions } from '../semantic/model-embedder.js'
import type { Vector } from '../semantic/vectors.js'
import type { Calibration } from './calibration.js'
import { disagreement, reduceMembers, type MemberReduction } from './ensemble.js'
import { featuresSpecSchema, openFeaturizer, type Featurizer, type Scorable } from './features.js'
import { applyHead, headShapes, headSpecSchema, type Head } from './head.js'

/** Files of a saved reward model. */
export const rewardModelFiles = { json: 'reward-model.json', weights: 'reward-model.safetensors' } as const

const finite = z.number()
const descriptionSchema = z.strictObject({
  format: z.literal('myriad-reward-model'),
  version: z.literal(1),
  /** Of each head, in the order of scores. */
  heads: z.array(z.string().min(1)).min(1),
  /** What a head counts in the one score. */
  weights: z.array(finite),
  head: headSpecSchema,
  members: z.int().positive(),
  features: featuresSpecSchema,
  dimension: z.int().positive(),
  /** Features are divided by it once their mean is taken off. */
  featureScale: z.number().positive(),
  /** Of each member, taken off its merged score: comparisons fix differences only. */
  centers: z.array(finite),
  /** Standard deviation of the score over what it was trained on. */
  spread: z.number().nonnegative(),
  calibration: z.strictObject({ scale: finite, offset: finite }).nullable(),
  /** First features of a fixed sample: another model under the same name shows. */
  probe: z.array(finite).nullable(),
  /** What training said of itself. */
  report: z.unknown(),
})
export type RewardModelDescription = z.output<typeof descriptionSchema>

/** What a reward model says of a reply. */
export interface LearnedScore {
  /** Heads merged by their weights, members reduced. */
  score: number
  /** Of each head, a mean over members: [heads]. */
  heads: number[]
  /** Of each member, its heads merged and its centre taken off: [members]. */
  members: number[]
  /** Standard deviation over members; 0 of one. */
  disagreement: number
}

/** A trained reward model: one or several heads, of one member or an ensemble, over features of a model or of texts. */
export interface RewardModel {
  readonly description: RewardModelDescription
  readonly featureMean: Float32Array
  readonly members: readonly Head[]
}

/**
 * Scores of features by a reward model; no model is run.
 *
 * @param vectors [items][dimension]
 * @throws MyriadError 'shape' when a vector has another length, 'numeric' when a score is not finite
 */
export function scoreFeatures(
  model: RewardModel,
  vectors: readonly Vector[],
  options: { by?: MemberReduction; penalty?: number } = {},
): LearnedScore[] {
  const { description, members } = model
  const x = standardized(model, vectors)
  const passes = members.map((head) => applyHead(head, x).scores)
  const count = description.heads.length
  return vectors.map((_, i) => {
    const ofMembers = passes.map((scores) => Array.from(scores.subarray(i * count, (i + 1) * count)))
    const merged = ofMembers.map(
      (scores, m) => scores.reduce((sum, score, k) => sum + description.weights[k] * score, 0) - description.centers[m],
    )
    if (!merged.every(Number.isFinite))
      throw new MyriadError(
        'numeric',
        `a reward model answers ${merged.join(', ')}: its weights or features are not finite`,
      )
    return {
      score: reduceMembers(merged, options.by ?? 'mean', options.penalty),
      heads: description.heads.map((_, k) => ofMembers.reduce((sum, scores) => sum + scores[k] / members.length, 0)),
      members: merged,
      disagreement: disagreement(merged),
    }
  })
}

/** Features as heads read them, one after the other: [items * dimension]. */
export function standardized(
  { description, featureMean }: Pick<RewardModel, 'description' | 'featureMean'>,
  vectors: readonly Vector[],
): Float32Array {
  const { dimension, featureScale } = description
  const x = new Float32Array(vectors.length * dimension)
  vectors.forEach((vector, i) => {
    if (vector.length !== dimension)
      throw new MyriadError('shape', `a reward model of ${dimension} features was given ${vector.length}`)
    for (let j = 0; j < dimension; j++) x[i * dimension + j] = (vector[j] - featureMean[j]) / featureScale
  })
  return x
}

/**
 * Writes a reward model: `reward-model.json` and `reward-model.safetensors`. The encoder or decoder it reads is named, not copied.
 *
 * @throws MyriadError 'io'
 */
export function saveRewardModel(folder: string, model: RewardModel): void {
  const { description, featureMean, members } = model
  const shapes = headShapes(description.head, description.dimension, description.heads.length)
  const tensors = members.flatMap((head, m) =>
    Object.entries(shapes).map(
      ([name, shape]) => [`member.${m}.${name}`, { shape, data: head.weights[name] }] as const,
    ),
  )
  try {
    mkdirSync(folder, { recursive: true })
    writeSafetensors(join(folder, rewardModelFiles.weights), {
      'features.mean': { shape: [featureMean.length], data: featureMean },
      ...Object.fromEntries(tensors),
    })
    writeFileSync(join(folder, rewardModelFiles.json), `${JSON.stringify(description, null, 2)}\n`)
  } catch (error) {
    throw writeFailure(folder, error)
  }
}

/**
 * Reads what {@link saveRewardModel} wrote.
 *
 * @throws MyriadError 'checkpoint' naming the file and the field or tensor that is wrong
 */
export function loadRewardModel(folder: string): RewardModel {
  const file = join(folder, rewardModelFiles.json)
  if (!existsSync(file))
    throw new MyriadError('checkpoint', `${folder} is no reward model: it has no ${rewardModelFiles.json}`)
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new MyriadError('checkpoint', `${file} is not JSON`, { cause: error })
  }
  const parsed = descriptionSchema.safeParse(json)
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues
    throw new MyriadError('checkpoint', `${file}: ${path.join('.') || 'the file'}: ${message}`)
  }
  const description = parsed.data
  const { heads, dimension, members, head: spec } = description
  if (description.weights.length !== heads.length || description.centers.length !== members)
    throw new MyriadError(
      'checkpoint',
      `${file}: "weights" or "centers" do not fit ${heads.length} heads, ${members} members`,
    )
  const weightsFile = join(folder, rewardModelFiles.weights)
  const { tensors } = readSafetensors(weightsFile)
  const read = (name: string, shape: readonly number[]): Float32Array => {
    if (tensors[name]?.shape.join() !== shape.join())
      throw new MyriadError('checkpoint', `${weightsFile}: "${name}" is [${tensors[name]?.shape}], not [${shape}]`)
    return tensors[name].data
  }
  const shapes = Object.entries(headShapes(spec, dimension, heads.length))
  return {
    description,
    featureMean: read('features.mean', [dimension]),
    members: Array.from({ length: members }, (_, m) => ({
      spec,
      inputs: dimension,
      outputs: heads.length,
      weights: Object.fromEntries(shapes.map(([name, shape]) => [name, read(`member.${m}.${name}`, shape)])),
    })),
  }
}

/** Probability, spread and the rest of what can be made of a score. */
export const SCORE_SCALES = ['raw', 'standard', 'probability'] as const
export type ScoreScale = (typeof SCORE_SCALES)[number]

/**
 * A score as it is; in standard deviations of the training data (`standard`); or through its calibration, or without one a plain
 * sigmoid, in (0, 1) (`probability`).
 */
export function onScale(score: number, scale: ScoreScale, description: RewardModelDescription): number {
  if (scale === 'raw') return score
  if (scale === 'standard') return description.spread > 0 ? score / description.spread : score
  const { scale: factor, offset }: Calibration = description.calibration ?? { scale: 1, offset: 0 }
  return 1 / (1 + Math.exp(-(factor * score + offset)))
}

/** A reward model with what makes its features. */
export interface OpenRewardModel extends RewardModel {
  score(items: readonly Scorable[], options?: { by?: MemberReduction; penalty?: number }): Promise<LearnedScore[]>
  close(): Promise<void>
}

/** What is asked of a featurizer to see that it is the one a model was trained over. */
export const probeSample: Scorable = { prompt: 'Jambo? 你好', reply: 'Habari! Привет 42' }
export const probeLength = 16

/**
 * Joins a reward model and what makes its features; closing closes both.
 *
 * @throws MyriadError 'checkpoint' (when first asked) when features are not those it was trained over
 */
export function withFeaturizer(model: RewardModel, featurizer: Featurizer): OpenRewardModel {
  const { probe, dimension } = model.description
  let checked: Promise<void> | undefined
  const check = async (): Promise<void> => {
    if (featurizer.dimension !== dimension)
      throw new MyriadError(
        'checkpoint',
        `the reward model reads ${dimension} features, its model has ${featurizer.dimension}`,
      )
    if (probe === null) return
    const [vector] = await featurizer.features([probeSample])
    const far = probe.some((value, j) => Math.abs(value - vector[j]) > 1e-3 + 0.01 * Math.abs(value))
    if (far)
      throw new MyriadError(
        'checkpoint',
        'the reward model was trained over another model, or another version of it: its features differ',
      )
  }
  return {
    ...model,
    async score(items, options) {
      await (checked ??= check())
      return scoreFeatures(model, await featurizer.features(items), options)
    },
    close: () => featurizer.close(),
  }
}

/**
 * Opens a saved reward model with the model it reads.
 *
 * @example const model = await openRewardModel('rewards/polite'); const [{ score }] = await model.score([{ prompt, reply }])
 */
export async function openRewardModel(folder: string, options: ModelEmbedderOptions = {}): Promise<OpenRewardModel> {
  const model = loadRewardModel(folder)
  return withFeaturizer(model, await openFeaturizer(model.description.features, options, folder))
}
