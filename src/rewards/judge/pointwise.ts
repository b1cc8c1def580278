import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { JudgeClient } from './client.js'
import {
  defaultSettings,
  judgeQuestion,
  likelihoodMessages,
  materialOf,
  type Judged,
  type JudgeSettings,
} from './prompts.js'
import { JudgeFailure } from './types.js'
import { readVerdict } from './verdict.js'

export interface PointwiseOptions {
  criteria: string
  /** Marks go from 1 to so many; 10 unless given. */
  scale?: number
  /** So many verdicts, of neighbouring seeds, are averaged; 1 unless given. Needs a temperature above 0 to differ. */
  samples?: number
  settings?: JudgeSettings
}

/**
 * A judge's mark for a reply, in [1, scale].
 *
 * @throws MyriadError 'runtime' when the judge fails
 * @example await judgeScore(client, judged, { criteria: 'Is it polite?', scale: 5 }) // 4
 */
export async function judgeScore(client: JudgeClient, judged: Judged, options: PointwiseOptions): Promise<number> {
  const { criteria, scale = 10, samples = 1, settings = defaultSettings } = options
  const marks = Array.from({ length: samples }, (_, i) => {
    const { request, schema } = judgeQuestion({
      task: `Judge the REPLY${shownReferences(judged)}. Criteria: ${criteria}\nGive it a score, a whole number from 1 (very bad) to ${scale} (as good as can be).`,
      texts: materialOf(judged),
      language: judged.language,
      fields: { score: z.int().min(1).max(scale) },
      example: { score: Math.ceil(scale / 2) },
      settings: { ...settings, seed: settings.seed + 1000 * i },
    })
    return client.ask(request, (text) => readVerdict(text, schema).score)
  })
  return (await Promise.all(marks)).reduce((sum, mark) => sum + mark, 0) / samples
}

/**
 * The mark a judge expects: the mean of 1 ... scale under the likelihood of each as its answer (G-Eval, Liu et al. 2023, with
 * exact likelihoods). Finer than a mark, and nothing is sampled.
 *
 * @throws MyriadError 'usage' when the judge cannot tell likelihoods
 */
export async function expectedScore(client: JudgeClient, judged: Judged, options: PointwiseOptions): Promise<number> {
  const { criteria, scale = 10 } = options
  const task = `Judge the REPLY${shownReferences(judged)}. Criteria: ${criteria}\nAnswer with a whole number from 1 (very bad) to ${scale} (as good as can be) and nothing else.`
  const marks = Array.from({ length: scale }, (_, i) => i + 1)
  const shares = await verdictShares(client, task, judged, marks.map(String))
  return shares.reduce((sum, share, i) => sum + share * marks[i], 0)
}

/**
 * How likely a judge is to answer yes, among yes and no (a generative verifier: Zhang et al. 2024, arXiv 2408.15240). In [0, 1].
 *
 * @param words for yes and no, in a language the judge reads; 'Yes' and 'No' unless given
 * @throws MyriadError 'usage' when the judge cannot tell likelihoods
 */
export async function verdictLikelihood(
  client: JudgeClient,
  judged: Judged,
  options: { question: string; words?: readonly [yes: string, no: string] },
): Promise<number> {
  const words = options.words ?? ['Yes', 'No']
  const task = `${options.question}\nAnswer with "${words[0]}" or "${words[1]}" and nothing else.`
  return (await verdictShares(client, task, judged, words))[0]
}

/** The likelihood of each answer among them: [answers], summing to 1. */
async function verdictShares(
  client: JudgeClient,
  task: string,
  judged: Judged,
  answers: readonly string[],
): Promise<number[]> {
  const { model } = client
  if (!model.likelihoods)
    throw new MyriadError('usage', `judge ${model.name} cannot tell likelihoods: use a local model, or marks`)
  const logprobs = await model.likelihoods(likelihoodMessages(task, materialOf(judged)), answers)
  const largest = Math.max(...logprobs)
  if (!Number.isFinite(largest)) throw new JudgeFailure('no answer has a finite likelihood', { retryable: false })
  const weights = logprobs.map((logprob) => Math.exp(logprob - largest))
  const total = weights.reduce((a, b) => a + b, 0)
  return weights.map((weight) => weight / total)
}

export function shownReferences({ references }: Judged): string {
  return references.length === 0
    ? ''
    : ' by what the REFERENCE texts say is right; other words for the same are as good'
}
