/** The thread of one replica: answers calls one at a time, in the order they come. */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf, MyriadError } from '../../core/index.js'
import {
  adaptedModules,
  readAdapter,
  readCheckpoint,
  readCheckpointJson,
  readSafetensors,
  writeAdapter,
  writeCheckpoint,
  type AdapterConfig,
  type NamedTensor,
  type Weights,
} from '../../models/index.js'
import { join } from 'node:path'
import { z } from 'zod'
import { loadTokenizer, tokenizerFilesOf, type Tokenizer } from '../../text/index.js'
import type { SampleRequest } from '../types.js'
import { KeyValueCache } from './cache.js'
import { firstView, type FromWorker, type ToWorker, type WorkerCalls, type WorkerSetup } from './protocol.js'
import { Replica } from './replica.js'
import { sampleAll } from './sampler.js'
import { readValueHead, valueHeadTensors } from './value-head.js'
import type { View } from './view.js'

const port = parentPort
if (!port) throw new MyriadError('runtime', 'policy/local/worker.js must be started as a worker thread')
const setup = workerData as WorkerSetup
const { config, weights } = 'folder' in setup.source ? await readCheckpoint(setup.source.folder) : setup.source
const replica = new Replica(config, weights, setup.options)
replica.addView(firstView, setup.view)

const post = (message: FromWorker): void => port.postMessage(message)
const cache = new KeyValueCache(config, setup.slots)
let resumeSampling: ((requests: (SampleRequest | null)[]) => void) | undefined
let aborted = false
let tokenizer: Tokenizer | undefined

const stateSchema = z.object({ version: z.number().int(), optimizerSteps: z.number().int() })

const calls: {
  [K in keyof WorkerCalls]: (...args: Parameters<WorkerCalls[K]>) => Promise<ReturnType<WorkerCalls[K]>>
} = {
  async addView(name, view) {
    replica.addView(name, view)
  },
  async copyView(name, copy) {
    const { adapter, own, valueHead } = replica.view(name)
    const weights = copied(own)
    replica.addView(copy, {
      ...(adapter ? { adapter: { config: adapter, weights } } : { weights }),
      ...(valueHead && { valueHead: copied(valueHead) }),
    })
  },
  async dropView(name) {
    replica.dropView(name)
  },
  async sample(name, requests, version) {
    aborted = false
    await readyForStopStrings(requests)
    return sampleAll(replica.view(name), cache, requests, {
      tokenBudget: setup.options.tokenBudget,
      version,
      stopTokens: setup.stopTokens,
      decode: (tokens) => tokenizer?.decode(tokens) ?? '',
      next: async (completions) => {
        const followUps = await new Promise<(SampleRequest | null)[]>((resolve) => {
          resumeSampling = resolve
          post({ type: 'ended', completions })
        })
        await readyForStopStrings(followUps)
        return followUps
      },
      aborted: () => aborted,
    })
  },
  async score(name, items, temperature, extras) {
    return replica.view(name).score(items, temperature, extras)
  },
  async accumulate(name, items, loss, temperature) {
    return replica.view(name).accumulate(items, loss, temperature)
  },
  async apply(name, learningRate, clipNorm) {
    return replica.view(name).apply(learningRate, clipNorm)
  },
  async follow(name, other, rate) {
    replica.view(name).follow(replica.view(other), rate)
  },
  async weights(name) {
    const { own, adapter } = replica.view(name)
    return { config, weights: own, adapter }
  },
  async save(name, folder, version, optimizer) {
    const view = replica.view(name)
    const extra = {
      ...valueHeadTensors(view.own),
      ...(optimizer && { 'optimizer.safetensors': optimizerTensors(view) }),
    }
    const json = optimizer
      ? { 'trainer_state.json': { version, optimizerSteps: view.isTrained ? view.optimizerState.steps : 0 } }
      : undefined
    if (view.adapter)
      writeAdapter(folder, {
        config,
        adapter: view.adapter,
        weights: view.own,
        base: baseName(),
        extra,
        json,
        files: templateFile(),
      })
    else writeCheckpoint(folder, config, view.own, { files: await tokenizerFiles(), extra, json })
  },
  async load(name, folder) {
    const view = replica.view(name)
    if (!view.isWritable)
      throw new MyriadError('usage', 'this policy is the bare model, which others share: nothing can be loaded into it')
    const stored = {
      ...(view.adapter ? readTrainedAdapter(folder, view.adapter) : (await readCheckpoint(folder)).weights),
      ...storedValueHead(folder, view),
    }
    const state = stateSchema.safeParse(readCheckpointJson(folder, 'trainer_state.json'))
    if (!state.success) throw new MyriadError('checkpoint', `${join(folder, 'trainer_state.json')} is damaged`)
    const file = join(folder, 'optimizer.safetensors')
    const { tensors } = readSafetensors(file)
    for (const [key, { data }] of Object.entries(optimizerTensors(view))) {
      if (tensors[key]?.data.length !== data.length)
        throw new MyriadError('checkpoint', `${file} lacks tensor "${key}" of ${data.length} values`)
      data.set(tensors[key].data)
    }
    for (const [key, data] of Object.entries(view.own)) {
      if (stored[key]?.length !== data.length)
        throw new MyriadError('checkpoint', `${folder} holds another adapter than the one that is trained`)
      data.set(stored[key])
    }
    if (view.isTrained) view.optimizerState.steps = state.data.optimizerSteps
    view.changed()
    return { version: state.data.version }
  },
  async close() {
    await replica.close()
    setImmediate(() => process.exit(0))
  },
}

