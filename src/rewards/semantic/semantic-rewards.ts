import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { openEmbedder, type EmbedderSpec } from '../learned/features.js'
import { onScale, openRewardModel, SCORE_SCALES, type OpenRewardModel } from '../learned/reward-model.js'
import { dataField, lastReply, referencesOf, sourceOf } from '../references.js'
import type { Reward, Transcript } from '../types.js'
import { alignWords, ALIGNMENTS, coverageF1, alignableWords, type AlignmentPair } from './alignment.js'
import { batchedReward } from './batched.js'
import { isVisible, type Embedder } from './embedder.js'
import { POOLINGS } from './sentence-config.js'
import { aboveFloor, csls, cslsRank, meanOfNearest, nearestReference, radiiOf, type Likened } from './similarity.js'
import { openTextModel, type TextModel } from './text-model.js'
import type { Vector } from './vectors.js'

const folder = z.string().min(1).describe('folder of an encoder or decoder')
const embedding = {
  pooling: z.enum(POOLINGS).optional(),
  layer: z.int().nonnegative().optional(),
  maxTokens: z.int().positive().optional(),
  /** Before every text, as E5 has "query: ". */
  prefix: z.string().optional(),
}
const floor = z.number().min(-1).lt(1).optional()

const similarityOptions = z.strictObject({ model: folder.optional(), ...embedding, floor })
const crossOptions = z.strictObject({ model: folder, ...embedding, floor, field: z.string().min(1).optional() })
const retrievalOptions = z.strictObject({
  model: folder.optional(),
  ...embedding,
  /** Texts to be told from: given here, or one a line of a UTF-8 file. */
  background: z.array(z.string()).min(1).optional(),
  backgroundFile: z.string().min(1).optional(),
  /** Neighbours that make a hub (10). */
  neighbours: z.int().positive().default(10),
  /** CSLS itself, or 1 / rank of the right text among all ('rank'). */
  value: z.enum(['csls', 'rank']).default('rank'),
  against: z.enum(['references', 'source']).default('references'),
})
const coverageOptions = z.strictObject({
  model: folder,
  layer: z.int().nonnegative().optional(),
  method: z.enum(ALIGNMENTS).default('argmax'),
  threshold: z.number().optional(),
  /** F1 of both, or the share of the source's words (omissions), or of the reply's (additions). */
  of: z.enum(['both', 'source', 'reply']).default('both'),
})
const qualityOptions = z.strictObject({ model: folder, scale: z.enum(SCORE_SCALES).default('raw') })

type Embedding = Pick<z.output<typeof similarityOptions>, 'model' | keyof typeof embedding>

/** Without a model folder texts are likened by their spelling. */
function embedderSpec({ model, pooling, layer, maxTokens, prefix }: Embedding): EmbedderSpec {
  return model === undefined
    ? { kind: 'character-ngrams' }
    : { kind: 'model', folder: model, pooling, layer, maxTokens, prefix }
}

/**
 * Cosine of the last reply with the nearest of its references, in [0, 1] after `floor` (0 unless given). Without `model` it is the
 * cosine of character n-grams: of spelling, not of meaning.
 *
 * @example embeddingSimilarity({ model: 'models/multilingual-e5-small', prefix: 'query: ', floor: 0.75 })
 */
export function embeddingSimilarity(options: z.input<typeof similarityOptions> = {}): Reward {
  return similarity('embedding-similarity', similarityOptions.parse(options), referencesOf)
}

/**
 * As {@link embeddingSimilarity}, with references in another language than the reply: the answer in a pivot language stands for
 * its meaning (PB-RLSVR). They are read from the problem's data `field`, a text or several; `references` unless given. A reply
 * that is the reference itself scores 1: weigh it with `language`.
 */
export function crossLingualSimilarity(options: z.input<typeof crossOptions>): Reward {
  const { field, ...rest } = crossOptions.parse(options)
  return similarity('cross-lingual-similarity', rest, (transcript) =>
    field === undefined ? referencesOf(transcript) : textsOf(transcript, field),
  )
}

