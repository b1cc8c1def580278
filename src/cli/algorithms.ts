import { Command, Option } from 'commander'
import { z } from 'zod'
import { listObjectives, objectiveByName } from '../algorithms/registry.js'
import { FAMILIES, type Objective } from '../algorithms/objective.js'
import { commandName } from './package.js'
import type { Act } from './program.js'
import { columns, type Terminal } from './terminal.js'

/** `myriad algorithms` lists what a policy can be trained by; `myriad algorithms show NAME` tells all about one. */
export function algorithmsCommand(act: Act): Command {
  const command = new Command('algorithms')
    .description('list the objectives; "algorithms show NAME" prints the formula, options and use of one')
    .argument('[name]', 'show this objective, as "algorithms show NAME" does')
    .addOption(new Option('--family <name>', 'only objectives of this family').choices([...FAMILIES]))
    .option('--json', 'print the list as one JSON document')
    .action((name: string | undefined, options: { family?: string }) =>
      act(async (terminal) => (name === undefined ? list(terminal, options.family) : show(terminal, name))),
    )
  command
    .command('show')
    .description('print all there is to know of an objective')
    .argument('<name>', 'objective, as "myriad algorithms" lists it')
    .option('--json', 'print it as one JSON document')
    .action((name: string) => act(async (terminal) => show(terminal, name)))
  return command
}

function list(terminal: Terminal, family?: string): void {
  const { bold, dim } = terminal.colors
  const chosen = listObjectives().filter((declared) => family === undefined || declared.family === family)
  const rows = chosen.map(({ name, family: of, kind, rows: served, reference }) => [
    name,
    of,
    kind,
    served.join(' '),
    reference,
  ])
  const lines = columns([['objective', 'family', 'kind', 'rows', 'reference'], ...rows]).split('\n')
  terminal.print(
    [dim(lines[0]), ...lines.slice(1).map((line) => line.replace(/^\S+/, (name) => bold(name)))].join('\n'),
  )
  terminal.print(
    dim(
      `\n"${commandName()} algorithms show NAME" prints formula and options. A method is trained with by ` +
        '--set algorithm.name=NAME; losses, advantages and other parts go into the method "composed".',
    ),
  )
  terminal.result(chosen.map(plain))
}

const STANDINGS = {
  source: 'as in the source',
  'second-hand': 'as told elsewhere, not in the source itself',
  ours: 'in parts decided here; the reference says which',
} as const

function show(terminal: Terminal, name: string): void {
  const declared = objectiveByName(name)
  const { bold, dim } = terminal.colors
  terminal.print(
    columns(
      [
        [bold(declared.name), declared.summary],
        ['kind', `${declared.kind} (${declared.family})`],
        ['formula', declared.formula],
        ['reference', declared.reference],
        ['standing', STANDINGS[declared.standing]],
        ['use', declared.use],
        ...(declared.rows.length > 0 ? [['rows', declared.rows.join(' ')]] : []),
      ].map(([label, value], i) => [i === 0 ? label : dim(label), value]),
    ),
  )
  const lines = Object.entries(optionsOf(declared)).map(([option, { text, standard }]) => [option, standard, text])
  terminal.print(
    lines.length === 0
      ? dim('no options')
      : `${dim('options')}\n${columns(lines.map(([option, ...rest]) => [`  ${option}`, ...rest]))}`,
  )
  terminal.result(plain(declared))
}

interface OptionText {
  /** What it may be. */
  text: string
  /** What it is unless given. */
  standard: string
}

interface Schema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  items?: Schema
  default?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  exclusiveMaximum?: number
}

/** Options by name, in words. */
export function optionsOf(declared: Objective): Record<string, OptionText> {
  const { properties = {}, required = [] } = schemaOf(declared)
  return Object.fromEntries(
    Object.entries(properties).map(([option, schema]) => {
      const standard =
        'default' in schema ? JSON.stringify(schema.default) : required.includes(option) ? 'required' : 'none'
      return [option, { standard, text: typeText(schema) }]
    }),
  )
}

function typeText(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' or ')
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.type === 'array') return `list of ${schema.items ? typeText(schema.items) : 'anything'}`
  if (schema.type === 'object' && schema.properties) return `{ ${Object.keys(schema.properties).join(', ')} }`
  const bounds = [
    ...bound('at least', schema.minimum),
    ...bound('above', schema.exclusiveMinimum),
    ...bound('at most', schema.maximum),
    ...bound('below', schema.exclusiveMaximum),
  ]
  return [[schema.type ?? 'anything'].flat().join(' or '), ...bounds].join(', ')
}

/** A bound, unless it is only that of safe integers. */
function bound(word: string, value: number | undefined): string[] {
  return value === undefined || Math.abs(value) === Number.MAX_SAFE_INTEGER ? [] : [`${word} ${value}`]
}

function plain(declared: Objective): Record<string, unknown> {
  const { name, family, kind, summary, formula, reference, standing, use, rows } = declared
  const { properties = {}, required = [] } = schemaOf(declared)
  return { name, family, kind, summary, formula, reference, standing, use, rows, options: properties, required }
}

function schemaOf({ options }: Objective): Schema {
  return z.toJSONSchema(options, { io: 'input', unrepresentable: 'any' }) as Schema
}