function copied(weights: Weights): Weights {
  return Object.fromEntries(Object.entries(weights).map(([key, data]) => [key, data.slice()]))
}

/** A policy with a value head goes on from one with a value head, and one without from one without. */
function storedValueHead(folder: string, view: View): Weights {
  const stored = readValueHead(folder, config.hiddenSize)
  if (view.valueHead && !stored)
    throw new MyriadError(
      'checkpoint',
      `${folder} holds no value head: open the policy without valueHead to go on from it`,
    )
  if (stored && !view.valueHead)
    throw new MyriadError('checkpoint', `${folder} holds a value head: open the policy with valueHead to go on from it`)
  return stored ?? {}
}

/** Of a GGUF file too: a checkpoint holds all it takes to go on with it. */
async function tokenizerFiles(): Promise<Record<string, string>> {
  if (setup.tokenizerFolder === undefined) return {}
  return { ...(await tokenizerFilesOf(setup.tokenizerFolder)), ...templateFile() }
}

function templateFile(): Record<string, string> {
  return setup.chatTemplate === undefined ? {} : { 'chat_template.jinja': setup.chatTemplate }
}

/** Stop strings are found in decoded text; the tokenizer is read when first needed. */
async function readyForStopStrings(requests: readonly (SampleRequest | null)[]): Promise<void> {
  if (tokenizer || !requests.some((request) => request?.stopStrings?.length)) return
  if (setup.tokenizerFolder === undefined)
    throw new MyriadError('usage', 'stop strings need a tokenizer, and this policy has none')
  tokenizer = await loadTokenizer(setup.tokenizerFolder)
}

/** An adapter's weights from a checkpoint: one of other scales has the same names and sizes, and computes something else. */
function readTrainedAdapter(folder: string, trained: AdapterConfig): Weights {
  const { adapter, weights } = readAdapter(folder, config)
  const scales = (one: AdapterConfig): string =>
    one.kind === 'lora'
      ? JSON.stringify(adaptedModules(config, one).map(({ name, rank, scale }) => [name, rank, scale]))
      : one.kind
  if (scales(adapter) !== scales(trained))
    throw new MyriadError(
      'checkpoint',
      `${folder} holds an adapter of other modules, ranks or scales than the one trained`,
    )
  return weights
}

/** What an adapter's file names as its base. */
function baseName(): string | undefined {
  return 'folder' in setup.source ? setup.source.folder : undefined
}

/** The optimizer's arrays by name, shaped like the weights they belong to. */
/** Moments by weight; a frozen copy has none. */
function optimizerTensors(view: View): Record<string, NamedTensor> {
  if (!view.isTrained) return {}
  const moments: Record<string, NamedTensor> = {}
  for (const [moment, arrays] of Object.entries(view.optimizerState.moments))
    for (const [name, data] of Object.entries(arrays)) moments[`${moment}.${name}`] = { shape: view.shapes[name], data }
  return moments
}

let order: Promise<void> = Promise.resolve()
port.on('message', (message: ToWorker) => {
  if (message.type === 'next') resumeSampling?.(message.requests)
  else if (message.type === 'abort') aborted = true
  else order = order.then(() => answer(message))
})

async function answer(call: Extract<ToWorker, { type: 'call' }>): Promise<void> {
  try {
    const method = calls[call.method] as (...args: unknown[]) => Promise<unknown>
    post({ type: 'result', id: call.id, value: await method(...call.arguments) })
  } catch (error) {
    post({
      type: 'error',
      id: call.id,
      code: error instanceof MyriadError ? error.code : 'runtime',
      message: messageOf(error),
      stack: error instanceof Error ? error.stack : undefined,
    })
  }
}
