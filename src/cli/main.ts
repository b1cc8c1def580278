#!/usr/bin/env node
import { runCommandLine } from './program.js'

// Reading ends early in `myriad tasks | head`: that is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
}

const exitCode = await runCommandLine(process.argv.slice(2))
// Worker threads and native sessions may outlive the work; what was printed is flushed first.
process.stderr.write('', () => process.stdout.write('', () => process.exit(exitCode)))
