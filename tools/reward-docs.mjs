// Writes docs/rewards.md from what the rewards say of themselves. A test holds the page to what is printed here.
// Usage: node tools/reward-docs.mjs [--print]     (after `npm run build`)
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { format, resolveConfig } from 'prettier'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const page = join(root, 'docs', 'rewards.md')

const GROUPS = {
  task: 'What the task itself says.',
  strings: 'Comparisons with reference texts, equal to their reference implementations.',
  answers: 'Answers that can be verified: numbers, mathematics, sets, choices, dates, units, JSON.',
  language: 'Is it in the right language, and of the right length for it?',
  semantic: 'Likeness of meaning, by embeddings of an encoder.',
  learned: 'Models of what is preferred.',
  judge: 'Verdicts of language models: the local policy, or any OpenAI-compatible endpoint.',
  behaviour: 'Form, length, repetition, calls of tools.',
  code: 'Programs, run in WebAssembly behind two walls; see [The sandbox](sandbox.md).',
  retrieval: 'What was found, and whether the answer rests on it.',
}

/** The page, formatted. */
export async function rewardsPage(rewards) {
  const sections = Object.entries(GROUPS).flatMap(([group, about]) => {
    const own = rewards.filter((declared) => declared.group === group)
    return own.length === 0 ? [] : [`## ${group[0].toUpperCase()}${group.slice(1)}\n\n${about}\n\n${tableOf(own)}\n`]
  })
  const text = `# Rewards

What a reply can be judged by: ${rewards.length} rewards. The page is made of what they say of themselves (\`node tools/reward-docs.mjs\`);
\`myriad rewards show NAME\` tells the options of one. A configuration weighs them by name:

\`\`\`json file=rewards.json
{ "task": 1, "language": 0.2, "length": { "weight": 0.1, "free": 80, "limit": 200 } }
\`\`\`

\`myriad score\` applies one to lines of JSON, from a file or a pipe. \`reply\` is what is judged; \`prompt\`, \`answer\`, \`answers\` or
\`references\`, \`source\`, \`language\` and whatever else a reward reads stand beside it:

\`\`\`sh run
printf '%s\\n' '{"reply":"habari ya dunia","references":["habari za dunia"],"language":"sw"}' | myriad score --reward chrf
\`\`\`

A reward answers null where it does not apply, and is then left out of the sum. One that fails (a judge that is down, a sandbox
that breaks) drops the episode from its group and is counted: it never answers 0. The codes are those of the table of systems:
R1 verifiable answers, R2 metrics of strings, R3 meaning, R4 language, R5 judges, R6 code, R7 retrieval and tools, R8 learned
models, R9 form and length.

${sections.join('\n')}`
  return format(text, { ...(await resolveConfig(page)), parser: 'markdown' })
}

function tableOf(rewards) {
  return table(
    ['name', 'codes', 'what it measures', 'range', 'applies to', 'from'],
    rewards.map(({ name, codes, summary, range, applies, reference, packages = [] }) => [
      `\`${name}\``,
      codes.join(' '),
      cell(summary) +
        (packages.length > 0
          ? `; needs \`npm install ${packages.map((p) => `${p.name}@${p.version}`).join(' ')}\``
          : ''),
      cell(range),
      cell(applies),
      cell(reference),
    ]),
  )
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*').replaceAll('_', '\\_').replaceAll('<', '\\<')
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { rewardDeclarations } = await import('../dist/rewards/index.js')
  const text = await rewardsPage(rewardDeclarations)
  if (process.argv.includes('--print')) process.stdout.write(text)
  else writeFileSync(page, text)
}
