import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { Loss, LossTokens } from '../../policy/types.js'
import { clampedExp, LOG_RATIO_LIMIT } from '../clipped.js'
import { objective } from '../objective.js'

/** Logprobs below this are taken for it, so that differences of them are numbers. */
const LOG_FLOOR = -700
/** The least mass of a tail, as in TRL. */
const TAIL_MIN = 1e-7

/** What becomes of the probability that the alternatives of a token do not cover. */
export const SUPPORTS = ['tail', 'renormalize', 'full'] as const
export type Support = (typeof SUPPORTS)[number]

export interface DivergenceOptions {
  /** 0: KL(T || S), forward. 1: KL(S || T), reverse. Between: generalised Jensen-Shannon. */
  beta: number
  /**
   * tail: one more outcome holds what is not covered, at least 1e-7 (exact too where the alternatives are the vocabulary).
   * renormalize: both are conditioned on the alternatives. full: nothing is missing; the sums are taken as they are.
   */
  support?: Support
  /** Of both distributions, over what was sampled at: exp(lp / temperature), renormalized. Needs support 'renormalize'. */
  temperature?: number
  /** An outcome other than the tail adds no more than this (COPSD: 0.05); where it does, it has no slope. */
  elementLimit?: number
}

/** What one outcome adds, as a function of its logprobs, and the derivative with respect to that of S. */
function element(beta: number, logS: number, logT: number, into: { value: number; slope: number }): void {
  if (beta === 0 || beta === 1) {
    const ratio = logS - logT
    const clamped = Math.max(-LOG_RATIO_LIMIT, Math.min(LOG_RATIO_LIMIT, ratio))
    const inside = clamped === ratio ? 1 : 0
    const p = Math.exp(beta === 0 ? logT : logS)
    into.value = beta === 0 ? -p * clamped : p * clamped
    into.slope = beta === 0 ? -p * inside : p * (clamped + inside)
    return
  }
  const [s, t] = [Math.exp(logS), Math.exp(logT)]
  const high = Math.max(logS, logT)
  const logM = high + Math.log((1 - beta) * Math.exp(logS - high) + beta * Math.exp(logT - high))
  into.slope = (1 - beta) * s * (logS - logM)
  into.value = beta * t * (logT - logM) + into.slope
}

/**
 * The divergence between a student S and a teacher T at one place, from logprobs of the same outcomes:
 *
 *     beta 0   KL(T || S) = sum T log(T / S)           d / d log S_v = -T_v
 *     beta 1   KL(S || T) = sum S log(S / T)           d / d log S_v = S_v (log(S_v / T_v) + 1)
 *     else     beta KL(T || M) + (1 - beta) KL(S || M),  M = beta T + (1 - beta) S
 *                                                      d / d log S_v = (1 - beta) S_v log(S_v / M_v)
 *
 * With a tail, S_tail = 1 - sum S_v and its derivative is spread over the others; renormalized, the derivative is that
 * through the division. Log-ratios of the two KLs are clamped to [-20, 20], with slope 0 outside. Derivatives are with
 * respect to each logprob given, as if it moved alone; through a log-softmax they give S - T and so on.
 *
 * Sources: GKD, arXiv 2306.13649, and TRL (the ends by definition, not as limits); tail as TRL's self-distillation.
 *
 * @param student [outcomes], natural logs
 * @param teacher [outcomes]
 * @returns the divergence, its slopes, and the probability of the student that the outcomes do not cover
 * @throws MyriadError 'usage' on lengths that differ, or a beta outside [0, 1]
 * @example divergence([Math.log(0.5), Math.log(0.5)], [Math.log(0.7), Math.log(0.3)], { beta: 0 }).value // 0.0823
 */
