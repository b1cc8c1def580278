import { Command } from 'commander'
import { onInterrupt } from './interrupt.js'
import { fetchModel, sizeOf } from './models.js'
import type { Act } from './program.js'
import type { Terminal } from './terminal.js'

const INTERRUPTED = 130

/** `myriad download ID`: fetches a model of the Hugging Face hub, to be there when there is no network. */
export function downloadCommand(act: Act): Command {
  return new Command('download')
    .description('fetch a model from the Hugging Face hub into the cache that Python’s libraries use too')
    .argument('<id>', 'OWNER/NAME, OWNER/NAME@REVISION, or OWNER/NAME:FILE.gguf for one GGUF file')
    .option('--revision <name>', 'branch, tag or commit; main unless given')
    .option('--json', 'print where it is as one JSON document')
    .addHelpText(
      'after',
      `
HF_TOKEN opens what is private or gated, HF_HOME moves the cache, HF_ENDPOINT names a mirror, HF_HUB_OFFLINE=1 forbids to
fetch. Other commands fetch a model by its id themselves.

Example:
  $ myriad download HuggingFaceTB/SmolLM2-135M-Instruct`,
    )
    .action((id: string, options: { revision?: string }) => act((terminal) => run(terminal, id, options)))
}

async function run(terminal: Terminal, id: string, options: { revision?: string }): Promise<number> {
  const interrupt = onInterrupt(() => undefined)
  try {
    const download = await fetchModel(id, terminal, { ...options, signal: interrupt.signal })
    const { path, commit, files, bytes, fetched } = download
    terminal.print(path)
    if (fetched > 0) terminal.note(`${files.length} files, ${sizeOf(bytes)}, ${sizeOf(fetched)} of them fetched now`)
    terminal.result({ model: id, path, commit, files, bytes, fetched })
    return 0
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    terminal.note('Stopped. What came is kept; the same command goes on from there.')
    return INTERRUPTED
  } finally {
    interrupt.dispose()
  }
}
