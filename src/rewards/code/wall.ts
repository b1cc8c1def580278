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
}

type Imports = Record<string, Record<string, unknown>>

// The part of the interface used here; TypeScript has it only in the types of browsers.
declare const WebAssembly: {
  Module: { new (bytes: Uint8Array): object; imports(module: object): { module: string; name: string; kind: string }[] }
  Instance: new (module: object, imports?: Imports) => { exports: Record<string, unknown> }
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
    if (allow.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) return call
    return (...args: unknown[]) => {
      if (!sealed) return call(...args)
      violation ??= name
      throw new ForbiddenImport(name)
    }
  }

  const { Module, Instance } = WebAssembly
  const compile = WebAssembly.compile.bind(WebAssembly)
  const instantiate = WebAssembly.instantiate.bind(WebAssembly)

  function guarded(module: object, imports: Imports | undefined): Imports | undefined {
    if (!imports) return imports
    const copy: Imports = {}
    for (const { module: from, name, kind } of Module.imports(module)) {
      const value = imports[from]?.[name]
      copy[from] ??= {}
      copy[from][name] =
        kind === 'function' && typeof value === 'function'
          ? guard(`${from}.${name}`, value as (...args: unknown[]) => unknown)
          : value
    }
    return copy
  }

  const replaced = {
    async instantiate(source: object, imports?: Imports) {
      if (source instanceof Module) return instantiate(source, guarded(source, imports))
      const module = await compile(source as Uint8Array)
      return { module, instance: await instantiate(module, guarded(module, imports)) }
    },
    async instantiateStreaming() {
      throw new Error('streaming is not for sandboxes')
    },
    async compileStreaming() {
      throw new Error('streaming is not for sandboxes')
    },
    Instance: class extends Instance {
      constructor(module: object, imports?: Imports) {
        super(module, guarded(module, imports))
      }
    },
  }
  for (const [name, value] of Object.entries(replaced))
    Object.defineProperty(WebAssembly, name, { value, writable: false, configurable: false })
  return wall
}
