import { MyriadError, messageOf } from '../core/index.js'
import type { HubSettings } from './hub-cache.js'
import { HttpError } from './hub-transfer.js'

/** Did the network or the server fail, so that what is in the cache may be used instead? */
export function isNetworkFailure(error: unknown): boolean {
  const status = statusOf(error)
  if (status !== undefined) return status >= 500
  return error instanceof Error && (error.name === 'TypeError' || error.name === 'TimeoutError')
}

function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpError) return error.status
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' ? status : undefined
}

/** What went wrong with fetching `id`, and what to do. */
export function explain(
  error: unknown,
  id: string,
  model: { repository: string; revision: string },
  { endpoint, token, cache }: HubSettings,
): MyriadError {
  if (error instanceof MyriadError) return error
  const say = (code: 'usage' | 'io', message: string): MyriadError => new MyriadError(code, message, { cause: error })
  const status = statusOf(error)
  const page = `${endpoint}/${model.repository}`
  if (status === 401 || status === 403) {
    const step =
      token === undefined
        ? 'set HF_TOKEN to a token of an account that may read it'
        : 'the HF_TOKEN that is set may not read it'
    return say(
      'io',
      `${endpoint} refuses access to ${id} (${status}): it is private, gated or not there; ask for access at ${page}, then ${step}`,
    )
  }
  if (status === 404)
    return say('usage', `${endpoint} has no model ${model.repository}, or no revision "${model.revision}" of it`)
  if (status !== undefined) return say('io', `${endpoint} answered ${status} for ${id}; try again later`)
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOSPC')
    return say(
      'io',
      `cannot write ${cache}: the disk is full; free some space, or set HF_HOME to a folder on another disk`,
    )
  if (code !== undefined && 'syscall' in (error as object))
    return say('io', `cannot write ${cache}: ${messageOf(error)}`)
  return say(
    'io',
    `cannot fetch ${id} from ${endpoint} (${reasonOf(error)}), and it is not whole in ${cache}: look at the network, set HF_ENDPOINT ` +
      'to a mirror, or give a model folder or .gguf file that is here. What came so far is kept; the next attempt goes on from there',
  )
}

/** fetch says "fetch failed"; what failed is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error ? messageOf(cause) || String((cause as NodeJS.ErrnoException).code) : messageOf(error)
}
