import type { Needs } from '../algorithms/types.js'
import { MyriadError } from '../core/index.js'
import type { ChatFormat } from '../text/types.js'

/**
 * A chat format whose prompts hold the control token that a method asks for.
 *
 * @throws MyriadError 'usage' where the tokenizer has no such token, and from `prompt` where that is shorter than its place
 * @example controlled(chat, { token: 100, position: 0 }).prompt(messages) // [100, ...chat.prompt(messages)]
 */
export function controlled(chat: ChatFormat, control: Needs['control']): ChatFormat {
  if (!control) return chat
  const { token, position } = control
  if (token >= chat.tokenizer.vocabularySize)
    throw new MyriadError(
      'usage',
      `algorithm: the control token ${token} is beyond the vocabulary of the model (${chat.tokenizer.vocabularySize} tokens)`,
    )
  return {
    tokenizer: chat.tokenizer,
    prompt: (messages) => {
      const tokens = chat.prompt(messages)
      if (tokens.length < position)
        throw new MyriadError(
          'usage',
          `algorithm: the control token is to stand at ${position}, the prompt has ${tokens.length} tokens`,
        )
      return tokens.toSpliced(position, 0, token)
    },
    continuation: (messages, options) => chat.continuation(messages, options),
  }
}