function textsOf(transcript: Transcript, field: string): readonly string[] | null {
  const value = dataField(transcript, field)
  if (value === null) return null
  const texts = Array.isArray(value) ? value : [value]
  if (texts.length > 0 && texts.every((text): text is string => typeof text === 'string')) return texts
  const { task, key } = transcript.problem
  throw new MyriadError('reward', `problem ${task}/${key}: data.${field} must be a text or texts`)
}

function similarity(
  name: string,
  options: Embedding & { floor?: number },
  references: (transcript: Transcript) => readonly string[] | null,
): Reward {
  return batchedReward<Embedder, Likened>({
    name,
    open: () => openEmbedder(embedderSpec(options)),
    item(transcript) {
      const found = references(transcript)
      return found === null || found.length === 0
        ? { value: null }
        : { item: { reply: lastReply(transcript), references: found } }
    },
    score: async (embedder, items) =>
      (await nearestReference(embedder, items)).map((value) => aboveFloor(value, options.floor ?? 0)),
  })
}

/**
 * Would the reply find its reference (or its source) among a background of other texts? By CSLS, so that hubs do not win: 1 / rank
 * in (0, 1], or the CSLS itself in [-4, 4]. A reply with nothing to read in it has rank last, CSLS -4.
 */
export function retrievalSimilarity(options: z.input<typeof retrievalOptions>): Reward {
  const given = retrievalOptions.parse(options)
  const { neighbours: k, value, against } = given
  const texts = backgroundOf(given)
  return batchedReward<Embedder & { background: Background }, Likened>({
    name: 'retrieval-similarity',
    async open() {
      const embedder = await openEmbedder(embedderSpec(given))
      return { ...embedder, background: await backgroundVectors(embedder, texts, k) }
    },
    item(transcript) {
      const source = against === 'source' ? sourceOf(transcript) : null
      const right = against === 'source' ? (source === null ? null : [source]) : referencesOf(transcript)
      return right === null || right.length === 0
        ? { value: null }
        : { item: { reply: lastReply(transcript), references: right } }
    },
    async score(embedder, items) {
      const all = embedder.background
      const vectors = await embedder.embed(items.flatMap(({ reply, references }) => [reply, ...references]))
      let next = 0
      return items.map(({ reply, references }) => {
        const own = vectors[next++]
        const right = references.map(() => vectors[next++])
        if (!isVisible(reply)) return value === 'rank' ? 1 / (1 + all.vectors.length) : -4
        // The right text may stand in the background too.
        const others = [...all.vectors.keys()].filter((i) => !references.includes(all.texts[i]))
        const candidates = others.map((i) => all.vectors[i])
        if (value === 'csls')
          return Math.max(...right.map((vector) => csls(own, vector, { ofX: candidates, ofY: candidates, k })))
        const radii = others.map((i) => all.radii[i])
        const ranks = right.map((vector) =>
          cslsRank(own, { vector, radius: meanOfNearest(vector, candidates, k) }, candidates, radii),
        )
        return 1 / Math.min(...ranks)
      })
    },
  })
}

interface Background {
  texts: readonly string[]
  vectors: readonly Vector[]
  radii: readonly number[]
}

async function backgroundVectors(embedder: Embedder, texts: readonly string[], k: number): Promise<Background> {
  const vectors = await embedder.embed(texts)
  return { texts, vectors, radii: radiiOf(vectors, k) }
}

function backgroundOf({ background, backgroundFile }: z.output<typeof retrievalOptions>): readonly string[] {
  if ((background === undefined) === (backgroundFile === undefined))
    throw new MyriadError(
      'usage',
      'retrieval-similarity: give "background" (texts) or "backgroundFile", one of the two',
    )
  if (background) return [...new Set(background)]
  let text: string
  try {
    text = readFileSync(backgroundFile!, 'utf8')
  } catch (error) {
    throw new MyriadError('usage', `retrieval-similarity: cannot read ${backgroundFile}`, { cause: error })
  }
  const lines = [...new Set(text.split('\n').map((line) => line.trim()))].filter(isVisible)
  if (lines.length > 0) return lines
  throw new MyriadError('usage', `retrieval-similarity: ${backgroundFile} has no line to read`)
}

