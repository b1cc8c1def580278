import type { EvaluationRow, RunData, RunSummary, StepMetrics } from './report-data.js'
import { lineChart, intervalBar, smooth, type LineChart } from './report-charts.js'
import { episodeSection } from './report-episodes.js'
import { html, raw, type Html } from './report-html.js'
import {
  aggregate,
  compact,
  distinct,
  duration,
  mean,
  percent,
  points,
  type Aggregate,
  type Decoding,
} from './report-stats.js'
import { reportStyle } from './report-style.js'

/**
 * The report of a run as one self-contained page: no scripts, no outside requests (its content security policy forbids
 * both), everything a run wrote escaped.
 */
export function reportPage(run: RunData): string {
  const name = run.summary?.name ?? (typeof run.config.name === 'string' ? run.config.name : 'run')
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <title>${name}: Myriad report</title>
        <style>
          ${raw(reportStyle)}
        </style>
      </head>
      <body>
        <main>
          ${heading(name, run)} ${headline(run)} ${successTable(run.summary)} ${heatSection(run.summary)}
          ${curveSection(run.steps)} ${episodeSection(run.episodes)} ${passSection(run.summary)} ${detailSection(run)}
          <footer>
            Written by Myriad from this run's config.json, metrics.jsonl, episodes.jsonl and summary.json.
          </footer>
        </main>
      </body>
    </html> `
  return page.text
}

function rowsOf(
  summary: RunSummary | null,
  when: 'before' | 'after',
  decoding?: Decoding,
  task?: string,
): EvaluationRow[] {
  return (summary?.evaluation[when] ?? []).filter(
    (row) => (decoding === undefined || row.decoding === decoding) && (task === undefined || row.task === task),
  )
}

function tasksOf(summary: RunSummary | null): string[] {
  return distinct([...rowsOf(summary, 'before'), ...rowsOf(summary, 'after')].map((row) => row.task))
}

function heading(name: string, run: RunData): Html {
  const { summary, steps } = run
  const rows = [...rowsOf(summary, 'before'), ...rowsOf(summary, 'after')]
  const languages = distinct(rows.map((row) => row.language)).length
  const facts = [
    summary ? `seed ${summary.seed}` : null,
    `${summary?.steps ?? steps.length} steps`,
    rows.length > 0 ? `${tasksOf(summary).length} tasks in ${languages} languages` : null,
    summary ? duration(summary.wallSeconds) : 'still running, or stopped before its end',
  ].filter((fact) => fact !== null)
  return html`<header>
    <div class="kicker">Myriad</div>
    <h1>${name}</h1>
    <div class="facts">${facts.join(' · ')}</div>
  </header>`
}

function headline({ summary }: RunData): Html | null {
  if (summary === null) return null
  const pair = (label: string, decoding: Decoding): Html | null => {
    const [before, after] = [
      aggregate(rowsOf(summary, 'before', decoding)),
      aggregate(rowsOf(summary, 'after', decoding)),
    ]
    return after === undefined ? null : changeCard(label, before?.value, after.value, `95% interval ${interval(after)}`)
  }
  const before = aggregate(rowsOf(summary, 'before', 'sampled'))?.languageConsistency
  const after = aggregate(rowsOf(summary, 'after', 'sampled'))?.languageConsistency
  const { sampledTokensPerSecond: sampled, trainedTokensPerSecond: trained } = summary.throughput
  return html`<section class="cards" aria-label="Results at a glance">
    ${pair('Success, temp. 1', 'sampled')}${pair('Success, greedy', 'greedy')}
    ${typeof after === 'number' && changeCard('Replies in the right language', before ?? undefined, after, 'temperature 1')}
    ${card('Wall time', duration(summary.wallSeconds), `${summary.steps} steps`)}
    ${sampled !== null && card('Sampling', html`${compact(sampled)} <small>tokens/s</small>`, 'while playing episodes')}
    ${trained !== null && card('Training', html`${compact(trained)} <small>tokens/s</small>`, 'while updating')}
  </section>`
}

function changeCard(label: string, before: number | undefined, after: number, note: string): Html {
  if (before === undefined) return card(label, percent(after), note)
  const value = html`<span class="was">${percent(before)}</span><span class="arrow">→</span>${percent(after)}`
  const tone = after > before ? 'up' : after < before ? 'down' : ''
  return html`<div class="card">
    <div class="name">${label}</div>
    <div class="value">${value}</div>
    <div class="delta ${tone}">${points(before, after)}</div>
    <small>${note}</small>
  </div>`
}

function card(label: string, value: Html | string, note: string): Html {
  return html`<div class="card">
    <div class="name">${label}</div>
    <div class="value">${value}</div>
    <small>${note}</small>
  </div>`
}

function interval(aggregate: Aggregate): string {
  return `${Math.round(aggregate.low * 100)} to ${percent(aggregate.high)}`
}

function successTable(summary: RunSummary | null): Html | null {
  const tasks = tasksOf(summary)
  if (tasks.length === 0) return null
  return html`<section>
    <h2>Success on withheld problems</h2>
    <p class="soft">
      Every problem below was kept out of training. Ranges are 95% intervals; bars show before (grey) and after (blue),
      the dashed mark a player who knows the rules and moves at random. The last line averages over tasks and languages.
    </p>
    <div class="panel">
      <table>
        <thead>
          <tr>
            <th>task</th>
            <th>random<br />player</th>
            <th>before<br />temp. 1</th>
            <th>after<br />temp. 1</th>
            <th></th>
            <th>before<br />greedy</th>
            <th>after<br />greedy</th>
            <th></th>
            <th>${passName(summary)}<br />before → after</th>
            <th>right<br />language</th>
          </tr>
        </thead>
        <tbody>
          ${tasks.map((task) => successRow(summary, task))}${successRow(summary, undefined)}
        </tbody>
      </table>
    </div>
  </section>`
}

function passName(summary: RunSummary | null): string {
  const k = aggregate(rowsOf(summary, 'after', 'sampled'))?.pass?.k
  return k === undefined ? 'pass@k' : `pass@${k}`
}

function successRow(summary: RunSummary | null, task: string | undefined): Html {
  const of = (when: 'before' | 'after', decoding: Decoding): Aggregate | undefined =>
    aggregate(rowsOf(summary, when, decoding, task))
  const players = (summary?.evaluation.random ?? []).filter((row) => task === undefined || row.task === task)
  const random = players.length === 0 ? undefined : mean(players.map((row) => row.success))
  const cell = (value: Aggregate | undefined): Html =>
    value === undefined ? html`<td>–</td>` : html`<td>${percent(value.value)}<small>${interval(value)}</small></td>`
  const group = (decoding: Decoding): Html => {
    const [before, after] = [of('before', decoding), of('after', decoding)]
    const label = `${task ?? 'all tasks'}, ${decoding}: before ${before ? percent(before.value) : 'unknown'}, after ${after ? percent(after.value) : 'unknown'}`
    return html`${cell(before)}${cell(after)}
      <td>${intervalBar(before, after, random, label)}</td>`
  }
  const [before, after] = [of('before', 'sampled'), of('after', 'sampled')]
  const pass = (value: Aggregate | undefined): string => (value?.pass ? percent(value.pass.value) : '–')
  const spoken = after?.languageConsistency
  return html`<tr class="${task === undefined ? 'all' : ''}">
    <th scope="row">${task ?? 'all'}</th>
    <td>${random === undefined ? '–' : percent(random)}</td>
    ${group('sampled')}${group('greedy')}
    <td>${pass(before)} → ${pass(after)}</td>
    <td>${typeof spoken === 'number' ? percent(spoken) : '–'}</td>
  </tr>`
}

function heatSection(summary: RunSummary | null): Html | null {
  const tasks = tasksOf(summary)
  if (tasks.length === 0) return null
  const languages = distinct(
    (['before', 'after'] as const).flatMap((when) => rowsOf(summary, when)).map((row) => row.language),
  )
  const map = (when: 'before' | 'after', decoding: Decoding): Html | null => {
    const rows = rowsOf(summary, when, decoding)
    if (rows.length === 0) return null
    return html`<div class="panel">
      <h3>${when === 'before' ? 'Before' : 'After'}, ${decoding === 'greedy' ? 'greedy' : 'temperature 1'}</h3>
      <table class="heat">
        <thead>
          <tr>
            <th></th>
            ${languages.map((l) => html`<th scope="col" title="${languageName(l)}">${l}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${tasks.map(
            (task) =>
              html`<tr>
                <th scope="row" title="${task}">${task}</th>
                ${languages.map((l) => heatCell(rows.find((r) => r.task === task && r.language === l)))}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`
  }
  return html`<section>
    <h2>Task by language</h2>
    <p class="soft">
      Share of withheld problems solved. <span aria-hidden="true">0<span class="scale"></span>100%</span>
    </p>
    <div class="heats">
      ${map('before', 'sampled')}${map('after', 'sampled')}${map('before', 'greedy')}${map('after', 'greedy')}
    </div>
  </section>`
}

function heatCell(row: EvaluationRow | undefined): Html {
  if (row === undefined) return html`<td class="empty">·</td>`
  const value = Math.round(row.success * 100)
  const title = `${row.task}, ${languageName(row.language)}: ${value}% of ${row.n}, 95% interval ${percent(row.ciLow)} to ${percent(row.ciHigh)}`
  return html`<td class="${value > 55 ? 'hi' : ''}" style="--v:${value}" title="${title}">${value}</td>`
}

/** English name of a language tag; the tag itself when it is unknown. */
function languageName(tag: string): string {
  try {
    return new Intl.DisplayNames(['en'], { type: 'language' }).of(tag) ?? tag
  } catch {
    return tag // not a BCP 47 tag: a task of one's own may say what it likes
  }
}

function curveSection(steps: readonly StepMetrics[]): Html | null {
  if (steps.length === 0) return null
  const tasks = distinct(steps.flatMap((step) => Object.keys(step.tasks)))
  const window = Math.max(1, Math.round(steps.length / 12))
  const curve = (
    title: string,
    note: string | undefined,
    of: (s: StepMetrics) => unknown,
    rest?: Partial<LineChart>,
  ): Html | null => {
    const values = steps.map((step) => finite(of(step)))
    if (values.every((value) => value === null)) return null
    const line = (ys: readonly (number | null)[]) => steps.map((step, i) => ({ x: step.step, y: ys[i] }))
    return lineChart({
      title,
      note,
      format: compact,
      series: [
        { label: 'each step', weight: 'faint', points: line(values) },
        { label: `mean of ${window} steps`, weight: 'strong', points: line(smooth(values, window)) },
      ],
      ...rest,
    })
  }
  const share: Partial<LineChart> = { range: [0, 1], format: percent }
  return html`<section>
    <h2>Learning curves</h2>
    <p class="soft">
      Success on training problems at temperature 1, by optimizer step: each step (faint) and a moving mean of ${window}
      (bold).
    </p>
    <div class="multiples">
      ${tasks.map((task) => curve(task, undefined, (step) => step.tasks[task]?.success, share))}
    </div>
    <h3>The run as a whole</h3>
    <div class="multiples">
      ${curve('Reward', 'mean of all episodes', (s) => s.reward)}
      ${curve('Surprise', 'mean −log p of sampled tokens, nats', (s) => s.entropy)}
      ${curve('Loss', undefined, (s) => s.loss)} ${curve('Gradient norm', 'before clipping', (s) => s.gradientNorm)}
      ${curve('Clipped tokens', 'share', (s) => s.clipFraction, { format: percent })}
      ${curve('KL', 'nats a token', (s) => s.kl)} ${curve('Learning rate', undefined, (s) => s.learningRate)}
      ${curve('Sampled tokens', 'a step', (s) => s.sampledTokens)}
    </div>
  </section>`
}

function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

function passSection(summary: RunSummary | null): Html | null {
  const curve = (when: 'before' | 'after'): number[] => {
    const rows = rowsOf(summary, when, 'sampled').flatMap((row) => (row.passAt ? [row.passAt] : []))
    const k = rows.length === 0 ? 0 : Math.min(...rows.map((row) => row.length))
    return Array.from({ length: k }, (_, i) => mean(rows.map((row) => row[i])))
  }
  const [before, after] = [curve('before'), curve('after')]
  const count = Math.max(before.length, after.length)
  if (count === 0) return null
  const line = (name: string, values: readonly number[]): Html =>
    html`<tr>
      <th scope="row">${name}</th>
      ${Array.from({ length: count }, (_, i) => html`<td>${i < values.length ? percent(values[i]) : '–'}</td>`)}
    </tr>`
  return html`<section>
    <h2>pass@k</h2>
    <p class="soft">
      The chance that at least one of k samples succeeds (unbiased estimate, mean over tasks and languages). If only the
      first columns rise, training sharpened what the model could already do; if the last rise too, it learned something
      new.
    </p>
    <div class="panel">
      <table>
        <thead>
          <tr>
            <th>k</th>
            ${Array.from({ length: count }, (_, i) => html`<th>${i + 1}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${line('before', before)}${line('after', after)}
        </tbody>
      </table>
    </div>
  </section>`
}

function detailSection({ config, summary }: RunData): Html {
  const table = (title: string, entries: readonly (readonly [string, unknown])[], none: string): Html =>
    html`<div class="panel">
      <h3>${title}</h3>
      ${
        entries.length === 0
          ? html`<p class="soft">${none}</p>`
          : html`<table>
              <tbody>
                ${entries.map(
                  ([key, value]) =>
                    html`<tr>
                      <td>${key}</td>
                      <td>${typeof value === 'string' ? value : JSON.stringify(value)}</td>
                    </tr>`,
                )}
              </tbody>
            </table>`
      }
    </div>`
  return html`<section>
    <h2>How it was made</h2>
    ${
      summary !== null &&
      html`<div class="pair">
        ${table('Dropped', Object.entries(summary.dropped), 'Nothing was dropped: every episode and every group counted.')}
        ${table('Versions', Object.entries(summary.versions), 'not recorded')}
      </div>`
    }
    <details>
      <summary>Configuration</summary>
      <pre>${JSON.stringify(config, null, 2)}</pre>
    </details>
  </section>`
}
