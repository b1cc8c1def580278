/** Why a reply ended: a stop token or string, the token limit, or the end of the context window. */
export type StopReason = 'stop' | 'length' | 'context'

export interface SampleRequest {
  /** Chosen by the caller; comes back on the completion. */
  id: string
  /** The whole context so far, ids. Requests with equal contexts share one prefill; a request that extends a finished one reuses its cache. */
  tokens: readonly number[]
  maxTokens: number
  /** Seed of this request's own random stream: its tokens do not depend on what else is being sampled. */
  seed: number
  /** 1 unless given; 0 is greedy. */
  temperature?: number
  topK?: number
  topP?: number
  minP?: number
  /** Stops beside the tokenizer's own. A stop token is part of the completion; a stop string ends it at the token that completed it. */
  stopTokens?: readonly number[]
  stopStrings?: readonly string[]
  /** Only these ids may be sampled. */
  allowedTokens?: readonly number[]
}

export interface Completion {
  id: string
  /** Sampled ids, the stop token included when one was sampled. */
  tokens: number[]
  /** Log-probability of each sampled id under the sampling temperature (temperature 1 for greedy), before top-k/top-p/min-p. [tokens] */
  logprobs: number[]
  stopReason: StopReason
  /** The policy version that produced it: the number of updates before. */
  version: number
}

export interface SampleOptions {
  /**
   * Called when a completion ends. May hand back a follow-up request (the next turn of the same episode), which is sampled
   * beside what is still running: continuous batching across episodes at different turns. All completions that end in the
   * same decoding step are awaited together, so that the order of work, and with it every number, depends on seeds alone.
   */
  next?: (completion: Completion) => SampleRequest | null | Promise<SampleRequest | null>
  signal?: AbortSignal
}

/** Other tokens that might have stood in the place of each token: K a place, with their logprobs. */
export interface Alternatives {
  /** K. */
  count: number
  /** Ids: [tokens * K], those of token t from t * K. -1 where there is none. */
  ids: Int32Array
  /** Under the distribution token t was drawn from, most probable first where a policy chose them: [tokens * K]. */
  logprobs: Float32Array
}

/** What a sequence is to the objective. */
export interface SequenceInfo {
  /** Sequences of one problem share it; minibatches never part them. */
  group: number
  /** What the policy sampled, or what it is shown; preference objectives tell chosen from rejected. */
  role: 'sample' | 'demonstration' | 'chosen' | 'rejected'
  /** Chosen and rejected of one comparison share it (or, in a ranking, all that were ranked). */
  pair?: number
  /** Place in a ranking, 0 the best. */
  rank?: number
  reward: number
  task: string
  language: string
  /** Coefficients of terms of the loss that an algorithm adapts from step to step, by the name of the term. */
  coefficients?: Readonly<Record<string, number>>
}

/** A sequence to learn from. Arrays are [tokens]; entry t speaks of token t. Where mask is 0 the other entries are ignored. */
export interface TrainSequence {
  tokens: readonly number[]
  /** 1 on tokens the policy sampled in this episode (or on those of a demonstration that are to be learnt), else 0. Entry 0 is always 0. */
  mask: Uint8Array
  /** What the sampler reported (behaviour policy). */
  logprobs: Float32Array
  advantages: Float32Array
  /** Aggregation weight c of each token (see algorithms): the loss is the sum of c times the token's loss. */
  weights: Float32Array
  /** Each token's weight is multiplied by it when weights are made: importance weights, selections. 1 unless given. */
  factors?: Float32Array
  info?: SequenceInfo
  /** The policy's own, scored before the first optimizer step of the update; the sampler's stand in where absent. */
  oldLogprobs?: Float32Array
  referenceLogprobs?: Float32Array
  teacherLogprobs?: Float32Array
  /** Entropy in nats, before the first optimizer step of the update. */
  entropy?: Float32Array
  /** Of the value head, before the first optimizer step; and what it should have said. */
  values?: Float32Array
  returns?: Float32Array
  /** Alternatives whose logprobs the objective reads, and may teach; those of the policy before the first optimizer step. */
  alternatives?: Alternatives
  /** Logprobs of the same ids under a teacher or reference: [tokens * K]. */
  teacherAlternatives?: Float32Array
  referenceAlternatives?: Float32Array
}

/** What an objective sees: one entry per trainable token of the whole batch, sequences one after the other. [tokens] */
export interface LossTokens {
  logprobs: Float64Array
  /** The policy's before the update: a constant. The sampler's where they were not scored again. */
  oldLogprobs: Float64Array
  /** What the sampler reported: a constant. Equal to `oldLogprobs` where absent. */
  behaviourLogprobs?: Float64Array
  referenceLogprobs?: Float64Array
  teacherLogprobs?: Float64Array
  advantages: Float64Array
  weights: Float64Array
  /** Index of the sequence each token belongs to: rising, but a sequence without a trainable token is left out. */
  segments: Int32Array
  /** By index of sequence. */
  sequences?: readonly SequenceInfo[]
  /** Of the policy as it is, in nats. Its derivative goes into `entropyGradient`. */
  entropy?: Float64Array
  /** Of the value head as it is; before the update; and what it should say. */
  values?: Float64Array
  oldValues?: Float64Array
  returns?: Float64Array
  /** K alternatives of each token, [tokens * K]: ids, logprobs of the policy as it is, and constants of others. */
  alternatives?: {
    count: number
    ids: Int32Array
    logprobs: Float64Array
    old?: Float64Array
    teacher?: Float64Array
    reference?: Float64Array
  }
}

