// What is measured on: models by name and the work of each part.
import { parseDecoderConfig } from '../dist/models/index.js'

const decoder = (hidden, intermediate, layers, heads, rest = {}) =>
  parseDecoderConfig({
    model_type: 'llama',
    vocab_size: 3072,
    hidden_size: hidden,
    intermediate_size: intermediate,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: heads,
    max_position_embeddings: 512,
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    tie_word_embeddings: true,
    ...rest,
  })

/**
 * A configuration; `training`: tokens of one step, all of them targets; `grpo`: prompts and replies to each;
 * `tokenBudget`: most tokens Myriad trains on at a time.
 */
export const models = {
  '1M': { config: decoder(128, 344, 4, 4) },
  '4M': { config: decoder(256, 688, 4, 4) },
  '27M': { config: decoder(512, 1376, 8, 8, { vocab_size: 4096 }) },
  // SmolLM2-135M's shape.
  '135M': {
    config: decoder(576, 1536, 30, 9, { vocab_size: 49152, num_key_value_heads: 3, rope_theta: 100000 }),
    training: { sequences: 8, length: 128 },
    grpo: { prompts: 4, replies: 8, maxTokens: 32 },
    tokenBudget: 1024,
  },
}
for (const model of Object.values(models)) {
  model.tokenBudget ??= 2048
  model.training ??= { sequences: 32, length: 128 }
  model.grpo ??= { prompts: 8, replies: 8, maxTokens: 32 }
  model.sampling = { sequences: 32, prompt: 16, reply: 64 }
}

/** Prompts of 16 to 32 tokens under the base model's tokenizer. */
export const prompts = [
  'Sort these numbers: 42, 17, 93, 8, 25.',
  'What is the name of the capital of France?',
  'Translate into German: All are equal.',
  'Say the words backwards: apple, tree, river.',
  'Which word has more letters: sun or planet?',
  'Write the number twenty-three in digits.',
  'How many days are there in a week?',
  'Repeat these letters: q w e r t y u.',
]
