/** The part of emscripten's file system that is used here. */
export interface EmscriptenFs {
  streams: (MemoryStream | null | undefined)[]
  root: MemoryNode
  chdir(path: string): void
  cwd(): string
  mkdir(path: string): void
  writeFile(path: string, text: string): void
  readFile(path: string, options: { encoding: 'utf8' }): unknown
  getPath(node: MemoryNode): string
  isDir(mode: number): boolean
  isLink(mode: number): boolean
  unlink(path: string): void
  rmdir(path: string): void
  close(stream: MemoryStream): void
  ErrnoError: new (code: number) => Error
}

interface MemoryNode {
  mode: number
  contents: unknown
  node_ops: Record<string, (...args: unknown[]) => unknown>
  stream_ops: Record<string, (...args: unknown[]) => unknown>
  mounted?: { root: MemoryNode } | null
}

interface MemoryStream {
  fd: number
  node: MemoryNode
  position: number
  flags: number
}

const READ_ONLY = 69

/**
 * Makes what is in an emscripten file system now read-only for good, and remembers it: `restore` removes everything added
 * since, closes what was opened, and goes back to the working directory.
 */
export function freezeFiles(FS: EmscriptenFs): { restore(): void } {
  const frozen = new Set<MemoryNode>()
  const folders: { path: string; node: MemoryNode; names: Set<string> }[] = []

  function walk(node: MemoryNode, path: string): void {
    const here = node.mounted?.root ?? node
    if (frozen.has(here)) return
    frozen.add(here)
    guard(here)
    if (!FS.isDir(here.mode) || typeof here.contents !== 'object' || here.contents === null) return
    const entries = Object.entries(here.contents as Record<string, MemoryNode>)
    folders.push({ path, node: here, names: new Set(entries.map(([name]) => name)) })
    for (const [name, child] of entries) walk(child, `${path === '/' ? '' : path}/${name}`)
  }

  // Operations are tables that all nodes of a kind share, so each is wrapped once.
  const wrapped = new WeakSet<object>()
  function guard(node: MemoryNode): void {
    const refuse = (): never => {
      throw new FS.ErrnoError(READ_ONLY)
    }
    const wrap = (
      table: Record<string, (...args: unknown[]) => unknown> | undefined,
      name: string,
      touches: (args: unknown[]) => boolean,
    ): void => {
      const call = table?.[name]
      if (!call) return
      table[name] = (...args) => (touches(args) ? refuse() : call(...args))
    }
    const of = (args: unknown[]): MemoryNode => args[0] as MemoryNode
    const child = (parent: unknown, name: unknown): MemoryNode | undefined =>
      ((parent as MemoryNode).contents as Record<string, MemoryNode> | undefined)?.[String(name)]
    if (node.node_ops && !wrapped.has(node.node_ops)) {
      wrapped.add(node.node_ops)
      const setattr = node.node_ops.setattr
      if (setattr)
        node.node_ops.setattr = (...args) => {
          const attributes = args[1] as { size?: number; mode?: number }
          const touched = frozen.has(of(args)) && (attributes.size !== undefined || attributes.mode !== undefined)
          return touched ? refuse() : setattr(...args)
        }
      wrap(node.node_ops, 'rename', ([from, parent, name]) => {
        const over = child(parent, name)
        return frozen.has(from as MemoryNode) || (over !== undefined && frozen.has(over))
      })
      for (const name of ['unlink', 'rmdir'])
        wrap(node.node_ops, name, ([parent, name]) => {
          const gone = child(parent, name)
          return gone !== undefined && frozen.has(gone)
        })
    }
    const isFile = !FS.isDir(node.mode) && (node.mode & 61440) === 32768
    if (isFile && node.stream_ops && !wrapped.has(node.stream_ops)) {
      wrapped.add(node.stream_ops)
      const touches = ([stream]: unknown[]): boolean => frozen.has((stream as MemoryStream).node)
      for (const name of ['write', 'allocate', 'msync']) wrap(node.stream_ops, name, touches)
    }
  }

  // A file made for the purpose shows the tables of files, should there be no other.
  walk(FS.root, '/')
  const cwd = FS.cwd()
  const streams = FS.streams.map((stream) =>
    stream ? { stream, position: stream.position, flags: stream.flags } : null,
  )

  function remove(path: string, node: MemoryNode): void {
    if (FS.isDir(node.mode)) {
      for (const [name, inner] of Object.entries((node.contents ?? {}) as Record<string, MemoryNode>))
        remove(`${path}/${name}`, inner)
      FS.rmdir(path)
    } else FS.unlink(path)
  }

  return {
    restore() {
      for (const stream of FS.streams) {
        const kept = stream && streams[stream.fd]?.stream === stream
        if (stream && !kept) FS.close(stream)
      }
      streams.forEach((was, fd) => {
        if (!was) return
        FS.streams[fd] = was.stream
        was.stream.position = was.position
        was.stream.flags = was.flags
      })
      FS.chdir(cwd)
      for (const { path, node, names } of folders)
        for (const [name, inner] of Object.entries(node.contents as Record<string, MemoryNode>))
          if (!names.has(name)) remove(`${path === '/' ? '' : path}/${name}`, inner)
    },
  }
}