export interface LossResult {
  value: number
  /** d value / d logprob of each token. [tokens] */
  gradient: Float64Array
  /** d value / d entropy of each token. [tokens] */
  entropyGradient?: Float64Array
  /** d value / d value of the head at each token. [tokens] */
  valueGradient?: Float64Array
  /** d value / d logprob of each alternative. [tokens * K] */
  alternativesGradient?: Float64Array
  /** Means over tokens unless named otherwise: clipFraction, kl, ratio... */
  metrics: Record<string, number>
}

/** The clipped-ratio family, which the local policy also compiles into its training graph: one forward and backward pass. */
export interface ClippedLossSpec {
  kind: 'clipped'
  clipLow: number
  clipHigh: number
  klCoefficient: number
  klEstimator: 'k1' | 'k2' | 'k3'
}

/** The loss -A log p of REINFORCE and, with advantage 1, of supervised learning: its gradient is -c A. */
export interface LinearLossSpec {
  kind: 'linear'
}

/** Objectives that the local policy compiles into its training graph. */
export type CompiledLoss = ClippedLossSpec | LinearLossSpec

/** An objective. `evaluate` is its definition; `compiled`, where present, names the equal graph. */
export interface Loss {
  name: string
  evaluate(tokens: LossTokens): LossResult
  compiled?: CompiledLoss
  /** What it reads of the policy as it is, beside logprobs. */
  reads?: { entropy?: boolean; values?: boolean; alternatives?: boolean }
}

export interface UpdateOptions {
  loss: Loss
  learningRate: number
  /** Global norm the gradient is clipped to; 1 unless given. */
  clipNorm?: number
  /** The temperature the tokens were sampled at; 1 unless given. */
  temperature?: number
}

export interface UpdateResult {
  /** False when the gradient was not finite: nothing was changed. */
  applied: boolean
  loss: number
  /** Before clipping. */
  gradientNorm: number
  trainedTokens: number
  metrics: Record<string, number>
}

export interface ScoreOptions {
  /** 1 unless given. */
  temperature?: number
  /** [sequences][tokens]: only tokens marked 1 are scored, the others stay 0. All but the first unless given. */
  masks?: readonly Uint8Array[]
  /** So many of the most probable tokens of each place; or those of given ids, [tokens * K] a sequence. */
  alternatives?: number | { count: number; ids: readonly Int32Array[] }
  /** Read the value head too; false unless given. */
  values?: boolean
}

export interface ScoreResult {
  /** Log-probability of token t given the tokens before it; entry 0 is 0. [tokens] */
  logprobs: Float32Array
  /** Entropy in nats of the distribution token t was drawn from; entry 0 is 0. [tokens] */
  entropy: Float32Array
  alternatives?: Alternatives
  /** What the value head says of the state before token t; entry 0 is 0. [tokens] */
  values?: Float32Array
}

/**
 * A language model that can be sampled, scored, trained and saved.
 * The local one runs on the engine in worker threads; others may speak to a server.
 */
export interface Policy {
  readonly vocabularySize: number
  readonly contextLength: number
  /** Updates applied so far. */
  readonly version: number
  sample(requests: readonly SampleRequest[], options?: SampleOptions): Promise<Completion[]>
  score(sequences: readonly (readonly number[])[], options?: ScoreOptions): Promise<ScoreResult[]>
  update(batch: readonly TrainSequence[], options: UpdateOptions): Promise<UpdateResult>
  /** A frozen copy: reference, teacher, opponent. */
  snapshot(): Promise<Policy>
  /**
   * Moves the weights of this frozen copy towards those of the policy it was taken of: own <- (1 - rate) own + rate other,
   * weight by weight, rounded once. A copy that follows after every update is a moving average of the policy. Of adapters only
   * the adapters' weights move. `rate` is from 0 (stay) to 1 (become the other).
   *
   * @throws MyriadError 'usage' when this is no frozen copy, `other` is not what it was taken of, or the rate is outside
   * @example const reference = await policy.snapshot(); await policy.update(...); await reference.follow?.(policy, 0.05)
   */
  follow?(other: Policy, rate: number): Promise<void>
  /** Writes weights and, with `optimizer`, everything needed to go on training, into a folder (made if absent; replaced atomically). */
  save(folder: string, options?: { optimizer?: boolean }): Promise<void>
  /** Restores what `save` wrote with `optimizer`. */
  load(folder: string): Promise<void>
  close(): Promise<void>
}
