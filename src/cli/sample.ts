import { createInterface, type Interface } from 'node:readline'
import { Command, InvalidArgumentError } from 'commander'
import { deriveSeed, MyriadError } from '../core/index.js'
import { openLocalPolicy } from '../policy/index.js'
import type { Completion, Policy } from '../policy/types.js'
import type { ChatFormat, Message } from '../text/types.js'
import { resolveAdapted } from './adapter-model.js'
import { failureOf } from './failure.js'
import { chatTemplateHelp, integerOption } from './options.js'
import type { Act } from './program.js'
import { printable, type Terminal } from './terminal.js'

interface SampleOptions {
  temperature: number
  maxTokens: number
  seed: number
  system?: string
  chatTemplate?: string
}

/** `myriad sample MODEL`: a conversation with a model in the terminal, or with lines from standard input. */
export function sampleCommand(act: Act): Command {
  return new Command('sample')
    .description('talk to a model: each line is a message; an empty line begins a new conversation')
    .argument(
      '[model]',
      'folder of a model, an adapter or a run, GGUF file or model of the hub; the one that comes with Myriad unless given',
    )
    .option('-t, --temperature <x>', '0 is greedy', temperatureOption, 1)
    .option('--max-tokens <n>', 'most tokens of a reply', integerOption, 64)
    .option('--seed <n>', 'seed of the replies', integerOption, 1)
    .option('--system <text>', 'system message')
    .option('--chat-template <file>', chatTemplateHelp)
    .option('--json', 'print the conversations as one JSON document at the end; with what went wrong, if anything did')
    .addHelpText('after', '\nExample:\n  $ echo "sort: k b a" | myriad sample --temperature 0')
    .action((model: string | undefined, options: SampleOptions) => act((terminal) => talk(terminal, model, options)))
}

async function talk(terminal: Terminal, model: string | undefined, options: SampleOptions): Promise<number> {
  const opened = await resolveAdapted(model, terminal)
  const { policy, chat } = await openLocalPolicy(opened.model, {
    workers: 1,
    adapter: opened.adapter,
    chatTemplate: options.chatTemplate,
  })
  try {
    const person = process.stdin.isTTY === true
    const lines = createInterface({ input: process.stdin, output: person ? process.stderr : undefined, prompt: '> ' })
    if (person) terminal.note('An empty line begins a new conversation; Ctrl-D ends.')
    const conversations: { messages: Message[] }[] = []
    try {
      await converse(lines, { policy, chat, terminal, options, person }, conversations)
    } catch (error) {
      if (!terminal.json) throw error // the replies so far are on the screen
      const { exitCode, code, message } = failureOf(error)
      terminal.note(`myriad: ${message}`)
      terminal.result({ conversations, error: { code, message } })
      return exitCode
    }
    terminal.result(conversations)
    return 0
  } finally {
    await policy.close()
  }
}

interface Session {
  policy: Policy
  chat: ChatFormat
  terminal: Terminal
  options: SampleOptions
  person: boolean
}

/** Answers lines until they end, and adds to the conversations. */
async function converse(lines: Interface, session: Session, conversations: { messages: Message[] }[]): Promise<void> {
  const { terminal, person } = session
  let conversation: Conversation | null = null
  if (person) lines.prompt()
  for await (const line of lines) {
    if (line.trim() === '') {
      conversation = null
    } else {
      if (conversation === null) {
        conversation = new Conversation(session, conversations.length)
        conversations.push(conversation)
      }
      const { text, note } = await conversation.say(line)
      if (!terminal.json) terminal.print(terminal.colors.cyan(printable(text)))
      if (note !== null) {
        terminal.note(`(${note})`)
        conversation = null
      }
    }
    if (person) lines.prompt()
  }
}

/** One conversation as token ids: what was sampled is kept as it is, new messages are appended. */
class Conversation {
  readonly messages: Message[]
  readonly #session: Session
  readonly #index: number
  #tokens: number[] = []
  #closed = true

  constructor(session: Session, index: number) {
    this.#session = session
    this.#index = index
    this.messages = session.options.system === undefined ? [] : [{ role: 'system', content: session.options.system }]
  }

  /** The reply to a message; a note says why the conversation cannot go on. */
  async say(content: string): Promise<{ text: string; note: string | null }> {
    const { policy, chat, options } = this.#session
    const message: Message = { role: 'user', content }
    this.messages.push(message)
    const first = this.#tokens.length === 0
    // Not push(...): a message may have more tokens than a call may have arguments.
    const read = first ? chat.prompt(this.messages) : chat.continuation([message], { closed: this.#closed })
    this.#tokens = [...this.#tokens, ...read]
    const room = policy.contextLength - this.#tokens.length
    if (room < 1)
      return { text: '', note: `the model reads at most ${policy.contextLength} tokens; a new conversation begins` }
    const reply = await this.#sample(Math.min(room, options.maxTokens))
    this.#tokens.push(...reply.tokens)
    const last = reply.tokens.at(-1)
    this.#closed = last !== undefined && chat.tokenizer.stopTokens.includes(last)
    const text = chat.tokenizer.decode(reply.tokens).trim()
    this.messages.push({ role: 'assistant', content: text })
    return { text, note: reply.stopReason === 'context' ? 'the context is full; a new conversation begins' : null }
  }

  async #sample(maxTokens: number): Promise<Completion> {
    const { policy, options } = this.#session
    const seed = deriveSeed(options.seed, 'sample', this.#index, this.messages.length)
    const { temperature } = options
    const [reply] = await policy.sample([{ id: 'reply', tokens: [...this.#tokens], maxTokens, temperature, seed }])
    if (reply === undefined) throw new MyriadError('runtime', 'the model gave no reply')
    return reply
  }
}

function temperatureOption(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 100))
    throw new InvalidArgumentError('It must be a number of at least 0.')
  return value
}
