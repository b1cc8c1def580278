/** The policy that runs on the engine: replicas in worker threads that sample, score and train. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { MyriadError } from '../../core/index.js'
import type { Device } from '../../engine/index.js'
import {
  memoryNeeded,
  readCheckpointConfig,
  requireMemory,
  type DecoderConfig,
  type Weights,
} from '../../models/index.js'
import {
  createChatFormat,
  loadTokenizer,
  readChatTemplate,
  type ChatFormat,
  type TextTokenizer,
} from '../../text/index.js'
import { LocalPolicy, type LocalPolicySetup } from './local-policy.js'
import { quantizationFor } from './quantized.js'
import { openValueHead, type AdapterSource } from './view-setup.js'

export { LocalPolicy } from './local-policy.js'
export type { AdapterSource } from './view-setup.js'

export interface LocalPolicyOptions {
  /** Replicas of the model, one thread each; 2 unless given. */
  workers?: number
  /** Threads inside one replica's programs; 1 unless given. More than 1 is for large models on idle machines. */
  threads?: number
  /** cpu unless given; cuda, webgpu, coreml and dml where the machine has them. */
  device?: Device
  /** Sequences one replica samples at a time; 96 unless given. */
  slots?: number
  /** Preferred tokens of a packed training row; 128 unless given. */
  rowLength?: number
  /** Most tokens in one forward and backward pass; 2,048 unless given. */
  tokenBudget?: number
  /** AdamW's weight decay; 0 unless given. */
  weightDecay?: number
  /** Compute activations again in the backward pass: a third more work, a fraction of the memory. False unless given. */
  recompute?: boolean
  /**
   * Sample with the model's linear layers rounded to so many bits: faster, by another distribution than the one that is trained.
   * The logprobs that come back are those sampled from; importance weights take the difference out. 4 needs an adapter.
   */
  samplingBits?: 8 | 4
  /** Train an adapter, new or from its folder, and leave the model's own weights as they are. */
  adapter?: AdapterSource
  /**
   * Have a value head, one number from the last hidden state, that losses with `valueGradient` train with the rest. It is saved
   * beside the weights (value_head.safetensors) and read again from there; a new one says 0. False unless given.
   */
  valueHead?: boolean
  /**
   * A file with the chat template to use in place of the model's, or `default` for the format of the project's own models. It
   * is saved with what is trained, and read again from there.
   */
  chatTemplate?: string
}

/**
 * Opens a model (a Hugging Face folder, or a GGUF file) as a policy and its chat format.
 *
 * @example
 * const { policy, chat } = await openLocalPolicy('models/myriad-base')
 * const [reply] = await policy.sample([{ id: '0', tokens: chat.prompt(messages), maxTokens: 16, seed: 1 }])
 * console.log(chat.tokenizer.decode(reply.tokens))
 *
 * @throws MyriadError 'checkpoint' when a file is missing or damaged, or the tokenizer has more tokens than the model;
 *   'usage' when the adapter or `samplingBits` do not go with the model; 'device' when the weights would not fit into memory
 */
export async function openLocalPolicy(
  folder: string,
  options: LocalPolicyOptions = {},
): Promise<{ policy: LocalPolicy; chat: ChatFormat; tokenizer: TextTokenizer }> {
  if (!existsSync(folder))
    throw new MyriadError('usage', `there is no model ${folder}: give a folder that holds config.json, or a GGUF file`)
  if (options.samplingBits !== undefined) quantizationFor(options.samplingBits, options.adapter !== undefined)
  const config = await readCheckpointConfig(folder)
  requireMemory(folder, memoryNeeded(config, { workers: options.workers ?? 2 }))
  const tokenizer = await loadTokenizer(folder)
  if (tokenizer.vocabularySize > config.vocabularySize)
    throw new MyriadError(
      'checkpoint',
      `${folder}: the tokenizer has ${tokenizer.vocabularySize} tokens, the model only ${config.vocabularySize}`,
    )
  const chatTemplate = await chosenTemplate(options)
  const template = chatTemplate ?? tokenizer.chatTemplate
  if (template === null) throw withoutTemplate(folder)
  const chat = createChatFormat(tokenizer, template)
  const policy = new LocalPolicy({
    ...replicaSetup(config, options),
    valueHead: options.valueHead ? openValueHead(config.hiddenSize, options.adapter ?? { folder }) : undefined,
    chatTemplate,
    source: { folder },
    stopTokens: tokenizer.stopTokens,
    tokenizerFolder: folder,
  })
  return { policy, chat, tokenizer }
}

/** The template asked for, else the one that an adapter was trained with; undefined where the model's own is meant. */
async function chosenTemplate({ chatTemplate, adapter }: LocalPolicyOptions): Promise<string | undefined> {
  if (chatTemplate !== undefined) return readChatTemplate(chatTemplate)
  const saved = adapter && 'folder' in adapter ? join(adapter.folder, 'chat_template.jinja') : undefined
  return saved !== undefined && existsSync(saved) ? readChatTemplate(saved) : undefined
}

function withoutTemplate(folder: string): MyriadError {
  const put = folder.endsWith('.gguf') ? '' : 'put one into the folder as chat_template.jinja, or '
  return new MyriadError(
    'usage',
    `${folder} has no chat template, so it is not known how it reads messages: ${put}name one with --chat-template FILE ` +
      `(in the configuration of a run, "chatTemplate"); "default" instead of a file is Myriad's own format`,
  )
}

/** A policy from weights in memory, for pretraining and tests. `tokenizerFolder` travels along when it is saved. */
export function localPolicyFromWeights(
  config: DecoderConfig,
  weights: Weights,
  options: LocalPolicyOptions & { stopTokens?: readonly number[]; tokenizerFolder?: string } = {},
): LocalPolicy {
  return new LocalPolicy({
    ...replicaSetup(config, options),
    valueHead: options.valueHead ? openValueHead(config.hiddenSize, options.adapter) : undefined,
    source: { config, weights },
    stopTokens: options.stopTokens ?? [],
    tokenizerFolder: options.tokenizerFolder,
  })
}

function replicaSetup(
  config: DecoderConfig,
  options: LocalPolicyOptions,
): Pick<LocalPolicySetup, 'config' | 'options' | 'workers' | 'slots' | 'adapter'> {
  return {
    config,
    workers: options.workers ?? 2,
    slots: options.slots ?? 96,
    adapter: options.adapter,
    options: {
      device: options.device ?? 'cpu',
      threads: options.threads ?? 1,
      rowLength: options.rowLength ?? 128,
      tokenBudget: options.tokenBudget ?? 2048,
      weightDecay: options.weightDecay ?? 0,
      recompute: options.recompute ?? false,
      ...(options.samplingBits === undefined ? {} : { samplingBits: options.samplingBits }),
    },
  }
}
