import { Command } from 'commander'
import { writeReport } from '../evaluation/report.js'
import type { Act } from './program.js'
import { requireFolder } from './paths.js'

/** `myriad report RUN`: writes the report of a run folder anew. */
export function reportCommand(act: Act): Command {
  return new Command('report')
    .description('write the report of a run anew (also of a run that is still going)')
    .argument('<run>', 'run folder')
    .option('--json', 'print the result as one JSON document')
    .action((run: string) =>
      act(async (terminal) => {
        requireFolder(run)
        const report = await writeReport(run)
        if (!terminal.json) terminal.print(report)
        terminal.result({ report })
      }),
    )
}
