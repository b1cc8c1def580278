/** One ONNX Runtime session on the calling thread, with bound values. */
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import type { InferenceSession, Tensor as OnnxValue } from 'onnxruntime-common'
import type * as onnxruntime from 'onnxruntime-node'
import { MyriadError, messageOf } from '../core/index.js'
import { outputName } from './lower.js'
import { dataTypeOf, holds, sizeOf, type DataType, type Shape, type TypedArray, type Value } from './types.js'

export type Device = 'cpu' | 'cuda' | 'webgpu' | 'coreml' | 'dml'

export const devices: readonly Device[] = ['cpu', 'cuda', 'webgpu', 'coreml', 'dml']

/** What a session needs to know of an input or output; plain data, so that it can cross to a worker thread. */
export interface Port {
  name: string
  dtype: DataType
  shape: Shape
}

export interface SessionSpec {
  onnx: Uint8Array
  /** Large initializers that the model names. */
  beside: readonly { path: string; data: Uint8Array }[]
  inputs: readonly Port[]
  outputs: readonly Port[]
  device: Device
  threads: number
}

export interface Session {
  run(feeds: Readonly<Record<string, Value>>): Promise<Record<string, Value>>
  bind(values: Readonly<Record<string, Value>>): void
  close(): Promise<void>
}

type Runtime = typeof onnxruntime

const onnxTypes = { float32: 'float32', int64: 'int64', int32: 'int32', bool: 'bool', uint8: 'uint8' } as const

/** Opens a session. Throws `device` when this machine cannot run it there. */
export async function openSession(spec: SessionSpec): Promise<Session> {
  // Loading the native library takes a while; programs that never compile should not pay for it.
  const runtime = createRequire(import.meta.url)('onnxruntime-node') as Runtime
  const session = await createSession(runtime, spec)
  const ports = new Map(spec.inputs.map((port) => [port.name, port]))
  const bound = new Map<string, OnnxValue>()
  const checkNames = nameChecker(spec.inputs)
  const fetches = spec.outputs.map(({ name }) => outputName(name))

  const wrap = (name: string, value: Value): OnnxValue => {
    const port = ports.get(name)
    if (!port) {
      throw new MyriadError('usage', `run: the program has no input '${name}'; it has ${[...ports.keys()].join(', ')}`)
    }
    check(port, value)
    // onnxruntime-node reads the array in place: nothing is copied here.
    return new runtime.Tensor(onnxTypes[port.dtype], value.data as never, value.shape) as unknown as OnnxValue
  }

  return {
    bind: (values) => {
      for (const [name, value] of Object.entries(values)) {
        // Parameters that this program does not use are no mistake: one set of weights serves several programs.
        if (ports.has(name)) bound.set(name, wrap(name, value))
      }
    },
    run: async (feeds) => {
      const inputs: Record<string, OnnxValue> = Object.fromEntries(bound)
      for (const [name, value] of Object.entries(feeds)) inputs[name] = wrap(name, value)
      const missing = spec.inputs.filter(({ name }) => !(name in inputs))
      if (missing.length > 0) {
        const list = missing.map(({ name, dtype, shape }) => `${name} ${dtype} [${shape.join(', ')}]`).join(', ')
        throw new MyriadError('usage', `run: not fed and not bound: ${list}`)
      }
      checkNames(inputs)
      let results: InferenceSession.OnnxValueMapType
      try {
        results = await session.run(inputs, fetches)
      } catch (error) {
        throw new MyriadError('runtime', `run: ONNX Runtime failed: ${messageOf(error)}`, { cause: error })
      }
      const values: Record<string, Value> = {}
      spec.outputs.forEach(({ name }, index) => {
        const result = results[fetches[index]] as OnnxValue
        values[name] = { data: result.data as TypedArray, shape: result.dims }
      })
      return values
    },
    close: () => session.release(),
  }
}

async function createSession(
  runtime: Runtime,
  { onnx, beside, device, threads }: SessionSpec,
): Promise<InferenceSession> {
  const options: InferenceSession.SessionOptions = {
    executionProviders: [device],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
    // Plans of memory by input lengths pay when these never change; with many lengths they cost a quarter more memory.
    enableMemPattern: false,
    ...(beside.length > 0 ? { externalData: beside } : {}),
    extra: {
      session: {
        // A softmax over masked scores is full of numbers below 1e-38, each of which costs a hundred cycles.
        set_denormal_as_zero: '1',
        // Waiting threads that spin take the processor from other workers: half the speed on a busy machine.
        intra_op: { allow_spinning: '0' },
      },
    },
  }
  try {
    if (!runtime.listSupportedBackends().some(({ name }) => name === device)) {
      throw new Error(`ONNX Runtime's package for ${platform()} ${arch()} is built without it`)
    }
    return (await runtime.InferenceSession.create(onnx, options)) as unknown as InferenceSession
  } catch (error) {
    const reason = messageOf(error).replace(/\s+/g, ' ').trim()
    if (device === 'cpu') {
      throw new MyriadError('runtime', `compile: ONNX Runtime refused the program: ${reason}`, { cause: error })
    }
    const advice =
      device === 'cuda'
        ? `its libraries are installed by: node node_modules/onnxruntime-node/script/install.js; or use 'cpu'`
        : `use 'cpu'`
    throw new MyriadError('device', `device '${device}' cannot be used on this machine: ${advice} (${reason})`, {
      cause: error,
    })
  }
}

function check({ name, dtype, shape }: Port, value: Value): void {
  const expected = `${dtype} [${shape.join(', ')}]`
  const given = `${dataTypeOf(value.data)} [${value.shape.join(', ')}]`
  if (!holds(value.data, dtype))
    throw new MyriadError('shape', `run: input '${name}' is ${given}, but must be ${expected}`)
  const fits =
    value.shape.length === shape.length && shape.every((d, axis) => typeof d === 'string' || d === value.shape[axis])
  if (!fits) throw new MyriadError('shape', `run: input '${name}' is ${given}, but must be ${expected}`)
  if (sizeOf(value.shape) !== value.data.length) {
    throw new MyriadError(
      'shape',
      `run: input '${name}' is ${given}, but its array holds ${value.data.length} elements`,
    )
  }
}

/** Makes the check that the same name has the same length everywhere. Every run pays for it, so names are found once. */
function nameChecker(ports: readonly Port[]): (inputs: Readonly<Record<string, OnnxValue>>) => void {
  const places = ports.flatMap(({ name: input, shape }) =>
    shape.flatMap((dimension, axis) =>
      typeof dimension === 'string' && /^\w+$/.test(dimension) ? [{ dimension, input, axis }] : [],
    ),
  )
  return (inputs) => {
    const known = new Map<string, { length: number; input: string }>()
    for (const { dimension, input, axis } of places) {
      const length = inputs[input].dims[axis]
      const first = known.get(dimension)
      if (!first) known.set(dimension, { length, input })
      else if (first.length !== length) {
        throw new MyriadError(
          'shape',
          `run: '${dimension}' is ${first.length} in input '${first.input}', but ${length} in input '${input}' (axis ${axis})`,
        )
      }
    }
  }
}
