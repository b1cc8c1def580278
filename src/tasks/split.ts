import { createHash } from 'node:crypto'
import { MyriadError } from '../core/index.js'
import type { Split } from './types.js'

/**
 * Which split a problem belongs to: one in five is withheld for evaluation, chosen by a hash of its key, so that no
 * list has to be kept and the two splits can never share a problem.
 */
export function splitOf(key: string): Split {
  return createHash('sha256').update(key).digest().readUInt32LE(0) % 5 === 0 ? 'eval' : 'train'
}

/** Most proposals before a split counts as empty. */
const attempts = 4000

/**
 * Asks for proposals until one falls in the wanted split.
 *
 * @throws MyriadError 'task' when none of 4000 does: the task has too few different problems at this difficulty
 */
export function proposeInSplit<T extends { key: string }>(task: string, split: Split, propose: () => T): T {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const proposal = propose()
    if (splitOf(proposal.key) === split) return proposal
  }
  throw new MyriadError(
    'task',
    `task "${task}": none of ${attempts} proposed problems falls in the ${split} split; generate more varied keys`,
  )
}
