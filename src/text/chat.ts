import { Template } from '@huggingface/jinja'
import { MyriadError, messageOf } from '../core/index.js'
import { createSpecialSplitter, type Section } from './special-splitter.js'
import { strftime } from './strftime.js'
import { shieldSpaces } from './template-space.js'
import type { TextTokenizer } from './tokenizer.js'
import type { ChatFormat, Message } from './types.js'

export interface ChatFormatOptions {
  /**
   * Further variables of the template, e.g. `{ enable_thinking: false }` or `{ tools: [...] }`. They are the program's own:
   * unlike messages they can write special tokens.
   */
  variables?: Readonly<Record<string, unknown>>
  /** How errors call the template; `the chat template` unless given. */
  name?: string
}

/** A chat format that also writes whole conversations. */
export interface TextChatFormat extends ChatFormat {
  /** Ids of a conversation that is over: no turn of the assistant is begun (transformers' add_generation_prompt=False). */
  conversation(messages: readonly Message[]): number[]
}

/**
 * Conversations as ids, by any Hugging Face chat template.
 *
 * Content cannot forge special tokens: only those the template itself writes become special ids; the same letters in a
 * message are ordinary text. Text between two special tokens is encoded as one piece, as the model saw it in training, and
 * the ids are those of transformers' apply_chat_template.
 *
 * @param template Jinja source; the tokenizer's own unless given.
 * @throws MyriadError 'checkpoint' when there is no template or it cannot be parsed; 'runtime' when it refuses a
 * message (says which) or leaves one out silently.
 * @example
 * const chat = createChatFormat(tokenizer)
 * const ids = chat.prompt([{ role: 'user', content: 'Capital of Kenya?' }])
 */
export function createChatFormat(
  tokenizer: TextTokenizer,
  template: string | null = tokenizer.chatTemplate,
  options: ChatFormatOptions = {},
): TextChatFormat {
  const name = options.name ?? 'the chat template'
  if (template === null)
    throw new MyriadError('checkpoint', 'this tokenizer has no chat template; pass one, e.g. defaultChatTemplate')
  const render = createRenderer(tokenizer, template, name, options.variables ?? {})
  const splitter = createSpecialSplitter(tokenizer.specialTokens)

  const idsOf = (sections: readonly Section[], atStart: boolean): number[] => {
    const ids: number[] = []
    sections.forEach((section, i) => {
      if (section.special) ids.push(section.special.id)
      else for (const id of (atStart && i === 0 ? tokenizer.encode : tokenizer.encodeAfter)(section.text)) ids.push(id)
    })
    return ids
  }
  type Part = 'all' | 'after the reply'
  const sectionsOf = (messages: readonly Message[], part: Part, generationPrompt = true): Section[] => {
    const shield = shieldSpaces(messages.map((message) => message.content))
    const guard = splitter.guard(shield.texts)
    const rendered = render(
      messages.map((message, i) => ({ role: message.role, content: guard.contents[i] })),
      generationPrompt,
    )
    return splitter.split(part === 'all' ? rendered : tailAfterReply(rendered), {
      ...guard,
      restore: (text) => shield.restore(guard.restore(text)),
    })
  }

  // What the template puts after an assistant's content when nothing else follows: the end of the turn. Its special token
  // ends a reply even where the tokenizer's files name only the end of a document.
  const closing = splitter.split(tailAfterReply(render(beforeReply, false)), splitter.guard([]))
  const turnEnd = closing.find((section) => section.special !== null)?.special?.id
  const stops = new Set(turnEnd === undefined ? tokenizer.stopTokens : [...tokenizer.stopTokens, turnEnd])
  const stop = closing.findIndex((section) => section.special !== null && stops.has(section.special.id))

  return {
    tokenizer: { ...tokenizer, stopTokens: [...stops] },
    prompt: (messages) => idsOf(sectionsOf(messages, 'all'), true),
    conversation: (messages) => idsOf(sectionsOf(messages, 'all', false), true),
    continuation: (messages, { closed }) => {
      const sections = sectionsOf([...beforeReply, ...messages], 'after the reply')
      if (!closed) return idsOf(sections, false)
      // The sampled stop token stands for everything up to the first stop token of the tail.
      return idsOf(stop < 0 ? sections : sections.slice(stop + 1), false)
    },
  }
}

// A reply whose place in the rendering can be found again. Some templates insist on a user before an assistant.
const replyMark = 'ReplyMarkQzj'
const beforeReply: readonly Message[] = [
  { role: 'user', content: 'x' },
  { role: 'assistant', content: replyMark },
]

function tailAfterReply(rendered: string): string {
  const start = rendered.indexOf(replyMark)
  if (start < 0) throw new MyriadError('runtime', 'the chat template leaves out what the assistant said')
  return rendered.slice(start + replyMark.length)
}

// The library has a strftime_now of its own, in the language of the machine, and lets none take its place.
const clock = 'strftime_now_in_english'

type Render = (messages: readonly Message[], generationPrompt: boolean) => string

function createRenderer(
  tokenizer: TextTokenizer,
  source: string,
  name: string,
  variables: Readonly<Record<string, unknown>>,
): Render {
  let template: Template
  try {
    template = new Template(source.replaceAll('strftime_now', clock))
  } catch (error) {
    throw new MyriadError('checkpoint', `${name} is not valid Jinja: ${messageOf(error)}`, { cause: error })
  }
  const { bos, eos, pad, unk } = tokenizer.named
  const { strftime_now: now = (format: string) => strftime(new Date(), format), ...others } = variables
  const fixed = {
    bos_token: bos ?? '',
    eos_token: eos ?? '',
    pad_token: pad ?? '',
    unk_token: unk ?? '',
    tools: null,
    documents: null,
    [clock]: now,
    ...others,
  }
  const renderRaw: Render = (messages, generationPrompt) =>
    template.render({ ...fixed, messages, add_generation_prompt: generationPrompt })

  const checked = new Set<string>()
  /** A template that knows no "tool" role may drop the message without a word; a model cannot answer what it never saw. */
  const checkRole = (messages: readonly Message[], generationPrompt: boolean): void => {
    const probe = messages.map((message, i) => ({ role: message.role, content: `Probe${i}Qzj` }))
    const rendered = renderRaw(probe, generationPrompt)
    probe.forEach((message, i) => {
      if (!rendered.includes(message.content))
        throw new MyriadError('runtime', `${name} leaves out message ${i} (role "${message.role}")`)
    })
  }

  return (messages, generationPrompt) => {
    try {
      const roles = messages.map((message) => message.role).join()
      if (!checked.has(roles)) {
        checkRole(messages, generationPrompt)
        checked.add(roles)
      }
      return renderRaw(messages, generationPrompt)
    } catch (error) {
      if (error instanceof MyriadError) throw error
      const culprit = firstRefused(renderRaw, messages)
      const where = culprit < 0 ? '' : ` at message ${culprit} (role "${messages[culprit].role}")`
      throw new MyriadError('runtime', `${name} refuses the conversation${where}: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }
}

function firstRefused(render: Render, messages: readonly Message[]): number {
  for (let n = 1; n <= messages.length; n++) {
    try {
      render(messages.slice(0, n), false)
    } catch {
      // Not swallowed: the caller is about to throw the error of the whole conversation.
      return n - 1
    }
  }
  return -1
}
