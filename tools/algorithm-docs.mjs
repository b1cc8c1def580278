// Writes docs/algorithms.md from what the objectives say of themselves. A test holds the page to what is printed here.
// Usage: node tools/algorithm-docs.mjs [--print]     (after `npm run build`)
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { format, resolveConfig } from 'prettier'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const page = join(root, 'docs', 'algorithms.md')

const FAMILIES = {
  'policy-gradient': 'Policy gradients: advantages from rewards, and losses on the ratio of new to old probability.',
  'multi-reward': 'Several rewards, tasks, languages or constraints in one objective.',
  credit: 'Credit for tokens, steps, turns and attempts within an episode.',
  exploration: 'Keeping a policy trying.',
  'label-free': 'Rewards without labels: what samples agree on, how sure the policy is.',
  preference: 'Comparisons of replies. Each group is compared by its rewards as it is sampled, so all run on-line.',
  'reward-model': 'Models of what is preferred, as functions on scores.',
  supervised: 'Learning from what is shown or chosen.',
  distillation: 'Learning from a teacher: another model, or the model itself told more.',
  'after-training': 'What is done with policies after or between runs.',
  'value-based': 'Values of actions instead of policies.',
}

const SYMBOLS = [
  [
    '`lp`, `olp`, `rlp`, `tlp`',
    'log-probability of a token under the policy as it is, before the update, under the reference, under the teacher',
  ],
  ['`blp`', 'what the sampler reported'],
  ['`r`', '`exp(lp - olp)`, with the difference held to [-20, 20]'],
  ['`d`', '`lp - rlp`'],
  ['`R_i`, `A_i`', 'reward and advantage of trajectory i; `A_t` of a token'],
  ['`G`, `n`', 'the group of a problem, and how many trajectories it has; `mean_G`, `std_G` over it (n - 1)'],
  ['`c_t`', 'weight of a token, which holds the averaging: the loss is the sum of `c_t l_t`'],
  ['`N`, `T_i`, `Ntok`', 'sequences, trainable tokens of sequence i, trainable tokens in all'],
  ['`H`', 'entropy in nats'],
  ['`V`', 'what the value head says'],
  ['`w`, `l`', 'the preferred and the other reply of a pair; `g` a log-ratio summed over a reply'],
  ['`k1`, `k2`, `k3`', '`d`, `d^2 / 2`, `exp(-d) + d - 1`: estimators of the divergence from the reference'],
]

const STANDINGS = { source: '', 'second-hand': ' (second-hand)', ours: ' (in parts ours)' }

/** The page, formatted. */
export async function algorithmsPage(objectives) {
  const sections = Object.entries(FAMILIES).flatMap(([family, about]) => {
    const own = objectives.filter((declared) => declared.family === family)
    return own.length === 0 ? [] : [`## ${titleOf(family)}\n\n${about}\n\n${tableOf(own)}\n`]
  })
  const methods = objectives.filter(({ kind }) => kind === 'method').length
  const text = `# Algorithms

What a policy can be trained by: ${objectives.length} objectives, ${methods} of them whole methods. The page is made of what they say of
themselves (\`node tools/algorithm-docs.mjs\`); \`myriad algorithms show NAME\` tells the options of one.

A **method** is named by \`algorithm.name\` in a configuration. Losses, advantages, shapings (of rewards), adjustments (of
advantages) and selections (of tokens) are **parts** of the method \`composed\`; see [The loop](loop.md#algorithms). **Functions** are
for use from code. _In parts ours_: the reference says what was decided here; _second-hand_: not read in the source itself.

Rows are ids of published systems that the objective serves.

Symbols of the formulas:

${table(['symbol', 'is'], SYMBOLS)}

${sections.join('\n')}`
  return format(text, { ...(await resolveConfig(page)), parser: 'markdown' })
}

function tableOf(objectives) {
  return table(
    ['name', 'kind', 'what it does', 'formula', 'from', 'when to use it', 'rows'],
    objectives.map(({ name, kind, summary, formula, reference, standing, use, rows }) => [
      `\`${name}\``,
      kind,
      cell(summary),
      code(formula),
      cell(reference) + STANDINGS[standing],
      cell(use),
      rows.join(' '),
    ]),
  )
}

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Text that markdown takes as text. */
function cell(text) {
  return text
    .replace(/\s+/g, ' ')
    .replace(/`[^`]*`|[|*_<>[\]\\]/g, (part) => (part.startsWith('`') ? part.replaceAll('|', '\\|') : `\\${part}`))
}

function code(text) {
  const line = text.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|')
  return line.includes('`') ? `\`\` ${line} \`\`` : `\`${line}\``
}

function titleOf(family) {
  return family[0].toUpperCase() + family.slice(1).replaceAll('-', ' ')
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { listObjectives } = await import('../dist/algorithms/registry.js')
  const text = await algorithmsPage(listObjectives())
  if (process.argv.includes('--print')) process.stdout.write(text)
  else writeFileSync(page, text)
}
