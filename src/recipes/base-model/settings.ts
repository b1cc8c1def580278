export interface Phase {
  name: string
  steps: number
  /** Peak; falls to a fiftieth along a cosine. */
  learningRate: number
  warmupSteps: number
  demonstrationShare: number
  demonstrations: Readonly<Record<string, number>>
}

/** Everything that decides what the base model becomes. The same settings on the same machine give the same weights. */
export const settings = {
  seed: 1,
  vocabularySize: 3072,
  /** As in config.json; `vocab_size` is the tokenizer's. */
  decoder: {
    model_type: 'llama',
    hidden_size: 128,
    intermediate_size: 344,
    num_hidden_layers: 4,
    num_attention_heads: 4,
    max_position_embeddings: 512,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
  },
  /** Longest document in tokens; longer ones are cut into pieces. */
  documentTokens: 120,
  tokensPerStep: 2048,
  weightDecay: 0.1,
  clipNorm: 1,
  /**
   * One after the other. `demonstrationShare` is the share of tokens that are conversations; the rest is text, so that what
   * was read is not forgotten. `demonstrations` says how often each kind of conversation is drawn, relative to the others:
   * knowledge wants many repetitions, a long kind costs as many tokens as several short ones.
   */
  phases: [
    {
      name: 'pretraining',
      steps: 4000,
      learningRate: 3e-3,
      warmupSteps: 100,
      demonstrationShare: 0,
      demonstrations: {},
    },
    {
      name: 'instruction',
      steps: 3000,
      learningRate: 2e-3,
      warmupSteps: 50,
      demonstrationShare: 0.7,
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
      },
    },
    // Copying, on which most tasks rest, is slow to come: a last phase dwells on it.
    {
      name: 'copying',
      steps: 900,
      learningRate: 1e-3,
      warmupSteps: 20,
      demonstrationShare: 0.8,
      demonstrations: {
        facts: 3,
        translate: 3,
        arithmetic: 2,
        guess: 2,
        maze: 2,
        nim: 2,
        lookup: 1,
        declaration: 1,
        repeat: 8,
        shuffle: 4,
        choose: 3,
        letters: 10,
        numbers: 3,
      },
    },
  ] as readonly Phase[],
  /** Loss weight of what the model only reads in a conversation; what it says counts 1. */
  contextWeight: 0.1,
} as const
