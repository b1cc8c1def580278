import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { reward, type RewardDeclaration } from '../declaration.js'
import { dataField, lastReply } from '../references.js'
import type { Reward, RewardValue, Transcript } from '../types.js'
import { checkProgram, codeTestsSchema, type CodeTest } from './check.js'
import { findPackages } from './child-process.js'
import { knownLanguage, languageIn, programIn } from './extract.js'
import { languageOf, languages } from './languages.js'
import { closeSandboxes, compileProgram, runProgram } from './run.js'
import type { ProgramLimits, ProgramResult } from './types.js'

const limits = z
  .strictObject({
    seconds: z.number().positive().max(600).optional(),
    memoryMiB: z.number().min(32).max(2048).optional(),
    outputBytes: z
      .int()
      .positive()
      .max(16 * 1024 * 1024)
      .optional(),
  })
  .optional()

const programOptions = {
  /** Where neither `data.programmingLanguage` nor `data.language` names one; else what the reply's fence says. */
  language: z.string().optional(),
  limits,
}

interface ProgramOptions {
  language?: string
  limits?: Partial<ProgramLimits>
}

/** The programming language that a problem asks for, or the reply is in; null when nothing says. */
function languageFor(transcript: Transcript, { language }: ProgramOptions): string | null {
  const named = dataField(transcript, 'programmingLanguage')
  if (typeof named === 'string') return languageOf(named).name
  // This one may as well be the language of the prompt.
  const maybe = dataField(transcript, 'language')
  const known = typeof maybe === 'string' ? knownLanguage(maybe) : null
  if (known !== null) return known
  return language === undefined ? languageIn(lastReply(transcript)) : languageOf(language).name
}

/**
 * The tests of a problem, null without any. Lists of tests, or `{ inputs, outputs, fn_name }` as in APPS.
 *
 * @throws MyriadError 'reward' naming the field that is wrong
 */
export function testsOf(transcript: Transcript): readonly CodeTest[] | null {
  const given = dataField(transcript, 'tests')
  if (given === null) return null
  const result = codeTestsSchema.safeParse(asList(given))
  if (result.success) return result.data
  const [{ path, message }] = result.error.issues
  throw new MyriadError('reward', `data.tests${path.map((step) => `.${String(step)}`).join('')}: ${message}`)
}

function asList(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('inputs' in given) || !('outputs' in given)) return given
  const { inputs, outputs, fn_name: call } = given as { inputs: unknown[]; outputs: unknown[]; fn_name?: unknown }
  if (!Array.isArray(inputs) || !Array.isArray(outputs) || inputs.length !== outputs.length) return given
  return inputs.map((input, i) =>
    typeof call === 'string' ? { call, arguments: input, expected: outputs[i] } : { stdin: input, stdout: outputs[i] },
  )
}

function codeReward(name: string, score: (transcript: Transcript) => Promise<RewardValue>): Reward {
  return {
    name,
    score,
    // The sandbox's processes share the work out; it waits for a free one by itself.
    scoreAll: (transcripts) =>
      Promise.all(
        transcripts.map((transcript) =>
          score(transcript).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error)))),
        ),
      ),
    close: closeSandboxes,
  }
}

/** A language named in the configuration whose packages are missing is said at once, not with the first sample. */
function ready({ language }: ProgramOptions): void {
  if (language !== undefined) findPackages(languageOf(language))
}

/** The tests that the reply's program passes: all of them (1 or 0), or the share when `partial`. */
export function codeTests(options: ProgramOptions & { partial?: boolean } = {}): Reward {
  ready(options)
  return codeReward('code-tests', async (transcript) => {
    const tests = testsOf(transcript)
    if (!tests) return null
    const language = languageFor(transcript, options)
    if (language === null) return 0
    const source = programIn(lastReply(transcript), language)
    const stopAtFailure = !options.partial
    const { share } = await checkProgram({ language, source, tests, limits: options.limits, stopAtFailure })
    return options.partial ? share : Number(share === 1)
  })
}

/** 1 when the reply's program ends by itself without an error, on `data.stdin` or the input of the first test. */
export function codeRuns(options: ProgramOptions = {}): Reward {
  ready(options)
  return codeReward('code-runs', async (transcript) => {
    const language = languageFor(transcript, options)
    if (language === null) return null
    const given = dataField(transcript, 'stdin')
    const first = typeof given === 'string' ? null : testsOf(transcript)?.[0]
    const stdin = typeof given === 'string' ? given : first && 'stdin' in first ? first.stdin : ''
    const source = programIn(lastReply(transcript), language)
    return worked(language, await runProgram({ language, source, stdin, limits: options.limits }))
  })
}

/** 1 when the reply's program compiles. */
export function codeCompiles(options: ProgramOptions = {}): Reward {
  ready(options)
  return codeReward('code-compiles', async (transcript) => {
    const language = languageFor(transcript, options)
    if (language === null) return null
    const source = programIn(lastReply(transcript), language)
    return worked(language, await compileProgram({ language, source, limits: options.limits }))
  })
}

function worked(language: string, { verdict, detail }: ProgramResult): number {
  if (verdict === 'sandbox-error') throw new MyriadError('reward', `the sandbox for ${language}: ${detail}`)
  return Number(verdict === 'ok')
}

const packages = Object.values(languages)
  .flatMap((language) => language.packages)
  .filter(({ optional }) => optional)
  .map(({ name, version }) => ({ name, version }))

const named = 'the programming language: data.programmingLanguage, data.language, the option or the fence of the reply'

/** Rewards for programs. */
export const codeRewards: readonly RewardDeclaration[] = [
  reward({
    name: 'code-tests',
    group: 'code',
    codes: ['R1', 'R6'],
    summary: "does the reply's program pass the tests? All of them, or the share with `partial`",
    range: '0 or 1; [0, 1] with partial',
    applies: `problems with data.tests; null elsewhere; ${named}`,
    reference:
      'Hendrycks et al. 2021 (APPS), arXiv 2105.09938; share of tests: Le et al. 2022 (CodeRL), arXiv 2207.01780',
    packages,
    options: z.strictObject({ ...programOptions, partial: z.boolean().optional() }),
    make: codeTests,
  }),
  reward({
    name: 'code-runs',
    group: 'code',
    codes: ['R6'],
    summary: "does the reply's program end without an error?",
    range: '0 or 1',
    applies: `where something names ${named}; null elsewhere`,
    reference: 'ours',
    packages,
    options: z.strictObject(programOptions),
    make: codeRuns,
  }),
  reward({
    name: 'code-compiles',
    group: 'code',
    codes: ['R6'],
    summary: "does the reply's program compile?",
    range: '0 or 1',
    applies: `where something names ${named}; null elsewhere`,
    reference: 'Le et al. 2022 (CodeRL), arXiv 2207.01780',
    packages,
    options: z.strictObject(programOptions),
    make: codeCompiles,
  }),
]
