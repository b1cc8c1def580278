import type { EpisodeRecord, RunData } from './report-data.js'
import { html, type Html } from './report-html.js'
import { distinct, tasksOf } from './report-stats.js'

const PER_TASK = 6

/**
 * Sampled episodes, a fold per task: what the policy read and, token by token, what it wrote, tinted by the advantage of
 * each token (blue: made likelier, orange: less likely). Text is hostile and in any script: escaped, direction by its first
 * strong letter, language marked.
 */
export function episodeSection(run: RunData): Html | null {
  const { episodes } = run
  if (episodes.length === 0) return null
  const played = episodes.map((episode) => episode.task)
  const tasks = distinct([...tasksOf(run), ...played]).filter((task) => played.includes(task))
  return html`<section>
    <h2>Episodes</h2>
    <p class="soft">
      A few that the policy played while training, early and late. Each token it sampled is tinted by its advantage.
    </p>
    <div class="legend">
      <span><i style="background:rgba(var(--up),.45)"></i>made more likely</span>
      <span><i style="background:rgba(var(--down),.45)"></i>made less likely</span
      ><span><i style="background:var(--user)"></i>read, not learned</span>
    </div>
    ${tasks.map((task, i) =>
      fold(
        task,
        episodes.filter((e) => e.task === task),
        i === 0,
      ),
    )}
  </section>`
}

function fold(task: string, episodes: readonly EpisodeRecord[], open: boolean): Html {
  const chosen = spread(episodes, PER_TASK)
  return html`<details${open && html` open`}><summary>${task}</summary><div>${chosen.map(episodeView)}</div></details>`
}

/** `count` items spread evenly over a list, first and last among them. */
export function spread<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items]
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))])
}

/** One episode, token by token. */
export function episodeView(episode: EpisodeRecord): Html {
  const parts = Object.entries(episode.rewardParts ?? {}).map(([name, value]) => `${name} ${value ?? '–'}`)
  const largest = Math.max(1e-9, ...episode.advantages.map((a) => Math.abs(a ?? 0)))
  return html`<article class="episode">
    <div class="meta">
      <span>step <b>${episode.step}</b></span
      ><span>${episode.language}</span>
      <span class="${episode.success ? 'up' : 'down'}">${episode.success ? '✓ solved' : '✗ not solved'}</span>
      <span
        >reward
        <b>${rounded(episode.reward)}</b>${parts.length > 1 && html` <small>(${parts.join(', ')})</small>`}</span
      >
      ${episode.languageConsistent === false && html`<span class="down">wrong language</span>`}
    </div>
    ${turns(episode).map((turn) => turnView(episode, turn, largest))}
  </article>`
}

interface TurnSpan {
  sampled: boolean
  start: number
  end: number
}

/** Runs of tokens that were all read or all sampled. */
function turns(episode: EpisodeRecord): TurnSpan[] {
  const result: TurnSpan[] = []
  for (let i = 0; i < episode.tokens.length; i++) {
    const sampled = episode.mask[i] === 1
    const last = result[result.length - 1]
    if (last === undefined || last.sampled !== sampled) result.push({ sampled, start: i, end: i + 1 })
    else last.end = i + 1
  }
  return result
}

function turnView(episode: EpisodeRecord, { sampled, start, end }: TurnSpan, largest: number): Html {
  const tokens = episode.tokens.slice(start, end)
  const parts = tokens.map((token, i) => {
    const text = /^<\|[^|>]*\|>$/.test(token) ? html`<bdi class="mark">${token.slice(2, -2)}</bdi>` : html`${token}`
    if (!sampled) return text
    const advantage = episode.advantages[start + i] ?? 0
    const alpha = ((0.55 * Math.abs(advantage)) / largest).toFixed(2)
    return html`<span
      class="t ${advantage < 0 ? 'm' : 'p'}"
      style="--a:${alpha}"
      title="advantage ${rounded(advantage)}"
      >${text}</span
    >`
  })
  return html`<div class="turn ${sampled ? 'reply' : 'read'}" dir="auto" lang="${episode.language}">${parts}</div>`
}

function rounded(value: number | null): string {
  return value === null ? '–' : String(Math.round(value * 1000) / 1000)
}