export function divergence(
  student: ArrayLike<number>,
  teacher: ArrayLike<number>,
  options: DivergenceOptions,
): { value: number; slopes: Float64Array; tail: number } {
  const { beta, support = 'tail', temperature = 1, elementLimit = Infinity } = options
  if (student.length !== teacher.length || !(beta >= 0 && beta <= 1))
    throw new MyriadError('usage', `divergence of ${student.length} and ${teacher.length} outcomes at beta ${beta}`)
  requireSupport(options)
  const count = student.length
  const slopes = new Float64Array(count)
  if (count === 0) return { value: 0, slopes, tail: 1 }
  const s = logsOf(student, temperature, support === 'renormalize')
  const t = logsOf(teacher, temperature, support === 'renormalize')
  const term = { value: 0, slope: 0 }
  let [value, total] = [0, 0]
  for (let v = 0; v < count; v++) {
    element(beta, s.logs[v], t.logs[v], term)
    const cut = term.value > elementLimit
    value += cut ? elementLimit : term.value
    slopes[v] = cut ? 0 : term.slope
    total += slopes[v]
  }
  if (support === 'tail') {
    const rest = Math.max(TAIL_MIN, 1 - s.mass)
    element(beta, Math.log(rest), Math.log(Math.max(TAIL_MIN, 1 - t.mass)), term)
    value += term.value
    total = 1 - s.mass > TAIL_MIN ? term.slope / rest : 0
  } else if (support === 'full') total = 0
  for (let v = 0; v < count; v++)
    slopes[v] = student[v] < LOG_FLOOR ? 0 : (slopes[v] - Math.exp(s.logs[v]) * total) / temperature
  return { value, slopes, tail: 1 - s.covered }
}

function requireSupport({ temperature = 1, support = 'tail' }: DivergenceOptions): void {
  if (temperature !== 1 && support !== 'renormalize')
    throw new MyriadError(
      'usage',
      `a divergence at temperature ${temperature} needs support "renormalize", not "${support}"`,
    )
}

/** Logprobs at a temperature, their mass, and the mass there was before they were renormalized. */
function logsOf(
  given: ArrayLike<number>,
  temperature: number,
  renormalize: boolean,
): { logs: Float64Array; mass: number; covered: number } {
  const logs = new Float64Array(given.length)
  let [mass, covered, high] = [0, 0, -Infinity]
  for (let v = 0; v < logs.length; v++) {
    const log = Math.max(LOG_FLOOR, given[v])
    covered += Math.exp(log)
    logs[v] = log / temperature
    high = Math.max(high, logs[v])
  }
  if (!renormalize) return { logs, mass: covered, covered }
  for (let v = 0; v < logs.length; v++) mass += Math.exp(logs[v] - high)
  const shift = high + Math.log(mass)
  for (let v = 0; v < logs.length; v++) logs[v] -= shift
  return { logs, mass: 1, covered }
}

export interface DivergenceLossOptions extends DivergenceOptions {
  /** Each token counts min(exp(lp - olp), cap) times, a constant; null: once. */
  weightCap?: number | null
}

/**
 * The divergence from the teacher over the alternatives of each token: sum_t c_t w_t D_t, with D of `divergence` and
 * w_t = sg min(exp(lp - olp), cap). Alternatives with id -1 are left out. Metrics: `divergence`, the mean of D, and `tail`,
 * the mean probability of the policy that the alternatives do not cover.
 *
 * @throws MyriadError 'usage' from `evaluate` without alternatives of policy and teacher, 'numeric' where not finite
 * @example divergenceLoss({ beta: 0.5 })
 */
export function divergenceLoss({ weightCap = null, ...options }: DivergenceLossOptions): Loss {
  requireSupport(options)
  return {
    name: 'divergence',
    reads: { alternatives: true },
    evaluate: (tokens) => {
      const { logprobs, oldLogprobs, weights } = tokens
      const count = logprobs.length
      const { ids, logprobs: student, teacher, count: width } = alternativesOfTeacher(tokens)
      const alternativesGradient = new Float64Array(student.length)
      const [own, ours, theirs] = [new Int32Array(width), new Float64Array(width), new Float64Array(width)]
      let [value, mean, tail] = [0, 0, 0]
      for (let t = 0; t < count; t++) {
        let size = 0
        for (let k = t * width; k < (t + 1) * width; k++) if (ids[k] >= 0) own[size++] = k
        for (let i = 0; i < size; i++) {
          ours[i] = student[own[i]]
          theirs[i] = teacher[own[i]]
        }
        const part = divergence(ours.subarray(0, size), theirs.subarray(0, size), options)
        const importance = weightCap === null ? 1 : Math.min(weightCap, clampedExp(logprobs[t] - oldLogprobs[t]).value)
        const weight = weights[t] * importance
        value += weight * part.value
        for (let i = 0; i < size; i++) alternativesGradient[own[i]] = weight * part.slopes[i]
        mean += part.value / count
        tail += part.tail / count
      }
      if (!Number.isFinite(value) || !alternativesGradient.every(Number.isFinite))
        throw new MyriadError('numeric', `the divergence from the teacher is not finite (${value})`)
      return { value, gradient: new Float64Array(count), alternativesGradient, metrics: { divergence: mean, tail } }
    },
  }
}

