import { Command } from 'commander'
import { languageInfo, listLanguages, type LanguageInfo } from '../text/index.js'
import type { Act } from './program.js'
import { columns, type Terminal } from './terminal.js'

/** `myriad languages` prints the registry; `myriad languages sw yo` those of it. */
export function languagesCommand(act: Act): Command {
  return new Command('languages')
    .description('list languages: script, direction, digits, family, and how well supplied with data they are')
    .argument('[tags...]', 'only these (BCP 47); any language CLDR knows')
    .option('--json', 'print the list as one JSON document')
    .action((tags: string[]) => act(async (terminal) => list(terminal, tags)))
}

function list(terminal: Terminal, tags: readonly string[]): void {
  const chosen = tags.length > 0 ? tags : listLanguages().filter((tag) => tag !== 'und')
  const infos = chosen.map((tag) => languageInfo(tag))
  const { dim } = terminal.colors
  const head = ['tag', 'English', 'own name', 'scripts', 'direction', 'digits', 'family', 'resources', 'CLDR']
  const lines = columns([head, ...infos.map(row)]).split('\n')
  terminal.print([dim(lines[0]), ...lines.slice(1)].join('\n'))
  terminal.print(
    dim(
      '\nresources: 0 (hardly any data) to 5 (most), Joshi et al. 2020; families: ISO 639-5; the rest: Unicode CLDR.',
    ),
  )
  terminal.result(infos)
}

function row(info: LanguageInfo): string[] {
  const { tag, name, nativeName, scripts, direction, digits, family, resources, coverage } = info
  return [
    tag,
    name,
    nativeName,
    scripts.join(' '),
    direction,
    `${digits[0]}-${digits[9]}`,
    family ?? '-',
    resources === null ? '-' : String(resources),
    coverage ?? '-',
  ]
}