/**
 * How much of the source has a counterpart in the reply and the other way round, by aligned words: see {@link alignWords}. In
 * [0, 1]; null where there is no source, or no word in it.
 */
export function alignmentCoverage(options: z.input<typeof coverageOptions>): Reward {
  const given = coverageOptions.parse(options)
  return batchedReward<TextModel, AlignmentPair>({
    name: 'alignment-coverage',
    open: () => openTextModel(given.model),
    item(transcript) {
      const source = sourceOf(transcript)
      if (source === null) return { value: null }
      const sourceLanguage = languageField(transcript)
      if (alignableWords(source, sourceLanguage).length === 0) return { value: null }
      return {
        item: { source, sourceLanguage, reply: lastReply(transcript), replyLanguage: transcript.problem.language },
      }
    },
    score: async (model, items) =>
      (await alignWords(model, items, given)).map((found) =>
        given.of === 'both' ? coverageF1(found) : found[given.of],
      ),
  })
}

function languageField(transcript: Transcript): string | undefined {
  const language = dataField(transcript, 'sourceLanguage')
  return typeof language === 'string' ? language : undefined
}

/**
 * What a trained estimator says of the last reply as a rendering of its source; no reference is read. The folder is one that
 * trainQualityEstimator or trainRewardModel saved. A reply with nothing to read in it is scored like any other.
 */
export function qualityEstimate(options: z.input<typeof qualityOptions>): Reward {
  const { model, scale } = qualityOptions.parse(options)
  return batchedReward<OpenRewardModel, { prompt: string; reply: string }>({
    name: 'quality-estimate',
    open: () => openRewardModel(model),
    item(transcript) {
      const prompt = sourceOf(transcript)
      return prompt === null ? { value: null } : { item: { prompt, reply: lastReply(transcript) } }
    },
    score: async (estimator, items) =>
      (await estimator.score(items)).map(({ score }) => onScale(score, scale, estimator.description)),
  })
}

/** Rewards of meaning: what the reply says beside a reference or a source, whatever the words. */
export const semanticRewards: readonly RewardDeclaration[] = [
  reward({
    name: 'embedding-similarity',
    group: 'semantic',
    codes: ['R3'],
    summary:
      'cosine of the embeddings of the last reply and its nearest reference; of spelling where no model is named',
    range: '[0, 1]',
    applies: 'problems with references',
    reference: 'sentence-transformers, arXiv 1908.10084; GRPO on it: semantic-reward GRPO (Tibetan)',
    options: similarityOptions,
    make: embeddingSimilarity,
  }),
  reward({
    name: 'cross-lingual-similarity',
    group: 'semantic',
    codes: ['R3'],
    summary: 'the same with references in another language, by a model of many languages',
    range: '[0, 1]',
    applies: 'problems with references, or with data.FIELD',
    reference: 'PB-RLSVR',
    options: crossOptions,
    make: crossLingualSimilarity,
  }),
  reward({
    name: 'retrieval-similarity',
    group: 'semantic',
    codes: ['R3', 'R7'],
    summary: 'does the reply find its reference or source among other texts, hubs discounted (CSLS)?',
    range: '(0, 1], or [-4, 4] as csls',
    applies: 'problems with references, or with a source',
    reference: 'CSLS, arXiv 1710.04087',
    options: retrievalOptions,
    make: retrievalSimilarity,
  }),
  reward({
    name: 'alignment-coverage',
    group: 'semantic',
    codes: ['R3'],
    summary: 'share of words with a counterpart in the source and in the reply: omissions and additions',
    range: '[0, 1]',
    applies: 'problems with a source that has words',
    reference: 'SimAlign, arXiv 2004.08728; awesome-align, arXiv 2101.08231; as a reward: WALAR',
    options: coverageOptions,
    make: alignmentCoverage,
  }),
  reward({
    name: 'quality-estimate',
    group: 'semantic',
    codes: ['R3', 'R8'],
    summary: 'a trained estimator of the last reply as a rendering of its source, without references',
    range: 'of its ratings; (0, 1) as probability',
    applies: 'problems with a source',
    reference: 'regression on embeddings after RUSE and COMET-QE',
    options: qualityOptions,
    make: qualityEstimate,
  }),
]
