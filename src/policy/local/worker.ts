/** The thread of one replica: answers calls one at a time, in the order they come. */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf, MyriadError } from '../../core/index.js'
import {
  readCheckpoint,
  readCheckpointJson,
  readSafetensors,
  parameterShapes,
  writeCheckpoint,
} from '../../models/index.js'
import { join } from 'node:path'
import { z } from 'zod'
import { loadTokenizer, type Tokenizer } from '../../text/index.js'
import type { SampleRequest } from '../types.js'
import { KeyValueCache } from './cache.js'
import type { FromWorker, ToWorker, WorkerCalls, WorkerSetup } from './protocol.js'
import { Replica } from './replica.js'
import { sampleAll } from './sampler.js'

const port = parentPort
if (!port) throw new MyriadError('runtime', 'policy/local/worker.js must be started as a worker thread')
const setup = workerData as WorkerSetup
const { config, weights } = 'folder' in setup.source ? await readCheckpoint(setup.source.folder) : setup.source
const gradients = setup.gradients.map((buffer) => new Float32Array(buffer))
const replica = new Replica(config, weights, setup.options, gradients[setup.index])

const post = (message: FromWorker): void => port.postMessage(message)
const cache = new KeyValueCache(config, setup.slots)
let resumeSampling: ((requests: (SampleRequest | null)[]) => void) | undefined
let aborted = false
let tokenizer: Tokenizer | undefined

const stateSchema = z.object({ version: z.number().int(), optimizerSteps: z.number().int() })

const calls: {
  [K in keyof WorkerCalls]: (...args: Parameters<WorkerCalls[K]>) => Promise<ReturnType<WorkerCalls[K]>>
} = {
  async sample(requests, version) {
    aborted = false
    await readyForStopStrings(requests)
    return sampleAll(replica, cache, requests, {
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
  async score(items, temperature) {
    return replica.score(items, temperature)
  },
  async accumulate(items, loss, temperature) {
    return replica.accumulate(items, loss, temperature)
  },
  async apply(learningRate, clipNorm) {
    return replica.apply(gradients, learningRate, clipNorm)
  },
  async weights() {
    return { config, weights: replica.weights }
  },
  async save(folder, version, optimizer) {
    const { moments, steps } = optimizerTensors()
    writeCheckpoint(folder, config, replica.weights, {
      tokenizerFrom: setup.tokenizerFolder,
      extra: optimizer ? { 'optimizer.safetensors': moments } : undefined,
      json: optimizer ? { 'trainer_state.json': { version, optimizerSteps: steps } } : undefined,
    })
  },
  async load(folder) {
    const stored = await readCheckpoint(folder)
    const state = stateSchema.safeParse(readCheckpointJson(folder, 'trainer_state.json'))
    if (!state.success) throw new MyriadError('checkpoint', `${join(folder, 'trainer_state.json')} is damaged`)
    const file = join(folder, 'optimizer.safetensors')
    const { tensors } = readSafetensors(file)
    for (const [name, { data }] of Object.entries(optimizerTensors().moments)) {
      if (tensors[name]?.data.length !== data.length)
        throw new MyriadError('checkpoint', `${file} lacks tensor "${name}" of ${data.length} values`)
      data.set(tensors[name].data)
    }
    for (const [name, data] of Object.entries(stored.weights)) replica.weights[name].set(data)
    replica.optimizerState.steps = state.data.optimizerSteps
    return { version: state.data.version }
  },
  async close() {
    await replica.close()
    setImmediate(() => process.exit(0))
  },
}

/** Stop strings are found in decoded text; the tokenizer is read when first needed. */
async function readyForStopStrings(requests: readonly (SampleRequest | null)[]): Promise<void> {
  if (tokenizer || !requests.some((request) => request?.stopStrings?.length)) return
  if (setup.tokenizerFolder === undefined)
    throw new MyriadError('usage', 'stop strings need a tokenizer, and this policy has none')
  tokenizer = await loadTokenizer(setup.tokenizerFolder)
}

/** The optimizer's arrays by name, shaped like the weights they belong to. */
function optimizerTensors(): { moments: Record<string, { shape: number[]; data: Float32Array }>; steps: number } {
  const shapes = parameterShapes(config)
  const moments: Record<string, { shape: number[]; data: Float32Array }> = {}
  for (const [moment, arrays] of Object.entries(replica.optimizerState.moments))
    for (const [name, data] of Object.entries(arrays)) moments[`${moment}.${name}`] = { shape: shapes[name], data }
  return { moments, steps: replica.optimizerState.steps }
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
