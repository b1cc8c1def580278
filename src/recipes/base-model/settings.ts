import type { DecoderConfig } from '../../models/index.js'

/** Everything that decides what the base model becomes. The same settings on the same machine give the same weights. */
export const settings = {
  seed: 1,
  vocabularySize: 3072,
  decoder: {
    modelType: 'llama',
    hiddenSize: 128,
    intermediateSize: 344,
    layers: 4,
    heads: 4,
    keyValueHeads: 4,
    headDimension: 32,
    contextLength: 512,
    rmsNormEpsilon: 1e-5,
    ropeTheta: 10000,
    tieEmbeddings: true,
    attentionBias: false,
    outputBias: false,
    mlpBias: false,
    queryKeyNorm: false,
  } satisfies Omit<DecoderConfig, 'vocabularySize'>,
  /** Longest document in tokens; longer ones are cut into pieces. */
  documentTokens: 120,
  tokensPerStep: 2048,
  weightDecay: 0.1,
  clipNorm: 1,
  /** Text only: udhr, facts, names, numbers, alphabets. */
  pretraining: { steps: 4000, learningRate: 3e-3, warmupSteps: 100, demonstrationShare: 0 },
  /** Conversations, with text mixed in so that what was read is not forgotten. */
  instruction: { steps: 3000, learningRate: 2e-3, warmupSteps: 50, demonstrationShare: 0.7 },
  /**
   * How often each kind of conversation is drawn, relative to the others. Look-up is learned in little time; knowledge
   * wants many repetitions; a long kind costs as many tokens as several short ones; copying, which most tasks rest on, is
   * the hardest to learn.
   */
  demonstrations: {
    facts: 4,
    translate: 5,
    arithmetic: 4,
    guess: 4,
    maze: 4,
    nim: 4,
    lookup: 1,
    declaration: 2,
    repeat: 10,
    shuffle: 6,
    choose: 6,
    letters: 10,
    numbers: 6,
  } as Readonly<Record<string, number>>,
  /** Loss weight of what the model only reads in a conversation; what it says counts 1. */
  contextWeight: 0.1,
} as const
