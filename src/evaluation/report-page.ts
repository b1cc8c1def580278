import { alarmSection } from './report-alarms.js'
import { curveSection } from './report-curves.js'
import type { RunData } from './report-data.js'
import { episodeSection } from './report-episodes.js'
import { html, raw, type Html } from './report-html.js'
import { heatSection, passSection, successSection } from './report-results.js'
import {
  compact,
  duration,
  interval,
  languagesOf,
  meanRow,
  percent,
  points,
  tasksOf,
  type Decoding,
} from './report-stats.js'
import { reportStyle } from './report-style.js'

/**
 * The report of a run as one self-contained page: no scripts, no outside requests (its content security policy forbids
 * both), everything a run wrote escaped.
 */
export function reportPage(run: RunData): string {
  const name = run.summary?.name ?? (typeof run.config.name === 'string' ? run.config.name : 'run')
  const head = html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
    <title>${name}: Myriad report</title>
    <style>
      ${raw(reportStyle)}
    </style>`
  const sections = [
    heading(name, run),
    headline(run),
    successSection(run),
    heatSection(run),
    curveSection(run),
    alarmSection(run),
    episodeSection(run),
    passSection(run),
    detailSection(run),
  ]
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        ${head}
      </head>
      <body>
        <main>
          ${sections}
          <footer>Written by Myriad from the files of this run.</footer>
        </main>
      </body>
    </html> `
  return page.text
}

function heading(name: string, run: RunData): Html {
  const { summary, steps } = run
  const tasks = tasksOf(run).length
  const facts = [
    summary ? `seed ${summary.seed}` : null,
    `${summary?.steps ?? steps.length} steps`,
    tasks > 0 ? `${tasks} tasks in ${languagesOf(run).length} languages` : null,
    summary?.finished ? duration(summary.wallSeconds) : 'still running, or stopped before its end',
  ].filter((fact) => fact !== null)
  return html`<header>
    <div class="kicker">Myriad</div>
    <h1>${name}</h1>
    <div class="facts">${facts.join(' · ')}</div>
  </header>`
}

function headline({ summary, before, after }: RunData): Html | null {
  if (summary === null) return null
  const change = (label: string, decoding: Decoding): Html | null => {
    const row = meanRow(after, decoding)
    if (row === undefined) return null
    return changeCard(label, meanRow(before, decoding)?.success, row.success, `95% interval ${interval(row)}`)
  }
  const spoken = meanRow(before, 'sampled')?.languageConsistency ?? undefined
  const speaks = meanRow(after, 'sampled')?.languageConsistency
  const { sampledTokensPerSecond: sampled, trainedTokensPerSecond: trained } = summary.throughput
  const rate = (tokens: number): Html => html`${compact(tokens)} <small>tokens/s</small>`
  return html`<section class="cards" aria-label="Results at a glance">
    ${change('Success, temp. 1', 'sampled')} ${change('Success, greedy', 'greedy')}
    ${typeof speaks === 'number' && changeCard('Replies in the right language', spoken, speaks, 'temperature 1')}
    ${card('Wall time', duration(summary.wallSeconds), `${summary.steps} steps`)}
    ${sampled !== null && card('Sampling', rate(sampled), 'while playing episodes')}
    ${trained !== null && card('Training', rate(trained), 'while updating')}
  </section>`
}

function changeCard(label: string, before: number | undefined, after: number, note: string): Html {
  if (before === undefined) return card(label, percent(after), note)
  const value = html`<span class="was">${percent(before)}</span><span class="arrow">→</span>${percent(after)}`
  const moved = Math.round(after * 100) - Math.round(before * 100)
  const tone = moved > 0 ? 'up' : moved < 0 ? 'down' : ''
  return card(label, value, note, html`<div class="delta ${tone}">${points(before, after)}</div>`)
}

function card(label: string, value: Html | string, note: string, delta: Html | null = null): Html {
  return html`<div class="card">
    <div class="name">${label}</div>
    <div class="value">${value}</div>
    ${delta}<small>${note}</small>
  </div>`
}

function detailSection({ config, summary }: RunData): Html {
  return html`<section>
    <h2>How it was made</h2>
    ${
      summary !== null &&
      html`<div class="pair">
        ${pairs('Dropped episodes', summary.dropped, 'None: every episode counted.')}
        ${pairs('Versions', summary.versions, 'Not recorded.')}
      </div>`
    }
    <details>
      <summary>Configuration</summary>
      <pre>${JSON.stringify(config, null, 2)}</pre>
    </details>
  </section>`
}

function pairs(title: string, values: Readonly<Record<string, unknown>>, none: string): Html {
  const rows = Object.entries(values).map(([key, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return html`<tr>
      <td>${key}</td>
      <td>${text}</td>
    </tr>`
  })
  const body = html`<table>
    <tbody>
      ${rows}
    </tbody>
  </table>`
  return html`<div class="panel">
    <h3>${title}</h3>
    ${rows.length === 0 ? html`<p class="soft">${none}</p>` : body}
  </div>`
}
