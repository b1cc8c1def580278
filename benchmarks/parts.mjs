// The comparisons, by name. Each opens its sides, lets them take turns and answers what was measured.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { decoderConfigToJson, initializeWeights, parameterCount, writeCheckpoint } from '../dist/models/index.js'
import { matrixRate } from './matrix-rate.mjs'
import { profile } from './profile.mjs'
import { prompts } from './shapes.mjs'
import { absent, openSide } from './side.mjs'
import { closeAll, fastest, takeTurns } from './turns.mjs'

/** How Myriad may divide the machine: replicas of one thread, or one replica of many. */
const divisions = (threads, tokenBudget) =>
  threads === 1
    ? [{ workers: 1, threads, tokenBudget }]
    : [
        { workers: threads, threads: 1, tokenBudget },
        { workers: 1, threads, tokenBudget },
      ]

/** Operations of forward and backward: 6 a weight and token, and the attention products of causal rows in full. */
function trainingOperations({ config, training }) {
  const attention = 12 * config.layers * config.heads * config.headDimension * training.length
  return training.sequences * training.length * (6 * parameterCount(config) + attention)
}

async function train(name, model, context) {
  const { training, tokenBudget } = model
  const { threads } = context
  const open = (setting) => openSide('myriad', { name, setting }, context)
  const ours = await fastest(divisions(threads, tokenBudget), open, 'train')
  const opening = torchOpening(model, context)
  const [parts, torchTrial] = await choice('train', opening, context)
  const rates = [await matrixRate(threads)]
  const sides = {
    myriad: await open(ours.setting),
    'PyTorch eager': await openSide('torch', { ...opening, parts }, context),
    'PyTorch compiled': await openSide('torch', { ...opening, parts, compile: true }, context),
  }
  const figures = await takeTurns(sides, 'train', context)
  await closeAll(sides)
  rates.push(await matrixRate(threads))
  return {
    ...ours,
    torch: { microBatches: parts, trial: torchTrial },
    tokens: training.sequences * training.length,
    operations: trainingOperations(model),
    matrixRate: Math.max(...rates),
    matrixRates: rates,
    ...figures,
  }
}

async function sample(name, model, context) {
  const { sampling, tokenBudget } = model
  const frozen = { name, frozen: true }
  const open = (setting, rest) => openSide('myriad', { ...frozen, setting, ...rest }, context)
  const ours = await fastest(divisions(context.threads, tokenBudget), open, 'sample')
  const opening = torchOpening(model, context)
  const [cache, torchTrial] = await choice('sample', opening, context)
  const sides = {
    myriad: await open(ours.setting),
    'myriad 8 bits': await open(ours.setting, { samplingBits: 8 }),
    'myriad 4 bits': await open(ours.setting, { samplingBits: 4 }),
    'myriad trained': await open(ours.setting, { frozen: false }),
    transformers: await openSide('torch', { ...opening, cache }, context),
    'llama.cpp F32': await openLlama(model, 'F32', context),
    'llama.cpp F16': await openLlama(model, 'F16', context),
    'batched-bench F32': await openBatchedBench(model, 'F32', context),
    'batched-bench F16': await openBatchedBench(model, 'F16', context),
  }
  const figures = await takeTurns(sides, 'sample', context)
  const differences = {}
  for (const [label, side] of bitsOf(sides)) differences[`random weights, ${label}`] = await told(side, 'difference')
  await closeAll(sides)
  // Random weights are nearly uniform and say little: the models that come with the repository say more.
  const real = { '1M': 'models/base', '135M': 'models/smollm2-135m-instruct' }[name]
  const folder = real === undefined ? undefined : join(context.root, real)
  if (folder !== undefined && existsSync(folder))
    for (const [label, , samplingBits] of bitsOf({})) {
      const side = await open(ours.setting, { folder, samplingBits, texts: prompts })
      differences[`${real}, ${label}`] = await told(side, 'difference')
      await side.close()
    }
  return {
    ...ours,
    torch: { cache, trial: torchTrial },
    tokens: sampling.sequences * sampling.reply,
    ...figures,
    differences,
  }
}

