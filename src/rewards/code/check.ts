import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import { COMPARISONS, sameOutput, sameValue } from './compare.js'
import { languageOf } from './languages.js'
import { sharedSandbox } from './run.js'
import type { Sandbox } from './sandbox.js'
import type { FunctionCall, Json, ProgramLimits, ProgramResult, Verdict } from './types.js'

const json = z.json() as z.ZodType<Json>
const tolerance = z.number().nonnegative().optional()

const outputTest = z.strictObject({
  stdin: z.string().optional(),
  stdout: z.string(),
  compare: z.enum(COMPARISONS).optional(),
  tolerance,
})

const NAME = /^[\p{ID_Start}_$][\p{ID_Continue}$]*(?:\.[\p{ID_Start}_$][\p{ID_Continue}$]*)*$/u

const callTest = z.strictObject({
  call: z.string().max(200).regex(NAME, 'a name, or names with dots between them'),
  arguments: z.array(json),
  expected: json,
  tolerance,
  unordered: z.boolean().optional(),
})

/** `input` and `output` are other names of `stdin` and `stdout`. */
const otherNames = z
  .strictObject({ input: z.string(), output: z.string(), compare: z.enum(COMPARISONS).optional(), tolerance })
  .transform(({ input, output, ...rest }) => ({ stdin: input, stdout: output, ...rest }))

/** What `data.tests` of a problem may be. */
export const codeTestsSchema = z.array(z.union([outputTest, callTest, otherNames])).min(1)

/** Input given and output expected, or a function called and its value expected. */
export type CodeTest = z.output<typeof codeTestsSchema>[number]

export type TestVerdict = Verdict | 'wrong-answer' | 'not-run'

export interface TestResult {
  passed: boolean
  verdict: TestVerdict
  /** One line for people; never what was expected. */
  detail: string
  seconds: number
  memoryBytes: number
}

export interface CheckResult {
  tests: readonly TestResult[]
  passed: number
  /** Of tests passed, in [0, 1]: partial credit. */
  share: number
  /** 'ok' when all passed, else the verdict of the first that did not. */
  verdict: TestVerdict
  /** Of all tests together. */
  seconds: number
  /** The most that one test took. */
  memoryBytes: number
}

export interface ProgramToCheck {
  language: string
  source: string
  tests: readonly CodeTest[]
  limits?: Partial<ProgramLimits>
  /** Leave out what follows the first test that fails: enough where there is no partial credit. */
  stopAtFailure?: boolean
  /** Instead of the one this process shares. */
  sandbox?: Sandbox
}

/** After so many tests stopped by a limit the others are not run: they would only cost the same again. */
const LIMITS_REACHED = 2

/**
 * Runs a program against tests, each in fresh state. What is expected stays outside the sandbox and is compared here.
 *
 * @throws MyriadError 'reward' when the sandbox fails (never because of the program); 'usage' for a language that is not there
 * @example await checkProgram({ language: 'python', source: 'def double(x):\n  return 2 * x',
 *   tests: [{ call: 'double', arguments: [21], expected: 42 }] }) // { share: 1, verdict: 'ok', ... }
 */
export async function checkProgram(given: ProgramToCheck): Promise<CheckResult> {
  const { language, source, tests, limits, stopAtFailure = false } = given
  const sandbox = given.sandbox ?? sharedSandbox(languageOf(language))
  const results: TestResult[] = []
  let limitsReached = 0
  let broken: TestResult | null = null
  for (const test of tests) {
    if (broken?.verdict === 'compile-error') results.push({ ...broken, seconds: 0, memoryBytes: 0 })
    else if ((stopAtFailure && broken) || limitsReached >= LIMITS_REACHED)
      results.push({ passed: false, verdict: 'not-run', detail: '', seconds: 0, memoryBytes: 0 })
    else {
      const run = await sandbox.run({ source, limits, ...inputOf(test) })
      if (run.verdict === 'sandbox-error') throw new MyriadError('reward', `the sandbox for ${language}: ${run.detail}`)
      const result = judged(test, run)
      results.push(result)
      if (!result.passed) broken ??= result
      if (result.verdict === 'time-limit' || result.verdict === 'memory-limit') limitsReached++
    }
  }
  const passed = results.filter((result) => result.passed).length
  return {
    tests: results,
    passed,
    share: results.length === 0 ? 0 : passed / results.length,
    verdict: results.find((result) => !result.passed)?.verdict ?? 'ok',
    seconds: results.reduce((sum, { seconds }) => sum + seconds, 0),
    memoryBytes: results.reduce((most, { memoryBytes }) => Math.max(most, memoryBytes), 0),
  }
}

function inputOf(test: CodeTest): { stdin: string; call?: FunctionCall } {
  if ('call' in test) return { stdin: '', call: { name: test.call, arguments: test.arguments } }
  return { stdin: test.stdin ?? '' }
}

function judged(test: CodeTest, run: ProgramResult): TestResult {
  const { verdict, detail, seconds, memoryBytes } = run
  if (verdict !== 'ok') return { passed: false, verdict, detail, seconds, memoryBytes }
  const passed =
    'call' in test
      ? sameValue(parsed(run.value), test.expected, test)
      : sameOutput(run.stdout, test.stdout, test.compare, test.tolerance)
  return { passed, verdict: passed ? 'ok' : 'wrong-answer', detail: '', seconds, memoryBytes }
}

/** Of what a child sent: a value that is no JSON is no answer. */
function parsed(value: string | undefined): Json | undefined {
  if (value === undefined) return undefined
  try {
    return JSON.parse(value) as Json
  } catch {
    return undefined
  }
}
