/** A program reached for an import that is not on the list. */
export class ForbiddenImport extends Error {
  constructor(name: string) {
    super(`the program asked for ${name}`)
    this.name = 'ForbiddenImport'
  }
}

export interface WallRules {
  /** Imports that may be called, as 'module.name'; 'module.*' for all of a module that no program can reach. */
  allow: readonly string[]
  /** The import that grows memory, held to `memoryBytes`. */
  resizeHeap?: string
  /** WASI reads of descriptor 0 and writes to 1 and 2 go to `streams`, past the runtime's own terminal. */
  descriptors?: boolean
}

/** Standard input and output of the program that runs. */
export interface Streams {
  input: Uint8Array
  /** The descriptor is 1 or 2. */
  write(descriptor: number, bytes: Uint8Array): void
}

/** The first wall: what WebAssembly instances of this process may import. */
export interface Wall {
  /** From now on only what is on the list may be called. */
  seal(): void
  /** In bytes; growth beyond it is refused. */
  memoryBytes: number
  /** The first forbidden import that was asked for since `clear`. */
  violation(): string | null
  /** Was growth refused since `clear`? */
  memoryRefused(): boolean
  refuseMemory(): void
  clear(): void
  streams?: Streams
}

type SystemCall = (descriptor: number, vectors: number, count: number, done: number) => number
type Imports = Record<string, Record<string, unknown>>

// The part of the interface used here; TypeScript has it only in the types of browsers.
declare const WebAssembly: {
  Module: { new (bytes: Uint8Array): object; imports(module: object): { module: string; name: string; kind: string }[] }
  Instance: new (module: object, imports?: Imports) => { exports: Record<string, unknown> }
  Table: new (size: { element: 'anyfunc'; initial: number }) => { set(index: number, value: unknown): void }
  compile(bytes: Uint8Array): Promise<object>
  instantiate(module: object, imports?: Imports): Promise<object>
}

/**
 * Puts the wall before every WebAssembly instance made from now on. Each function import is replaced by one that looks at
 * the list; an import that is not on it works until `seal` and throws ForbiddenImport afterwards.
 *
 * The rules are read once: nothing that is loaded later can add to them.
 */
export function raiseWall(rules: WallRules): Wall {
  const allow = new Set(rules.allow)
  const prefixes = rules.allow.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
  let sealed = false
  let violation: string | null = null
  let refused = false
  const wall: Wall = {
    seal: () => void (sealed = true),
    memoryBytes: Infinity,
    violation: () => violation,
    memoryRefused: () => refused,
    refuseMemory: () => void (refused = true),
    clear: () => {
      violation = null
      refused = false
    },
  }

  function guard(name: string, call: (...args: unknown[]) => unknown): unknown {
    if (name === rules.resizeHeap)
      return (size: number) => {
        if (size >>> 0 <= wall.memoryBytes) return call(size)
        refused = true
        return 0
      }
    if (rules.descriptors && name.endsWith('.fd_write')) return writer(call as SystemCall)
    if (rules.descriptors && name.endsWith('.fd_read')) return reader(call as SystemCall)
    if (allow.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) return call
    return (...args: unknown[]) => {
      if (!sealed) return call(...args)
      violation ??= name
      throw new ForbiddenImport(name)
    }
  }

  // The memory of the newest instance that has one: the runtime itself, not the small ones that stand for single functions.
  let memory: { buffer: ArrayBuffer } | undefined

  function pieces(vectors: number, count: number): Uint8Array[] {
    const view = new DataView(memory!.buffer)
    return Array.from({ length: count }, (_, i) => {
      const at = vectors + 8 * i
      return new Uint8Array(memory!.buffer, view.getUint32(at, true), view.getUint32(at + 4, true))
    })
  }

  function writer(call: SystemCall): SystemCall {
    return (descriptor, vectors, count, written) => {
      const { streams } = wall
      if (!streams || !memory || (descriptor !== 1 && descriptor !== 2))
        return call(descriptor, vectors, count, written)
      let length = 0
      for (const piece of pieces(vectors, count)) {
        streams.write(descriptor, piece)
        length += piece.length
      }
      new DataView(memory.buffer).setUint32(written, length, true)
      return 0
    }
  }

  function reader(call: SystemCall): SystemCall {
    return (descriptor, vectors, count, read) => {
      const { streams } = wall
      if (!streams || !memory || descriptor !== 0) return call(descriptor, vectors, count, read)
      let length = 0
      for (const piece of pieces(vectors, count)) {
        const part = streams.input.subarray(0, piece.length)
        piece.set(part)
        streams.input = streams.input.subarray(part.length)
        length += part.length
      }
      new DataView(memory.buffer).setUint32(read, length, true)
      return 0
    }
  }

  function noted<T>(instance: T): T {
    const own = (instance as { exports?: { memory?: { buffer: ArrayBuffer } } }).exports?.memory
    if (own) memory = own
    return instance
  }

  // Runtimes that make an instance for each program bring the same bytes each time.
  let compiled: { bytes: Buffer; module: object } | undefined
  async function compileOnce(source: Uint8Array): Promise<object> {
    const bytes = Buffer.from(source.buffer ?? source, source.byteOffset ?? 0, source.byteLength)
    if (!compiled?.bytes.equals(bytes)) compiled = { bytes: Buffer.from(bytes), module: await compile(bytes) }
    return compiled.module
  }

  const { Module, Instance, Table } = WebAssembly
  const compile = WebAssembly.compile.bind(WebAssembly)
  const instantiate = WebAssembly.instantiate.bind(WebAssembly)

  // What another instance exports leads to the host only by that instance's own imports, which are on the list already.
  const exportsOnly = new Table({ element: 'anyfunc', initial: 1 })
  function isExported(value: unknown): boolean {
    try {
      exportsOnly.set(0, value)
      return true
    } catch {
      return false
    }
  }

  function guarded(module: object, imports: Imports | undefined): Imports | undefined {
    if (!imports) return imports
    const copy: Imports = {}
    for (const { module: from, name, kind } of Module.imports(module)) {
      const value = imports[from]?.[name]
      copy[from] ??= {}
      copy[from][name] =
        kind === 'function' && typeof value === 'function' && !isExported(value)
          ? guard(`${from}.${name}`, value as (...args: unknown[]) => unknown)
          : value
    }
    return copy
  }

  const replaced = {
    async instantiate(source: object, imports?: Imports) {
      if (source instanceof Module) return noted(await instantiate(source, guarded(source, imports)))
      const module = await compileOnce(source as Uint8Array)
      return { module, instance: noted(await instantiate(module, guarded(module, imports))) }
    },
    async instantiateStreaming() {
      throw new Error('streaming is not for sandboxes')
    },
    async compileStreaming(source: Promise<{ arrayBuffer(): Promise<ArrayBuffer> }>) {
      return WebAssembly.compile(new Uint8Array(await (await source).arrayBuffer()))
    },
    Instance: class extends Instance {
      static override [Symbol.hasInstance](one: unknown): boolean {
        return one instanceof Instance
      }
      constructor(module: object, imports?: Imports) {
        super(module, guarded(module, imports))
        noted(this)
      }
    },
  }
  for (const [name, value] of Object.entries(replaced))
    Object.defineProperty(WebAssembly, name, { value, writable: false, configurable: false })
  return wall
}
