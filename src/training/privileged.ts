import type { ScoreResult, TrainSequence } from '../policy/types.js'
import type { ChatFormat, Message } from '../text/types.js'

/** What a teacher is told beside a problem. */
export interface Hint {
  /** The messages before the first reply. */
  opening: readonly Message[]
  /** {solution} of the template, and {sibling}. */
  solution: readonly string[]
  sibling?: readonly string[]
}

/** A sequence as a teacher reads it that was told the solution. */
export interface Told {
  sequence: TrainSequence
  /** By how many places its tokens stand later; null where nothing was told. */
  shift: number | null
}

/**
 * The same replies after a prompt that also holds the solution. Where there is no solution, the sequence does not begin with
 * the problem's prompt, or the longer one would outgrow the context, the sequence is left as it is.
 *
 * @param hints one per sequence; null: no solution is known
 * @param options.template what is read in place of the last message: {prompt} is that message, {solution} and {sibling} the
 *   replies of the hint, a line each
 */
export function privilegedPrompts(
  sequences: readonly TrainSequence[],
  hints: readonly (Hint | null)[],
  options: { chat: ChatFormat; contextLength: number; template: string },
): Told[] {
  const prompts = new Map<Hint, { plain: number[]; told: number[] }>()
  return sequences.map((sequence, i) => {
    const hint = hints[i]
    if (!hint) return { sequence, shift: null }
    let prompt = prompts.get(hint)
    if (!prompt) {
      prompt = {
        plain: options.chat.prompt(hint.opening),
        told: options.chat.prompt(tell(hint, options.template)),
      }
      prompts.set(hint, prompt)
    }
    const { plain, told } = prompt
    const shift = told.length - plain.length
    const fits =
      plain.every((token, t) => sequence.tokens[t] === token && !sequence.mask[t]) &&
      sequence.tokens.length + shift <= options.contextLength
    return fits ? { sequence: replacePrompt(sequence, told, plain.length), shift } : { sequence, shift: null }
  })
}

/** Scores of a sequence whose tokens stand `shift` places later, as scores of the sequence itself. */
export function shifted(score: ScoreResult, length: number, shift: number): ScoreResult {
  if (shift === 0) return score
  const { alternatives } = score
  return {
    logprobs: move(score.logprobs, length, shift),
    entropy: move(score.entropy, length, shift),
    ...(alternatives && {
      alternatives: {
        count: alternatives.count,
        ids: move(alternatives.ids, length, shift, alternatives.count),
        logprobs: move(alternatives.logprobs, length, shift, alternatives.count),
      },
    }),
  }
}

function tell({ opening, solution, sibling = [] }: Hint, template: string): Message[] {
  const last = opening[opening.length - 1]
  const lines = (replies: readonly string[]): string => replies.map((reply) => reply.trim()).join('\n')
  const fields: Record<string, string> = {
    '{prompt}': last.content,
    '{solution}': lines(solution),
    '{sibling}': lines(sibling),
  }
  // A function: a "$" in a problem is no pattern of the replacement.
  const content = template.replace(/\{prompt\}|\{solution\}|\{sibling\}/g, (field) => fields[field])
  return [...opening.slice(0, -1), { ...last, content }]
}

function replacePrompt(sequence: TrainSequence, prompt: readonly number[], plain: number): TrainSequence {
  const { tokens, mask, alternatives } = sequence
  const shift = prompt.length - plain
  return {
    ...sequence,
    tokens: [...prompt, ...tokens.slice(plain)],
    mask: move(mask, tokens.length + shift, -shift),
    ...(alternatives && {
      alternatives: {
        ...alternatives,
        ids: move(alternatives.ids, tokens.length + shift, -shift, alternatives.count, -1),
      },
    }),
  }
}

/** `length` places of an array, place t being what stood at t + shift; `empty` where there was none. */
function move<Numbers extends Float32Array | Int32Array | Uint8Array>(
  from: Numbers,
  length: number,
  shift: number,
  width = 1,
  empty = 0,
): Numbers {
  const moved = new (from.constructor as new (length: number) => Numbers)(length * width)
  for (let i = 0; i < moved.length; i++) moved[i] = from[i + shift * width] ?? empty
  return moved
}
