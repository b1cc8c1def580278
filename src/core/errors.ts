/** The kinds of failure a caller may want to tell apart. */
export type ErrorCode =
  | 'usage' // wrong option, task, language, file or configuration: exit code 2
  | 'shape' // an operation was given tensors whose shapes do not fit
  | 'checkpoint' // a damaged or unfitting model, tokenizer or run folder
  | 'device' // the machine has no such execution provider
  | 'task' // a task threw, or went past its turn or time limit
  | 'reward' // a reward threw or answered something that is not a finite number
  | 'numeric' // NaN or infinity in a loss, gradient or weight
  | 'io' // reading or writing failed (disk full, permission)
  | 'runtime' // anything else that went wrong while running

/**
 * The one error class of the project. The message says what was wrong, where, and what to do; `cause` holds the error
 * behind it, if any.
 *
 * @example throw new MyriadError('usage', 'config.json: "steps" must be a positive integer, got "ten"')
 */
export class MyriadError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'MyriadError'
    this.code = code
  }
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
