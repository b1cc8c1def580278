// llama.cpp's side of bench.mjs, through node-llama-cpp, which is found in a folder of its own and is no dependency.
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { peakMemory } from './memory.mjs'
import { serve, timed } from './side.mjs'

let context, sequences, shape, vocabularySize
let seed = 1

async function open({ llama, file, sampling, threads, vocabulary }) {
  const home = join(resolve(llama), 'node_modules', 'node-llama-cpp')
  if (!existsSync(home)) throw new Error(`node-llama-cpp is not installed in ${llama.split(sep).at(-1)}`)
  const { getLlama } = await import(pathToFileURL(join(home, 'dist', 'index.js')).href)
  const engine = await getLlama({
    build: 'never',
    gpu: false,
    progressLogs: false,
    logLevel: 'error',
    maxThreads: threads,
  })
  const model = await engine.loadModel({ modelPath: file })
  shape = sampling
  vocabularySize = vocabulary
  context = await model.createContext({
    sequences: sampling.sequences,
    contextSize: 128,
    batchSize: sampling.sequences * sampling.prompt,
    threads,
  })
  sequences = Array.from({ length: sampling.sequences }, () => context.getSequence())
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  return {
    versions: { 'node-llama-cpp': version, 'llama.cpp': engine.llamaCppRelease?.release },
    contextSize: context.contextSize,
    batchSize: context.batchSize,
    threads: context.currentThreads || context.idealThreads,
  }
}

async function sample() {
  await Promise.all(sequences.map((sequence) => sequence.clearHistory()))
  let counts
  const time = await timed(async () => (counts = await Promise.all(sequences.map(reply))))
  if (counts.some((count) => count !== shape.reply)) throw new Error(`sampled ${counts.join()} tokens`)
  return time
}

async function reply(sequence, index) {
  const first = seed++
  const tokens = Array.from(
    { length: shape.prompt },
    (_, t) => 2 + ((first * 7919 + index * 104729 + t * 31) % (vocabularySize - 2)),
  )
  // Without a filter (topK 0) the library sorts the whole vocabulary for every token: its own default of 40 favours it.
  const options = { temperature: 1, topK: 40, topP: 1, minP: 0, seed: first, yieldEogToken: true }
  let count = 0
  for await (const _token of sequence.evaluate(tokens, options)) if (++count === shape.reply) break
  return count
}

await serve({ open, sample, memory: () => ({ bytes: peakMemory() }) })
