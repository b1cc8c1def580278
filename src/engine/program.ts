import { MyriadError } from '../core/index.js'
import type { Graph } from './graph.js'
import { lower } from './lower.js'
import { arraysBeside, encodeModel } from './onnx.js'
import { devices, openSession, type Device, type Port, type Session, type SessionSpec } from './session.js'
import type { Tensor, Value } from './types.js'
import { openRemoteSession } from './remote.js'

export interface CompileOptions {
  /** What a run answers, by name. Only the nodes they need are compiled. */
  outputs: Readonly<Record<string, Tensor>>
  /** 'cpu' unless given. */
  device?: Device
  /** Threads of ONNX Runtime; 1 unless given. On a machine with other work, several programs of one thread do better. */
  threads?: number
  /**
   * Whether the session lives on the calling thread, which then blocks while it runs: for code that is itself in a worker
   * thread. False unless given: a worker thread of its own.
   */
  inline?: boolean
  /**
   * Values of inputs and parameters that become part of the program, and are no inputs of it. ONNX Runtime lays weights out
   * for its kernels then: products of 8 to 64 rows take 0.4 to 0.7 of the time. They cannot be changed afterwards.
   */
  constants?: Readonly<Record<string, Value>>
  /**
   * Whether products by weights that are bound have few rows, about 8 to 64, as when a batch is decoded token by token: they
   * are computed the other way round, in 0.7 to 0.9 of the time. Slower for one row and for hundreds. False unless given.
   */
  fewRows?: boolean
}

/** A compiled graph. */
export interface Program {
  /** What must be fed or bound. */
  readonly inputs: readonly Port[]
  readonly outputs: readonly Port[]
  /** The ONNX model, for inspection or for another runtime; written anew each time. Constants are inputs of it. */
  readonly onnx: Uint8Array
  /**
   * Computes the outputs. Feeds override bound values. Inline programs read the arrays in place; others copy them.
   *
   * @throws MyriadError `usage` for a missing or unknown input; `shape` for a wrong type or length; `runtime`
   */
  run(feeds?: Readonly<Record<string, Value>>): Promise<Record<string, Value>>
  /**
   * Values fed on every run from now on; names the program does not use are passed over, so that one set of weights can be
   * bound to several programs. Inline programs read the arrays in place: a change to them is seen by the next run.
   */
  bind(values: Readonly<Record<string, Value>>): void
  close(): Promise<void>
}

/**
 * Compiles the part of a graph that the outputs need.
 *
 * @throws MyriadError `device` when the machine cannot run it there; `shape` when a dimension cannot be known at run time
 * @example
 * const program = await compile(graph, { outputs: { loss, dW } })
 * const { loss } = await program.run({ x: { data: Float32Array.of(1, 2), shape: [1, 2] } })
 */
export async function compile(graph: Graph, options: CompileOptions): Promise<Program> {
  const { device = 'cpu', threads = 1, inline = false, constants, fewRows } = options
  if (!devices.includes(device)) {
    throw new MyriadError('device', `device '${device}' is none of ${devices.join(', ')}`)
  }
  const lowered = lower(graph, options.outputs, { constants, fewRows })
  const ports = (tensors: ReadonlyMap<string, Tensor>): Port[] =>
    [...tensors].map(([name, { dtype, shape }]) => ({ name, dtype, shape }))
  const spec: SessionSpec = {
    // ONNX Runtime walks depth first from the last node of the file without readers, latest operand first. Written the other way
    // round, nodes run about as they were made: a weight's gradient as soon as it can be, so that what it needs is freed then.
    onnx: encodeModel({ ...lowered.model, nodes: lowered.model.nodes.toReversed() }, { beside: true }),
    beside: arraysBeside(lowered.model),
    inputs: ports(lowered.inputs),
    outputs: ports(lowered.outputs),
    device,
    threads,
  }
  const session: Session = inline ? await openSession(spec) : await openRemoteSession(spec)
  return {
    inputs: spec.inputs,
    outputs: spec.outputs,
    get onnx() {
      // Lowered again, so that a program does not keep its constants alive: they are inputs of this model.
      return encodeModel(lower(graph, options.outputs, { fewRows }).model)
    },
    run: (feeds = {}) => session.run(feeds),
    bind: session.bind,
    close: session.close,
  }
}
