import { intervalBar } from './report-charts.js'
import type { EvaluationRow, EvaluationRows, RunData } from './report-data.js'
import { html, type Html } from './report-html.js'
import { interval, languagesOf, mean, meanRow, percent, tasksOf, type Decoding } from './report-stats.js'

/** The table of success by task: random player, before and after, sampled and greedy, with intervals. */
export function successSection(run: RunData): Html | null {
  const tasks = tasksOf(run)
  if (tasks.length === 0) return null
  const k = meanRow(run.after, 'sampled')?.passAt?.length
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
            <th>pass@${k ?? 'k'}<br />before → after</th>
            <th>right<br />language</th>
          </tr>
        </thead>
        <tbody>
          ${tasks.map((task) => successRow(run, task))}${successRow(run, undefined)}
        </tbody>
      </table>
    </div>
  </section>`
}

function successRow(run: RunData, task: string | undefined): Html {
  const plays = run.random.flatMap((row) => ((task ?? row.task) === row.task ? (row.success ?? []) : []))
  const random = plays.length === 0 ? undefined : mean(plays)
  const pass = (evaluation: EvaluationRows | null): string =>
    share(meanRow(evaluation, 'sampled', task)?.passAt?.at(-1))
  const spoken = meanRow(run.after, 'sampled', task)?.languageConsistency
  return html`<tr class="${task === undefined ? 'all' : ''}">
    <th scope="row">${task ?? 'all'}</th>
    <td>${share(random)}</td>
    ${successCells(run, 'sampled', task, random)}${successCells(run, 'greedy', task, random)}
    <td>${pass(run.before)} → ${pass(run.after)}</td>
    <td>${share(spoken)}</td>
  </tr>`
}

function successCells(run: RunData, decoding: Decoding, task: string | undefined, random: number | undefined): Html {
  const [before, after] = [meanRow(run.before, decoding, task), meanRow(run.after, decoding, task)]
  const label = `${task ?? 'all tasks'}, ${decoding}: before ${share(before?.success)}, after ${share(after?.success)}`
  return html`${successCell(before)}${successCell(after)}
    <td>${intervalBar(before, after, random, label)}</td>`
}

function successCell(row: EvaluationRow | undefined): Html {
  if (row === undefined) return html`<td>–</td>`
  return html`<td>${percent(row.success)}<small>${interval(row)}</small></td>`
}

function share(value: number | null | undefined): string {
  return typeof value === 'number' ? percent(value) : '–'
}

/** Task by language, before and after, sampled and greedy. */
export function heatSection(run: RunData): Html | null {
  if (tasksOf(run).length === 0) return null
  return html`<section>
    <h2>Task by language</h2>
    <p class="soft">
      Share of withheld problems solved. <span aria-hidden="true">0<span class="scale"></span>100%</span>
    </p>
    <div class="heats">
      ${heatMap(run, 'before', 'sampled')}${heatMap(run, 'after', 'sampled')}
      ${heatMap(run, 'before', 'greedy')}${heatMap(run, 'after', 'greedy')}
    </div>
  </section>`
}

function heatMap(run: RunData, when: 'before' | 'after', decoding: Decoding): Html | null {
  const rows = (run[when]?.rows ?? []).filter((row) => row.decoding === decoding)
  if (rows.length === 0) return null
  const languages = languagesOf(run)
  const line = (task: string): Html =>
    html`<tr>
      <th scope="row" title="${task}">${task}</th>
      ${languages.map((language) => heatCell(rows.find((row) => row.task === task && row.language === language)))}
    </tr>`
  return html`<div class="panel">
    <h3>${when === 'before' ? 'Before' : 'After'}, ${decoding === 'greedy' ? 'greedy' : 'temperature 1'}</h3>
    <table class="heat">
      <thead>
        <tr>
          <th></th>
          ${languages.map((language) => html`<th scope="col" title="${languageName(language)}">${language}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${tasksOf(run).map(line)}
      </tbody>
    </table>
  </div>`
}

function heatCell(row: EvaluationRow | undefined): Html {
  if (row === undefined) return html`<td class="empty">·</td>`
  const value = Math.round(row.success * 100)
  const title = `${row.task}, ${languageName(row.language)}: ${value}% of ${row.n}, 95% interval ${interval(row)}`
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

/** pass@1 to pass@k, before and after. */
export function passSection({ before, after }: RunData): Html | null {
  const curves = [before, after].map((evaluation) => meanRow(evaluation, 'sampled')?.passAt ?? [])
  const ks = Array.from({ length: Math.max(...curves.map((curve) => curve.length)) }, (_, i) => i)
  if (ks.length === 0) return null
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
            ${ks.map((i) => html`<th>${i + 1}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${curves.map(
            (curve, when) =>
              html`<tr>
                <th scope="row">${when === 0 ? 'before' : 'after'}</th>
                ${ks.map((i) => html`<td>${share(curve[i])}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`
}
