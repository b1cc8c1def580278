import { CommanderError } from 'commander'
import { MyriadError, messageOf } from '../core/index.js'

/** What a failed command tells the shell and the person. */
export interface Failure {
  /** 1: failed while running. 2: wrong usage or configuration. */
  exitCode: 1 | 2
  code: string
  /** One paragraph. */
  message: string
}

/** Turns anything thrown into one clear paragraph and an exit code. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) {
    return { exitCode: 2, code: 'usage', message: error.message.replace(/^error: /, '').trim() }
  }
  if (isMyriadError(error)) {
    return { exitCode: error.code === 'usage' ? 2 : 1, code: error.code, message: withCause(error) }
  }
  return {
    exitCode: 1,
    code: 'runtime',
    message: `something unforeseen went wrong: ${messageOf(error)} (MYRIAD_DEBUG=1 shows where)`,
  }
}

/** Errors that crossed from a worker thread keep their name and code, not their class. */
function isMyriadError(error: unknown): error is MyriadError {
  return error instanceof MyriadError || (error instanceof Error && error.name === 'MyriadError' && 'code' in error)
}

/** The message, and its cause's where the message does not say it already. */
function withCause(error: MyriadError): string {
  const cause = error.cause === undefined ? '' : messageOf(error.cause)
  return cause === '' || error.message.includes(cause) ? error.message : `${error.message}\n  cause: ${cause}`
}

/** Whole stack with causes, for MYRIAD_DEBUG=1. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return `${error.stack ?? error.message}${error.cause === undefined ? '' : `\ncaused by: ${stackOf(error.cause)}`}`
}
