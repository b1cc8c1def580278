/** What the command line's tests share: a model small enough to train in a blink, and the built command. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import pc from 'picocolors'
import { initializeWeights, parseDecoderConfig, writeCheckpoint } from '../models/index.js'
import { demonstration } from '../tasks/index.js'
import { defaultSpecialTokens, saveTokenizer, trainBpe } from '../text/index.js'
import { packageFolder } from './package.js'
import type { Terminal } from './terminal.js'

const COMMAND = join(packageFolder(), 'dist', 'cli', 'main.js')

/** Writes a model folder with random weights and a tokenizer that has seen a few letters. */
export async function writeTinyModel(folder: string): Promise<void> {
  const texts = Array.from({ length: 50 }, (_, seed) => {
    const { messages } = demonstration(seed, { language: 'en', task: 'repeat' })
    return { text: messages.map(({ content }) => content).join(' ') }
  })
  const tokenizer = trainBpe(texts, { vocabularySize: 300, specialTokens: defaultSpecialTokens })
  const config = parseDecoderConfig({
    model_type: 'llama',
    vocab_size: 320,
    hidden_size: 8,
    intermediate_size: 16,
    num_hidden_layers: 1,
    num_attention_heads: 1,
    num_key_value_heads: 1,
    head_dim: 8,
    max_position_embeddings: 128,
    tie_word_embeddings: true,
  })
  writeCheckpoint(folder, config, initializeWeights(config, 1))
  await saveTokenizer(folder, tokenizer)
}

export interface CommandResult {
  status: number | null
  stdout: string
  stderr: string
}

/** Runs the built command to its end. */
export function myriad(args: readonly string[], options: { input?: string; cwd?: string } = {}): CommandResult {
  const env = { ...process.env, NO_COLOR: '1', MYRIAD_DEBUG: '' }
  const run = spawnSync(process.execPath, [COMMAND, ...args], { input: '', ...options, env, encoding: 'utf8' })
  return { status: run.status, stdout: run.stdout, stderr: run.stderr }
}

/** Starts the built command. */
export function startMyriad(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
}

/** A terminal that remembers what it was told. */
export class Screen implements Terminal {
  readonly json = false
  readonly colors = pc.createColors(false)
  readonly live = false
  readonly columns = 100
  printed = ''
  notes = ''

  print(text: string): void {
    this.printed += `${text}\n`
  }

  note(text: string): void {
    this.notes += `${text}\n`
  }

  result(): void {
    // only with --json
  }
}
