// Myriad's side of bench.mjs.
import { crossEntropy, grpo } from '../dist/algorithms/index.js'
import { createRandom } from '../dist/core/index.js'
import { adapterSchema, initializeWeights } from '../dist/models/index.js'
import { localPolicyFromWeights, openLocalPolicy } from '../dist/policy/index.js'
import { peakMemory } from './memory.mjs'
import { models } from './shapes.mjs'
import { serve, timed } from './side.mjs'

let model, opened, policy, tokenizer, batch, prompts
const random = createRandom(2)
let seed = 0
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

/** A policy that trains all weights, or (`frozen`) the same model as one that is only ever sampled. */
async function open({ name, folder, setting, frozen = false, samplingBits, texts }) {
  model = models[name]
  const { sampling, training, config } = model
  const options = {
    ...setting,
    slots: Math.ceil(sampling.sequences / setting.workers),
    rowLength: training.length,
    samplingBits,
    // The base under an adapter is frozen: its weights are laid out when programs are compiled.
    adapter: frozen ? { config: adapterSchema.parse({ kind: 'lora', rank: 1 }) } : undefined,
  }
  if (folder) {
    ;({ policy: opened, tokenizer } = await openLocalPolicy(folder, { ...options, slots: 96 }))
    prompts = texts
  } else opened = localPolicyFromWeights(config, initializeWeights(config, 1), options)
  policy = frozen ? await opened.base() : opened
  const { sequences, length } = training
  batch = Array.from({ length: sequences }, () => ({
    tokens: Array.from({ length }, () => random.integer(0, config.vocabularySize - 1)),
    mask: new Uint8Array(length).fill(1, 1),
    logprobs: new Float32Array(length),
    advantages: new Float32Array(length).fill(1),
    weights: new Float32Array(length).fill(1 / (sequences * length)),
  }))
  return {}
}

function requests() {
  const { sequences, prompt, reply } = model.sampling
  return Array.from({ length: sequences }, (_, i) => ({
    id: `${i}`,
    tokens: Array.from({ length: prompt }, () => random.integer(0, model.config.vocabularySize - 1)),
    maxTokens: reply,
    seed: seed++,
  }))
}

async function sample() {
  const asked = requests()
  let replies
  const time = await timed(async () => (replies = await policy.sample(asked)))
  const expected = model.sampling.sequences * model.sampling.reply
  const tokens = replies.reduce((sum, reply) => sum + reply.tokens.length, 0)
  if (tokens !== expected) throw new Error(`sampled ${tokens} tokens, not ${expected}`)
  return time
}

/** How far the distribution that was sampled from is from the model's own: what sampling reports against what scoring says. */
async function difference() {
  const asked = prompts
    ? Array.from({ length: 32 }, (_, i) => ({
        id: `${i}`,
        tokens: tokenizer.encode(prompts[i % prompts.length]),
        maxTokens: 64,
        seed: i,
      }))
    : requests()
  const replies = await policy.sample(asked)
  const scores = await policy.score(asked.map((request, i) => [...request.tokens, ...replies[i].tokens]))
  const gaps = replies.flatMap((reply, i) =>
    reply.logprobs.map((logprob, t) => scores[i].logprobs[asked[i].tokens.length + t] - logprob),
  )
  return {
    tokens: gaps.length,
    meanAbsoluteLogprobDifference: mean(gaps.map(Math.abs)),
    largestLogprobDifference: gaps.reduce((most, gap) => Math.max(most, Math.abs(gap)), 0),
    // KL(sampled || model), estimator k3: exp(d) - 1 - d, of which every term is at least 0.
    kl: mean(gaps.map((gap) => Math.expm1(gap) - gap)),
  }
}

/** Share of even ids: cheap, never without variance in a group of random replies. */
const reward = (ids) => ids.filter((id) => id % 2 === 0).length / ids.length

async function grpoStep() {
  const algorithm = grpo({ normalization: 'mean-std', aggregation: 'token-mean' })
  const { replies, maxTokens } = model.grpo
  let sampling
  const time = await timed(async () => {
    const asked = prompts.flatMap((text, p) => {
      const tokens = tokenizer.encode(text)
      return Array.from({ length: replies }, (_, r) => ({ id: `${p}.${r}`, tokens, maxTokens, seed: seed++ }))
    })
    let completions
    sampling = await timed(async () => (completions = await policy.sample(asked)))
    const groups = prompts.map((_, p) => ({
      problem: {},
      trajectories: completions.slice(p * replies, (p + 1) * replies).map((completion, r) => {
        const context = asked[p * replies + r].tokens
        const tokens = [...context, ...completion.tokens]
        const logprobs = new Float32Array(tokens.length)
        logprobs.set(completion.logprobs, context.length)
        const mask = new Uint8Array(tokens.length).fill(1, context.length)
        return { tokens, mask, logprobs, reward: reward(completion.tokens), stopReason: completion.stopReason }
      }),
    }))
    const { sequences } = algorithm.learn(groups)
    const { applied } = await policy.update(algorithm.weigh(sequences), { loss: algorithm.loss, learningRate: 1e-6 })
    if (!applied) throw new Error('the update was not applied')
  })
  return { ...time, samplingSeconds: sampling.seconds }
}

await serve({
  open,
  sample,
  difference,
  grpo: grpoStep,
  train: () => timed(() => policy.update(batch, { loss: crossEntropy(), learningRate: 1e-4 })),
  lengths: () => ({ lengths: prompts.map((text) => tokenizer.encode(text).length) }),
  memory: () => ({ bytes: peakMemory() }),
  async end() {
    await policy.close()
    if (policy !== opened) await opened.close()
    return {}
  },
})