const bitsOf = (sides) => [
  ['float32', sides.myriad, undefined],
  ['8 bits', sides['myriad 8 bits'], 8],
  ['4 bits', sides['myriad 4 bits'], 4],
]

async function told(side, command) {
  return (await side.ask(command)) ?? { missing: side.missing }
}

const torchOpening = ({ config, training, sampling }, { threads }) => ({
  config: decoderConfigToJson(config),
  training,
  sampling,
  threads,
})

/** What PyTorch's side finds fastest: how many micro-batches, which cache. */
async function choice(command, opening, context) {
  const side = await openSide('torch', opening, context)
  const answer = await side.ask(`choose ${command}`)
  await side.close()
  return answer === null ? [undefined, { missing: side.missing }] : [answer.choice, answer.trial]
}

/** A GGUF file of the model's shape; or a side that says why there is none. */
function writeGguf({ config }, kind, { scratch, python, root }) {
  const path = join(scratch, `${kind}.gguf`)
  const json = JSON.stringify(decoderConfigToJson(config))
  try {
    execFileSync(python, [join(root, 'benchmarks', 'write_gguf.py'), json, path, kind], { stdio: 'pipe' })
    return { path }
  } catch (error) {
    const reason = String(error.stderr ?? error.message)
    return { side: absent(`no GGUF file: ${reason.trim().split('\n').at(-1)}`) }
  }
}

async function openLlama(model, kind, context) {
  const { path, side } = writeGguf(model, kind, context)
  const { llama, threads } = context
  const vocabulary = model.config.vocabularySize
  return side ?? openSide('llama', { llama, file: path, sampling: model.sampling, threads, vocabulary }, context)
}

async function openBatchedBench(model, kind, context) {
  const { batchedBench: program, threads } = context
  if (program === undefined) return absent('no --batched-bench was given')
  const { path, side } = writeGguf(model, kind, context)
  return side ?? openSide('batchedBench', { program, file: path, sampling: model.sampling, threads }, context)
}

async function grpo(name, model, context) {
  const { config, tokenBudget } = model
  const folder = join(context.scratch, `grpo-${name}`)
  writeCheckpoint(folder, config, initializeWeights(config, 1))
  for (const file of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    copyFileSync(join(context.root, 'models', 'base', file), join(folder, file))
  const texts = prompts.slice(0, model.grpo.prompts)
  const open = (setting) => openSide('myriad', { name, folder, setting, texts }, context)
  const ours = await fastest(divisions(context.threads, tokenBudget), open, 'grpo')
  const sides = {
    myriad: await open(ours.setting),
    TRL: await openSide('trl', { folder, grpo: model.grpo, prompts: texts, threads: context.threads }, context),
  }
  const lengths = await sides.myriad.ask('lengths')
  const figures = await takeTurns(sides, 'grpo', context)
  await closeAll(sides)
  rmSync(folder, { recursive: true })
  return { ...ours, ...model.grpo, promptTokens: lengths?.lengths, ...figures }
}

async function parallel(name, model, context) {
  const { training, sampling, tokenBudget } = model
  const open = (workers, rest) =>
    openSide('myriad', { name, setting: { workers, threads: 1, tokenBudget }, ...rest }, context)
  const compare = async (command, rest) => {
    const sides = { '1 worker': await open(1, rest), '2 workers': await open(2, rest) }
    const figures = await takeTurns(sides, command, context)
    await closeAll(sides)
    return figures
  }
  return {
    train: { tokens: training.sequences * training.length, ...(await compare('train')) },
    sample: { tokens: sampling.sequences * sampling.reply, ...(await compare('sample', { frozen: true })) },
  }
}

export const parts = { train, sample, grpo, parallel, profile }
