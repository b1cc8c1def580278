import { repetition, repetitionCost } from '../rewards/behaviour/repetition.js'
import { rewardAlarms, type AlarmKind, type RewardAlarm } from '../rewards/hygiene/alarms.js'
import { readRun, type EpisodeRecord, type RunData, type StepMetrics } from './report-data.js'
import { episodeView } from './report-episodes.js'
import { html, type Html } from './report-html.js'

const EXAMPLES = 2

const TITLES: Readonly<Record<AlarmKind, string>> = {
  'reward-without-success': 'More reward, less success',
  'format-without-content': 'Form without content',
  'length-drift': 'Length drifts',
  'language-drift': 'The language drifts',
  repetition: 'Repetition',
}

/** Alarms of a run folder: signs that the policy learns to please the reward. */
export async function runAlarms(folder: string): Promise<RewardAlarm[]> {
  return rewardAlarms((await readRun(folder)).steps)
}

/** Alarms with late episodes that show what is meant; how the parts of the reward are spread and go together. */
export function alarmSection({ steps, episodes }: RunData): Html | null {
  const alarms = rewardAlarms(steps)
  const last = steps.findLast(({ rewardStatistics }) => Object.keys(rewardStatistics ?? {}).length > 1)
  if (alarms.length === 0 && last === undefined) return null
  return html`<section>
    <h2>Is the reward being pleased?</h2>
    ${
      alarms.length === 0
        ? html`<p class="soft">No sign of it: reward, success, form, length, language and repetition were compared.</p>`
        : html`<p class="soft">
            Signs that the policy may learn to please the reward in place of the task. Not proof: look at the episodes.
          </p>`
    }
    ${alarms.map((alarm) => alarmView(alarm, examplesOf(alarm, episodes)))} ${last !== undefined && partsTable(last)}
  </section>`
}

function alarmView(alarm: RewardAlarm, examples: readonly EpisodeRecord[]): Html {
  return html`<details>
    <summary><span class="down">${TITLES[alarm.kind]}</span> ${alarm.message}</summary>
    <div>
      ${examples.length === 0 ? html`<p class="soft">No episode of it was kept.</p>` : examples.map(episodeView)}
    </div>
  </details>`
}

/** Late episodes of the alarm's task that show most of what it is about. */
export function examplesOf(
  { kind, task, early, late }: RewardAlarm,
  episodes: readonly EpisodeRecord[],
): EpisodeRecord[] {
  const own = episodes.filter((episode) => task === null || episode.task === task)
  const recent = own.toSorted((a, b) => a.step - b.step).slice(Math.floor(own.length / 2))
  const sampled = ({ tokens, mask }: EpisodeRecord): string[] => tokens.filter((_, i) => mask[i] === 1)
  const telling: Readonly<Record<AlarmKind, (episode: EpisodeRecord) => number | null>> = {
    'reward-without-success': ({ success, reward }) => (success ? null : reward),
    'format-without-content': ({ success, reward }) => (success ? null : reward),
    'length-drift': (episode) => sampled(episode).length * (late > early ? 1 : -1),
    'language-drift': ({ languageConsistent, reward }) => (languageConsistent === false ? (reward ?? 0) : null),
    repetition: (episode) => repetitionCost(repetition(sampled(episode).join(''), episode.language)) || null,
  }
  return recent
    .flatMap((episode) => {
      const value = telling[kind](episode)
      return value === null ? [] : [{ episode, value }]
    })
    .sort((a, b) => b.value - a.value)
    .slice(0, EXAMPLES)
    .map(({ episode }) => episode)
}

function partsTable({ step, rewardStatistics = {}, rewardCorrelations = {} }: StepMetrics): Html {
  const shown = (value: unknown): string =>
    typeof value === 'number' && Number.isFinite(value) ? String(Number(value.toPrecision(3))) : '–'
  const columns = ['mean', 'std', 'min', 'max', 'null', 'failed'] as const
  const strongest = Object.entries(rewardCorrelations)
    .filter((entry): entry is [string, number] => entry[1] !== null)
    .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
    .slice(0, 8)
    .map(([pair, value]) => `${pair.replace('~', ' and ')} ${shown(value)}`)
  return html`<h3>Parts of the reward in step ${step}</h3>
    <div class="panel">
      <table>
        <thead>
          <tr>
            <th>part</th>
            ${columns.map((name) => html`<th>${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${Object.entries(rewardStatistics).map(
            ([name, of]) =>
              html`<tr>
                <th>${name}</th>
                ${columns.map((column) => html`<td>${shown(of[column])}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${strongest.length > 0 && html`<p class="soft">Correlations: ${strongest.join('; ')}.</p>`}`
}
