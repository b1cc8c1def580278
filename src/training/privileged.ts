import type { ScoreResult, TrainSequence } from '../policy/types.js'
import type { ChatFormat, Message } from '../text/types.js'
import type { Demonstration } from './demonstrate.js'

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
 * @param shown one per sequence; null: no solution is known
 * @param options.template what is read in place of the last message: {prompt} is that message, {solution} the expert's replies, a line each
 */
export function privilegedPrompts(
  sequences: readonly TrainSequence[],
  shown: readonly (Demonstration | null)[],
  options: { chat: ChatFormat; contextLength: number; template: string },
): Told[] {
  const prompts = new Map<Demonstration, { plain: number[]; told: number[] }>()
  return sequences.map((sequence, i) => {
    const demonstration = shown[i]
    if (!demonstration) return { sequence, shift: null }
    let prompt = prompts.get(demonstration)
    if (!prompt) {
      const { opening, replies } = demonstration
      prompt = {
        plain: options.chat.prompt(opening),
        told: options.chat.prompt(tell(opening, replies, options.template)),
      }
      prompts.set(demonstration, prompt)
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

function tell(opening: readonly Message[], replies: readonly string[], template: string): Message[] {
  const last = opening[opening.length - 1]
  const solution = replies.map((reply) => reply.trim()).join('\n')
  // Functions: a "$" in a problem is no pattern of the replacement.
  const content = template.replace(/\{prompt\}|\{solution\}/g, (field) =>
    field === '{prompt}' ? last.content : solution,
  )
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
