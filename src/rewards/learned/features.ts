import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { characterNgrams } from '../semantic/character-ngrams.js'
import { remembering, type Embedder } from '../semantic/embedder.js'
import { openModelEmbedder, type ModelEmbedder, type ModelEmbedderOptions } from '../semantic/model-embedder.js'
import { POOLINGS } from '../semantic/sentence-config.js'
import type { Vector } from '../semantic/vectors.js'

/** What a reward model scores: a reply, and what it answers (or translates). */
export interface Scorable {
  prompt: string
  reply: string
}

const count = z.int().positive()

/** Which embedder, as a configuration or a saved model says it. */
export const embedderSpecSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('character-ngrams'),
    orders: z.tuple([count, count]).optional(),
    dimension: count.optional(),
  }),
  z.strictObject({
    kind: z.literal('model'),
    folder: z.string().min(1),
    pooling: z.enum(POOLINGS).optional(),
    normalize: z.boolean().optional(),
    layer: z.int().nonnegative().optional(),
    maxTokens: count.optional(),
    prefix: z.string().optional(),
  }),
])
export type EmbedderSpec = z.output<typeof embedderSpecSchema>

/** How a prompt and a reply become features. */
export const featuresSpecSchema = z.discriminatedUnion('kind', [
  /** Embeddings of both by themselves: [reply, prompt * reply, |prompt - reply|, prompt]. */
  z.strictObject({ kind: z.literal('apart'), embedder: embedderSpecSchema }),
  /** One embedding of both, read together by a model: a cross-encoder, or the last state of a decoder. */
  z.strictObject({ kind: z.literal('together'), embedder: embedderSpecSchema }),
  /** The embedding of the reply alone. */
  z.strictObject({ kind: z.literal('reply'), embedder: embedderSpecSchema }),
  /** Vectors that are given: see {@link tableFeatures}. */
  z.strictObject({ kind: z.literal('table'), dimension: count }),
])
export type FeaturesSpec = z.output<typeof featuresSpecSchema>

/** Turns what is to be scored into vectors. */
export interface Featurizer {
  readonly spec: FeaturesSpec
  readonly dimension: number
  /** [items][dimension] */
  features(items: readonly Scorable[]): Promise<Vector[]>
  close(): Promise<void>
}

/**
 * Opens an embedder that remembers texts.
 *
 * @param beside folder in which a relative model folder is looked for first
 * @throws MyriadError 'checkpoint' naming what is wrong with a model folder
 */
export async function openEmbedder(
  spec: EmbedderSpec,
  options: ModelEmbedderOptions = {},
  beside?: string,
): Promise<Embedder> {
  if (spec.kind === 'character-ngrams') return remembering(characterNgrams(spec))
  return remembering(await openModelEmbedder(placeOf(spec.folder, beside), { ...options, ...modelOptions(spec) }))
}

function modelOptions({
  kind: _kind,
  folder: _folder,
  ...options
}: Extract<EmbedderSpec, { kind: 'model' }>): ModelEmbedderOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

function placeOf(folder: string, beside: string | undefined): string {
  if (beside === undefined || isAbsolute(folder)) return folder
  const own = join(beside, folder)
  return existsSync(own) ? own : folder
}

/**
 * Opens what makes features.
 *
 * @example
 * const featurizer = await openFeaturizer({ kind: 'together', embedder: { kind: 'model', folder: 'models/base' } })
 * @throws MyriadError 'usage' for character n-grams `together`, or vectors of a table, which only their owner has
 */
export async function openFeaturizer(
  spec: FeaturesSpec,
  options: ModelEmbedderOptions = {},
  beside?: string,
): Promise<Featurizer> {
  if (spec.kind === 'table')
    throw new MyriadError('usage', 'this reward model scores vectors that are given to it: pass tableFeatures(...)')
  if (spec.kind === 'together') {
    if (spec.embedder.kind !== 'model')
      throw new MyriadError('usage', 'features "together" need a model that reads prompt and reply; use "apart"')
    const folder = placeOf(spec.embedder.folder, beside)
    const embedder = await openModelEmbedder(folder, { ...options, ...modelOptions(spec.embedder) })
    return togetherFeatures(embedder, spec)
  }
  const embedder = await openEmbedder(spec.embedder, options, beside)
  if (spec.kind === 'reply')
    return {
      spec,
      dimension: embedder.dimension,
      features: (items) => embedder.embed(items.map(({ reply }) => reply)),
      close: () => embedder.close(),
    }
  return {
    spec,
    dimension: 4 * embedder.dimension,
    async features(items) {
      const vectors = await embedder.embed(items.flatMap(({ prompt, reply }) => [prompt, reply]))
      return items.map((_, i) => apart(vectors[2 * i], vectors[2 * i + 1]))
    },
    close: () => embedder.close(),
  }
}

function togetherFeatures(embedder: ModelEmbedder, spec: FeaturesSpec): Featurizer {
  // A decoder has no separator of its own between the two.
  const bare = embedder.model.specials.pair === embedder.model.specials.single
  return {
    spec,
    dimension: embedder.dimension,
    features: (items) => embedder.embedPairs(items.map(({ prompt, reply }) => [bare ? `${prompt}\n` : prompt, reply])),
    close: () => embedder.close(),
  }
}

/** Features of two embeddings a (prompt) and b (reply): [b, a * b, |a - b|, a]. After RUSE and COMET. */
export function apart(a: Vector, b: Vector): Vector {
  const n = a.length
  const result = new Float32Array(4 * n)
  for (let i = 0; i < n; i++) {
    result[i] = b[i]
    result[n + i] = a[i] * b[i]
    result[2 * n + i] = Math.abs(a[i] - b[i])
    result[3 * n + i] = a[i]
  }
  return result
}

/**
 * Features that were computed before: `reply` is the key of a vector.
 *
 * @throws MyriadError 'usage' when vectors differ in length, or (when asked) a key has none
 * @example tableFeatures({ good: Float32Array.of(1, 0), bad: Float32Array.of(0, 1) })
 */
export function tableFeatures(table: Readonly<Record<string, Vector>>): Featurizer {
  const vectors = new Map(Object.entries(table))
  const [first] = vectors.values()
  if (!first || first.length === 0) throw new MyriadError('usage', 'a table of features needs a vector')
  for (const [key, { length }] of vectors)
    if (length !== first.length)
      throw new MyriadError('usage', `features of "${key}" have ${length} numbers, others ${first.length}`)
  return {
    spec: { kind: 'table', dimension: first.length },
    dimension: first.length,
    features: async (items) =>
      items.map(({ reply }) => {
        const vector = vectors.get(reply)
        if (!vector) throw new MyriadError('usage', `the table has no features of "${reply.slice(0, 80)}"`)
        return vector
      }),
    close: () => Promise.resolve(),
  }
}
