import {
  kendallTau,
  scoreFeatures,
  spearman,
  type LearnedScore,
  type RewardModel,
} from '../../rewards/learned/index.js'
import { wilson, type Interval } from '../../evaluation/statistics.js'
import type { Vector } from '../../rewards/semantic/index.js'
import type { RewardData, Unit } from './data.js'

/** How often the better of two scored strictly higher. */
export interface Accuracy {
  /** Share, in [0, 1]; null of none. */
  accuracy: number | null
  comparisons: number
  /** 95 percent, Wilson; of a language's units. */
  interval: Interval
}

/** How a reward model does on what it was not trained on. */
export interface HeldOut {
  units: number
  /** Of comparisons, and of steps labelled other than 1/2 (a logit above 0 says right). */
  accuracy?: Accuracy
  byLanguage?: Record<string, Accuracy>
  /** Of ratings, head by head; null where nothing varies. */
  heads?: { name: string; rootMeanSquaredError: number | null; spearman: number | null; kendallTau: number | null }[]
}

/** Measures a model on units with their features [units][samples]. */
export function measure(
  model: RewardModel,
  kind: RewardData['kind'],
  units: readonly Unit[],
  features: readonly (readonly Vector[])[],
): HeldOut {
  const scored = units.map((_, i) => scoreFeatures(model, features[i]))
  if (kind === 'ratings') return { units: units.length, heads: ofRatings(model, units, scored) }
  const verdicts = units.map((unit, i) => ({
    language: unit.language,
    right: kind === 'steps' ? rightSteps(unit, scored[i]) : rightComparisons(unit, scored[i]),
  }))
  const languages = [...new Set(verdicts.flatMap(({ language }) => language ?? []))].sort()
  const of = (chosen: typeof verdicts): Accuracy => {
    const all = chosen.flatMap(({ right }) => right)
    const share = all.filter(Boolean).length / Math.max(1, all.length)
    return { accuracy: all.length === 0 ? null : share, comparisons: all.length, interval: wilson(share, all.length) }
  }
  return {
    units: units.length,
    accuracy: of(verdicts),
    byLanguage: Object.fromEntries(
      languages.map((language) => [language, of(verdicts.filter((verdict) => verdict.language === language))]),
    ),
  }
}

function rightComparisons({ items }: Unit, scores: readonly LearnedScore[]): boolean[] {
  return items.flatMap((better, i) =>
    items.flatMap((worse, j) => (better.rank! < worse.rank! ? [scores[i].score > scores[j].score] : [])),
  )
}

function rightSteps({ items }: Unit, scores: readonly LearnedScore[]): boolean[] {
  return items.flatMap(({ labels }, i) => {
    const label = labels![0]
    return Number.isNaN(label) || label === 0.5 ? [] : [scores[i].score > 0 === label > 0.5]
  })
}

function ofRatings(
  { description }: RewardModel,
  units: readonly Unit[],
  scored: readonly (readonly LearnedScore[])[],
): HeldOut['heads'] {
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)
  return description.heads.map((name, k) => {
    const known = units.flatMap(({ items }, i) => {
      const label = items[0].labels![k]
      return Number.isNaN(label) ? [] : [{ label, score: scored[i][0].heads[k] }]
    })
    const [labels, scores] = [known.map(({ label }) => label), known.map(({ score }) => score)]
    const squared = known.reduce((sum, { label, score }) => sum + (score - label) ** 2, 0)
    return {
      name,
      rootMeanSquaredError: finite(Math.sqrt(squared / known.length)),
      spearman: finite(spearman(scores, labels)),
      kendallTau: finite(kendallTau(scores, labels)),
    }
  })
}
