import { html, type Html } from './report-html.js'

/** A line of a chart; points with a null value break it. */
export interface Series {
  label: string
  /** 'strong' is the smoothed line, 'faint' the raw one behind it. */
  weight: 'strong' | 'faint'
  points: readonly { x: number; y: number | null }[]
}

export interface LineChart {
  title: string
  /** One line under the title: units and what is averaged. */
  note?: string
  series: readonly Series[]
  /** Fixed range of the vertical axis; otherwise it fits the data. */
  range?: readonly [number, number]
  /** @param step distance between two ticks: labels need as many digits as tell them apart */
  format: (value: number, step: number) => string
}

const WIDTH = 300
const HEIGHT = 150
const LEFT = 40
const RIGHT = 8
const TOP = 8
const BOTTOM = 24

/** A small line chart with axes, as a figure holding inline SVG. Non-finite values are left out. */
export function lineChart(chart: LineChart): Html {
  const finite = chart.series.flatMap((s) => s.points).filter((p) => p.y !== null && Number.isFinite(p.y))
  if (finite.length === 0) {
    return html`<figure class="chart">
      <figcaption>${chart.title}</figcaption>
      <p class="none">no values yet</p>
    </figure>`
  }
  const [xLow, xHigh] = extent(finite.map((p) => p.x))
  const ticks = niceTicks(...(chart.range ?? extent(finite.map((p) => p.y as number))), 4)
  const yLow = chart.range?.[0] ?? ticks[0]
  const yHigh = chart.range?.[1] ?? ticks[ticks.length - 1]
  const x = (value: number): number => LEFT + ((value - xLow) / (xHigh - xLow || 1)) * (WIDTH - LEFT - RIGHT)
  const y = (value: number): number =>
    HEIGHT - BOTTOM - ((value - yLow) / (yHigh - yLow || 1)) * (HEIGHT - TOP - BOTTOM)
  const xTicks = niceTicks(xLow, xHigh, 4).filter((t) => t >= xLow && t <= xHigh && Number.isInteger(t))
  return html`<figure class="chart">
    <figcaption>${chart.title}${chart.note !== undefined && html` <small>${chart.note}</small>`}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${chart.title} by step: ${spoken(chart)}">
      ${ticks.map(
        (t) =>
          html`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${n(y(t))}" y2="${n(y(t))}" />
            <text class="tick" x="${LEFT - 6}" y="${n(y(t) + 3.5)}" text-anchor="end"
              >${chart.format(t, ticks[1] - ticks[0])}</text
            >`,
      )}
      ${xTicks.map(
        (t) => html`<text class="tick" x="${n(x(t))}" y="${HEIGHT - 8}" text-anchor="middle">${String(t)}</text>`,
      )}
      ${chart.series.map((s) => html`<path class="line ${s.weight}" d="${linePath(s.points, x, y)}"><title>${s.label}</title></path>`)}
      ${endDot(chart, x, y)}
    </svg>
  </figure>`
}

function spoken(chart: LineChart): string {
  const points = (chart.series.find((s) => s.weight === 'strong') ?? chart.series[0]).points
  const values = points.flatMap((p) => (p.y === null || !Number.isFinite(p.y) ? [] : [p.y]))
  return values.length === 0 ? 'no values' : `from ${rounded(values[0])} to ${rounded(values[values.length - 1])}`
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(3)))
}

function endDot(chart: LineChart, x: (v: number) => number, y: (v: number) => number): Html | null {
  const last = chart.series
    .find((s) => s.weight === 'strong')
    ?.points.findLast((p) => p.y !== null && Number.isFinite(p.y))
  if (last === undefined || last.y === null) return null
  return html`<circle class="end" cx="${n(x(last.x))}" cy="${n(y(last.y))}" r="3" />`
}

/** An SVG path through the points; a gap where a value is missing. */
function linePath(points: Series['points'], x: (v: number) => number, y: (v: number) => number): string {
  let path = ''
  let pen = 'M'
  for (const point of points) {
    if (point.y === null || !Number.isFinite(point.y)) {
      pen = 'M'
      continue
    }
    path += `${pen}${n(x(point.x))},${n(y(point.y))}`
    pen = 'L'
  }
  return path
}

/** Two intervals on one line from 0 to 1: before above, after below, and a mark for the random player. */
export function intervalBar(
  before: Interval | undefined,
  after: Interval | undefined,
  random: number | undefined,
  label: string,
): Html {
  const x = (value: number): number => 2 + Math.min(1, Math.max(0, value)) * 196
  const bar = (interval: Interval | undefined, y: number, name: string): Html | null =>
    interval === undefined
      ? null
      : html`<line class="ci ${name}" x1="${n(x(interval.ciLow))}" x2="${n(x(interval.ciHigh))}" y1="${y}" y2="${y}" />
          <circle class="dot ${name}" cx="${n(x(interval.success))}" cy="${y}" r="4" />`
  return html`<svg class="interval" viewBox="0 0 200 26" role="img" aria-label="${label}">
    <line class="axis" x1="2" x2="198" y1="13" y2="13" />
    ${
      random !== undefined &&
      html`<line class="random" x1="${n(x(random))}" x2="${n(x(random))}" y1="2" y2="24">
        <title>random legal player</title>
      </line>`
    }
    ${bar(before, 7, 'before')}${bar(after, 19, 'after')}
  </svg>`
}

/** A share in [0, 1] with its interval. */
export interface Interval {
  success: number
  ciLow: number
  ciHigh: number
}

/** Round numbers that cover [low, high], about `count` of them, ascending. */
export function niceTicks(low: number, high: number, count: number): number[] {
  if (!(high > low)) {
    const pad = Math.abs(low) > 0 ? Math.abs(low) * 0.5 : 0.5
    return niceTicks(low - pad, low + pad, count)
  }
  const rough = (high - low) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? 10 * power
  const first = Math.floor(low / step + 1e-9)
  const last = Math.ceil(high / step - 1e-9)
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

/** Centred moving mean over `window` points; missing values are left out of the mean. */
export function smooth(values: readonly (number | null)[], window: number): (number | null)[] {
  const half = Math.floor(window / 2)
  return values.map((_, i) => {
    const near = values
      .slice(Math.max(0, i - half), i + half + 1)
      .filter((v): v is number => v !== null && Number.isFinite(v))
    return near.length === 0 ? null : near.reduce((a, b) => a + b, 0) / near.length
  })
}

function extent(values: readonly number[]): [number, number] {
  return [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)]
}

/** A coordinate, short. */
function n(value: number): string {
  return String(Math.round(value * 10) / 10)
}
