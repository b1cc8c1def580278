// Runs what the pages tell a reader to run. In README.md, CONTRIBUTING.md and docs/*.md every fenced block of shell or code
// says in its info string what is to be done with it:
//   ```sh run              run in the page's own empty folder, where `myriad` and the package `myriad-rl` are installed
//   ```sh run-here         run at the root of the repository
//   ```ts file=name.ts     write to that folder, for the blocks after it; TypeScript is type-checked too
//   ```sh not-run=why      shown only (CI does the same elsewhere, it takes minutes, it needs a terminal ...)
// Usage: node tools/check-docs.mjs [page ...]
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const checked = new Set(['sh', 'bash', 'shell', 'console', 'ts', 'typescript', 'js', 'javascript', 'json'])

/** The fenced blocks of a page: language, instruction, text and the line they begin at. */
function blocksOf(markdown) {
  const blocks = []
  let open = null
  for (const [i, line] of markdown.split('\n').entries()) {
    const fence = /^(\s*)(`{3,}|~{3,})\s*(\S*)\s*(.*)$/.exec(line)
    if (open === null && fence !== null) {
      open = {
        indent: fence[1].length,
        fence: fence[2],
        language: fence[3],
        instruction: fence[4].trim(),
        line: i + 1,
        lines: [],
      }
    } else if (open !== null && fence !== null && fence[2].startsWith(open.fence) && fence[3] === '') {
      blocks.push({
        language: open.language,
        instruction: open.instruction,
        line: open.line,
        text: `${open.lines.join('\n')}\n`,
      })
      open = null
    } else if (open !== null) open.lines.push(line.slice(Math.min(open.indent, line.length - line.trimStart().length)))
  }
  return blocks
}

/** Does one block; answers what went wrong, or null. */
function follow(block, folder, environment) {
  const [, verb, value] = /^(run-here|run|file|not-run)(?:=(.*))?$/.exec(block.instruction) ?? []
  if (verb === 'not-run') return value ? null : 'not-run needs a reason: not-run=why'
  if (verb === 'file') {
    const path = resolve(folder, value ?? '')
    if (!path.startsWith(`${folder}/`)) return `file=${value} is no place in the page's folder`
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, block.text)
    return null
  }
  if (verb === undefined)
    return `the block says "${block.instruction}"; it must say run, run-here, file=NAME or not-run=why`
  const run = spawnSync('bash', ['-euo', 'pipefail', '-c', block.text], {
    cwd: verb === 'run' ? folder : root,
    env: environment,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 180_000,
    killSignal: 'SIGKILL',
  })
  if (run.status === 0) return null
  return `exit code ${run.status ?? run.signal}\n${block.text}${run.stdout}${run.stderr}`
}

/** Type-checks the TypeScript files a page had its reader write. */
function typeErrors(folder, blocks) {
  const files = blocks.flatMap((block) => /^file=(.*\.ts)$/.exec(block.instruction)?.[1] ?? [])
  if (files.length === 0) return null
  const options = [
    '--noEmit',
    '--strict',
    '--target',
    'ES2023',
    '--module',
    'NodeNext',
    '--types',
    'node',
    '--skipLibCheck',
    '--ignoreConfig',
    '--allowImportingTsExtensions',
  ]
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const run = spawnSync(process.execPath, [tsc, ...options, ...files], { cwd: folder, encoding: 'utf8' })
  return run.status === 0 ? null : `the TypeScript of this page does not check:\n${run.stdout}${run.stderr}`
}

function checkPage(page) {
  const blocks = blocksOf(readFileSync(resolve(root, page), 'utf8')).filter((block) => checked.has(block.language))
  const folder = mkdtempSync(join(tmpdir(), 'myriad-docs-'))
  const failures = []
  try {
    mkdirSync(join(folder, 'node_modules', '@types'), { recursive: true })
    symlinkSync(root, join(folder, 'node_modules', 'myriad-rl'))
    symlinkSync(join(root, 'node_modules', '@types', 'node'), join(folder, 'node_modules', '@types', 'node'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }\n')
    mkdirSync(join(folder, 'bin'))
    writeFileSync(join(folder, 'bin', 'myriad'), `#!/bin/sh\nexec node "${root}/dist/cli/main.js" "$@"\n`, {
      mode: 0o755,
    })
    const environment = { ...process.env, PATH: `${folder}/bin:${process.env.PATH}` }
    for (const block of blocks) {
      const began = Date.now()
      const failure = follow(block, folder, environment)
      const seconds = ((Date.now() - began) / 1000).toFixed(1)
      console.log(
        `${failure === null ? 'ok  ' : 'FAIL'} ${page}:${block.line} ${block.language} ${block.instruction} (${seconds} s)`,
      )
      if (failure !== null) failures.push(`${page}:${block.line}: ${failure}`)
    }
    const types = typeErrors(folder, blocks)
    if (types !== null) failures.push(`${page}: ${types}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return failures
}

const given = process.argv.slice(2)
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
]
const failures = (given.length > 0 ? given : pages).flatMap(checkPage)
for (const failure of failures) console.error(`\n${failure}`)
process.exit(failures.length === 0 ? 0 : 1)
