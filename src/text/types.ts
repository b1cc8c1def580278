/** A tool call that a policy wrote, or a message of a conversation, in the words of the Vercel AI SDK. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
}

/** Token ids in, token ids out. */
export interface Tokenizer {
  /** Number of ids, special tokens included. */
  readonly vocabularySize: number
  /** Ids that end a reply (the end-of-turn token). */
  readonly stopTokens: readonly number[]
  readonly padToken: number
  /** Ids of a text. Special tokens written in the text are NOT recognised: user text cannot forge them. */
  encode(text: string): number[]
  /** Text of ids; special tokens are left out. Bytes that are no UTF-8 become U+FFFD. */
  decode(tokens: readonly number[]): string
}

/** Turns messages into the ids a policy was trained to read. */
export interface ChatFormat {
  readonly tokenizer: Tokenizer
  /** Ids of a whole conversation, ending where the assistant is to speak. */
  prompt(messages: readonly Message[]): number[]
  /**
   * Ids to append after a sampled reply: closes the reply if its stop token was not sampled (`closed` false), then the
   * new messages, then the start of the next assistant turn. Nothing sampled is tokenized again.
   */
  continuation(messages: readonly Message[], options: { closed: boolean }): number[]
}
