/** The part of emscripten's files in memory that is used here. */
export interface SnapshotFs {
  root: FileNode
  streams: (FileStream | null | undefined)[]
  nameTable: (FileNode | undefined)[]
  currentPath: string
  hashAddNode(node: FileNode): void
  ErrnoError: new (code: number) => Error
}

interface FileNode {
  name: string
  parent: FileNode
  mode: number
  contents: unknown
  usedBytes?: number
  name_next?: FileNode
  mounted?: { root: FileNode } | null
}

interface FileStream {
  fd: number | null
  node: FileNode
  position: number
  flags: number
}

type Operation = (...args: unknown[]) => unknown

/** Of MEMFS: the tables of operations that all files share. */
export interface MemoryFiles {
  ops_table: { file: { node: Record<string, Operation>; stream: Record<string, Operation> } }
}

const NO_SPACE = 51

/**
 * Remembers all files in memory as they are now, for runtimes that write to files they had at the start (freezeFiles of
 * memory-files.ts is for those that do not). What is written to is copied at the first write.
 *
 * @param full called when files grew by more than `limit` bytes since the last `restore`; the program is told that the disk is full
 */
export function snapshotFiles(
  FS: SnapshotFs,
  MEMFS: MemoryFiles,
  full: () => void,
): { restore(): void; limit(bytes: number): void } {
  const kept = new Map<
    FileNode,
    { parent: FileNode; name: string; mode: number; contents: unknown; usedBytes?: number }
  >()
  const before = new Map<FileNode, Uint8Array>()
  let room = Infinity

  function walk(node: FileNode): void {
    if (kept.has(node)) return
    const { parent, name, mode, contents, usedBytes } = node
    const folder = isFolder(contents)
    kept.set(node, { parent, name, mode, contents: folder ? { ...contents } : contents, usedBytes })
    if (node.mounted) walk(node.mounted.root)
    if (folder) for (const child of Object.values(contents)) walk(child)
  }

  function touched(node: FileNode): void {
    if (!kept.has(node) || before.has(node) || !(node.contents instanceof Uint8Array)) return
    before.set(node, node.contents.slice(0, node.usedBytes))
  }

  const { stream, node: nodeOps } = MEMFS.ops_table.file
  const { write } = stream
  const { setattr } = nodeOps
  const grow = (node: FileNode, end: number): void => {
    const more = end - (node.usedBytes ?? 0)
    if (more > 0) room -= more
    if (room >= 0) return
    full()
    throw new FS.ErrnoError(NO_SPACE)
  }
  stream.write = (...args) => {
    const [{ node }, , , length, position] = args as [FileStream, unknown, number, number, number]
    touched(node)
    grow(node, position + length)
    return write(...args)
  }
  nodeOps.setattr = (...args) => {
    const [node, { size }] = args as [FileNode, { size?: number }]
    touched(node)
    if (size !== undefined) grow(node, size)
    return setattr(...args)
  }

  walk(FS.root)
  const cwd = FS.currentPath
  const streams = FS.streams.map(
    (one) => one && { one, fd: one.fd, position: one.position, flags: one.flags, node: one.node },
  )

  return {
    limit: (bytes) => void (room = bytes),
    restore() {
      room = Infinity
      FS.nameTable.fill(undefined)
      for (const [node, was] of kept) {
        node.parent = was.parent
        node.name = was.name
        node.mode = was.mode
        node.contents = isFolder(was.contents) ? { ...was.contents } : (before.get(node)?.slice() ?? was.contents)
        if (was.usedBytes !== undefined) node.usedBytes = was.usedBytes
        node.name_next = undefined
        FS.hashAddNode(node)
      }
      FS.currentPath = cwd
      FS.streams.length = 0
      for (const was of streams) {
        if (was) Object.assign(was.one, { fd: was.fd, position: was.position, flags: was.flags, node: was.node })
        FS.streams.push(was?.one)
      }
    },
  }
}

function isFolder(contents: unknown): contents is Record<string, FileNode> {
  return typeof contents === 'object' && contents !== null && !ArrayBuffer.isView(contents) && !Array.isArray(contents)
}
