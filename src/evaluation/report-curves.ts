import { lineChart, smooth, type LineChart } from './report-charts.js'
import type { RunData, StepMetrics } from './report-data.js'
import { html, type Html } from './report-html.js'
import { distinct, percent, tasksOf, tick } from './report-stats.js'

/** A curve of the run as a whole: its title, what it is, and where to find it in a step. */
type Curve = readonly [title: string, note: string | undefined, field: string, format?: LineChart['format']]

const RUN_CURVES: readonly Curve[] = [
  ['Reward', 'mean of all episodes', 'reward'],
  ['Right language', 'share of episodes', 'languageConsistency', percent],
  ['Surprise', 'mean −log p sampled, nats', 'entropy'],
  ['Loss', undefined, 'loss'],
  ['Gradient norm', 'before clipping', 'gradientNorm'],
  ['Clipped tokens', 'share', 'loss/clipFraction', percent],
  ['KL to the start', 'nats a token', 'loss/kl'],
  ['Learning rate', undefined, 'learningRate'],
  ['Groups without a contrast', 'all rewards equal', 'zeroVarianceGroups'],
  ['Sampled tokens', 'a step', 'sampledTokens'],
]

/** Success by task, and the run as a whole, step by step. */
export function curveSection(run: RunData): Html | null {
  const { steps } = run
  if (steps.length === 0) return null
  const window = Math.max(1, Math.round(steps.length / 12))
  const trained = steps.flatMap((step) => Object.keys(step.tasks))
  const tasks = distinct([...tasksOf(run), ...trained]).filter((task) => trained.includes(task))
  const byTask = tasks.map((task) =>
    curve(steps, window, (step) => step.tasks[task]?.success, { title: task, range: [0, 1], format: percent }),
  )
  const idle = (field: string): boolean => steps.every((step) => !step[field]) // a term that is switched off
  const whole = RUN_CURVES.filter(([, , field]) => !idle(field)).map(([title, note, field, format = tick]) =>
    curve(steps, window, (step) => step[field], { title, note, format }),
  )
  return html`<section>
    <h2>Learning curves</h2>
    <p class="soft">
      Success on training problems at temperature 1, by step: each step (faint) and a moving mean of ${window} (bold).
    </p>
    <div class="multiples">${byTask}</div>
    <h3>The run as a whole</h3>
    <div class="multiples">${whole}</div>
  </section>`
}

/** A chart of one value a step; null when no step has it. */
function curve(
  steps: readonly StepMetrics[],
  window: number,
  of: (step: StepMetrics) => unknown,
  chart: Omit<LineChart, 'series'>,
): Html | null {
  const values = steps.map((step) => finite(of(step)))
  if (values.every((value) => value === null)) return null
  const points = (ys: readonly (number | null)[]) => steps.map((step, i) => ({ x: step.step, y: ys[i] }))
  return lineChart({
    ...chart,
    series: [
      { label: 'each step', weight: 'faint', points: points(values) },
      { label: `mean of ${window} steps`, weight: 'strong', points: points(smooth(values, window)) },
    ],
  })
}

function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
