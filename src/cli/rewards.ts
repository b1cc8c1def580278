import { Command, Option } from 'commander'
import { z } from 'zod'
import { MyriadError, suggestion } from '../core/index.js'
import { REWARD_GROUPS, rewardDeclarations, type RewardDeclaration } from '../rewards/index.js'
import { commandName } from './package.js'
import type { Act } from './program.js'
import { columns, type Terminal } from './terminal.js'

/** `myriad rewards` lists what replies can be scored by; `myriad rewards show NAME` tells all about one. */
export function rewardsCommand(act: Act): Command {
  const command = new Command('rewards')
    .description('list the rewards; "rewards show NAME" tells what one reads, its range and its options')
    .argument('[name]', 'show this reward, as "rewards show NAME" does')
    .addOption(new Option('--group <name>', 'only rewards of this group').choices([...REWARD_GROUPS]))
    .option('--json', 'print the list as one JSON document')
    .action((name: string | undefined, options: { group?: string }) =>
      act(async (terminal) => (name === undefined ? list(terminal, options.group) : show(terminal, name))),
    )
  command
    .command('show')
    .description('print all there is to know of a reward')
    .argument('<name>', 'reward, as "myriad rewards" lists it')
    .option('--json', 'print it as one JSON document')
    .action((name: string) => act(async (terminal) => show(terminal, name)))
  return command
}

function list(terminal: Terminal, group?: string): void {
  const { bold, dim } = terminal.colors
  const chosen = rewardDeclarations.filter((declared) => group === undefined || declared.group === group)
  const rows = chosen.map((declared) => [
    declared.name,
    declared.group,
    declared.codes.join(' '),
    declared.range,
    declared.summary,
  ])
  const lines = columns([['reward', 'group', 'codes', 'range', 'what it measures'], ...rows]).split('\n')
  terminal.print(
    [dim(lines[0]), ...lines.slice(1).map((line) => line.replace(/^\S+/, (name) => bold(name)))].join('\n'),
  )
  terminal.print(
    dim(
      `\n"${commandName()} rewards show NAME" prints options; "${commandName()} score --reward NAME" scores lines of JSON.`,
    ),
  )
  terminal.result(chosen.map(plain))
}

function show(terminal: Terminal, name: string): void {
  const declared = rewardByName(name)
  const { bold, dim } = terminal.colors
  const packages = declared.packages?.map(({ name: id, version }) => `${id}@${version}`)
  terminal.print(
    columns(
      [
        [bold(declared.name), declared.summary],
        ['group', `${declared.group} (${declared.codes.join(', ')})`],
        ['range', declared.range],
        ['applies to', declared.applies],
        ['source', declared.reference],
        ...(packages ? [['packages', `npm install ${packages.join(' ')}`]] : []),
      ].map(([label, value], i) => [i === 0 ? label : dim(label), value]),
    ),
  )
  terminal.print(`${dim('options')}\n${JSON.stringify(schemaOf(declared), null, 2)}`)
  terminal.result(plain(declared))
}

/**
 * A reward's declaration.
 *
 * @throws MyriadError 'usage' for an unknown name
 */
export function rewardByName(name: string): RewardDeclaration {
  const declared = rewardDeclarations.find((candidate) => candidate.name === name)
  if (declared) return declared
  const known = rewardDeclarations.map((candidate) => candidate.name)
  throw new MyriadError('usage', `there is no reward "${name}".${suggestion(name, known)} "myriad rewards" lists them`)
}

function plain(declared: RewardDeclaration): Record<string, unknown> {
  const { name, group, codes, summary, range, applies, reference, packages = [] } = declared
  return { name, group, codes, summary, range, applies, reference, packages, options: schemaOf(declared) }
}

function schemaOf({ options }: RewardDeclaration): unknown {
  const { properties = {}, required = [] } = z.toJSONSchema(options, { io: 'input', unrepresentable: 'any' }) as {
    properties?: Record<string, unknown>
    required?: string[]
  }
  return required.length > 0 ? { ...properties, required } : properties
}