function alternativesOfTeacher(
  tokens: LossTokens,
): Required<Pick<NonNullable<LossTokens['alternatives']>, 'ids' | 'logprobs' | 'teacher' | 'count'>> {
  const { alternatives } = tokens
  if (alternatives?.teacher) return { ...alternatives, teacher: alternatives.teacher }
  if (tokens.logprobs.length === 0)
    return { count: 0, ids: new Int32Array(), logprobs: new Float64Array(), teacher: new Float64Array() }
  throw new MyriadError('usage', 'distillation reads alternatives of policy and teacher; ask for both in needs')
}

/** Options of a divergence in a configuration, with a method's own defaults. */
export const divergenceOptions = (
  defaults: Partial<DivergenceLossOptions> & { beta: number; alternatives?: number },
) => ({
  /** 0: forward KL; 1: reverse KL; between: Jensen-Shannon. */
  beta: z.number().min(0).max(1).default(defaults.beta),
  /** What becomes of the probability outside the alternatives. */
  support: z.enum(SUPPORTS).default(defaults.support ?? 'tail'),
  /** Of the divergence, over that of sampling; other than 1 needs support 'renormalize'. */
  temperature: z
    .number()
    .positive()
    .default(defaults.temperature ?? 1),
  /** An outcome adds no more than this; null: no bound. */
  elementLimit: z
    .number()
    .positive()
    .nullable()
    .default(defaults.elementLimit ?? null),
  /** Bound of the importance weight of a token; null: no weight. */
  weightCap: z
    .number()
    .positive()
    .nullable()
    .default(defaults.weightCap ?? null),
  /** Alternatives a token: the policy's most probable ones. The size of the vocabulary for exact divergences. */
  alternatives: z
    .int()
    .positive()
    .default(defaults.alternatives ?? 64),
})

export type DivergenceConfig = z.output<z.ZodObject<ReturnType<typeof divergenceOptions>>>

/** The loss of a method's options. */
export const divergenceOf = ({ elementLimit, ...options }: DivergenceConfig): Loss =>
  divergenceLoss({ ...options, ...(elementLimit === null ? {} : { elementLimit }) })

const about = {
  kind: 'loss' as const,
  family: 'distillation' as const,
  standing: 'source' as const,
  rows: [],
  needs: { teacher: 'model' as const, alternatives: 64 },
}

const lossOptions = (beta: number) => {
  const { support, temperature, weightCap } = divergenceOptions({ beta })
  return { support, temperature, weightCap }
}

export const forwardKl = objective({
  ...about,
  name: 'forward-kl',
  summary: 'KL from the teacher to the policy over alternatives of each token: covers all the teacher does.',
  formula: 'sum_v T log(T / S);  d / d logits = S - T',
  reference: 'Hinton et al., arXiv 1503.02531; TRL GKD beta 0',
  use: "A policy about as able as the teacher. Alternatives are the policy's own: what only the teacher likes is in the tail.",
  options: z.strictObject(lossOptions(0)),
  make: (options) => divergenceLoss({ ...options, beta: 0 }),
})

export const reverseKl = objective({
  ...about,
  name: 'reverse-kl',
  summary: 'KL from the policy to the teacher over alternatives of each token: keeps to what the teacher does.',
  formula: 'sum_v S log(S / T);  d / d logits = S (log(S / T) - KL)',
  reference: 'MiniLLM, arXiv 2306.08543; TRL GKD beta 1',
  use: 'A policy weaker than the teacher, on its own samples.',
  options: z.strictObject(lossOptions(1)),
  make: (options) => divergenceLoss({ ...options, beta: 1 }),
})

export const jensenShannon = objective({
  ...about,
  name: 'jensen-shannon',
  summary: 'Generalised Jensen-Shannon divergence between policy and teacher over alternatives of each token.',
  formula: 'beta KL(T || M) + (1 - beta) KL(S || M),  M = beta T + (1 - beta) S',
  reference: 'GKD, arXiv 2306.13649; TRL generalized_jsd_loss',
  use: 'Between the two; bounded where one of them is 0.',
  options: z.strictObject({ ...lossOptions(0.5), beta: z.number().gt(0).lt(1).default(0.5) }),
  make: (options) => divergenceLoss(options),
})
