import type { TrainSequence } from '../../policy/index.js'
import type { ChatFormat, Message } from '../../text/index.js'

/** A document as training sequences: `<|text|>`, the text in pieces of at most `limit` tokens, `<|end|>` after the last. */
export function documentSequences(
  text: string,
  chat: ChatFormat,
  marks: { start: number; end: number },
  limit: number,
): TrainSequence[] {
  const ids = [...chat.tokenizer.encode(text), marks.end]
  const sequences: TrainSequence[] = []
  for (let start = 0; start < ids.length; start += limit) {
    const tokens = [marks.start, ...ids.slice(start, start + limit)]
    sequences.push(sequence(tokens, new Float32Array(tokens.length).fill(1, 1)))
  }
  return sequences
}

/** A conversation as one training sequence: replies count 1, everything else `contextWeight`. */
export function conversationSequence(
  messages: readonly Message[],
  chat: ChatFormat,
  end: number,
  contextWeight: number,
): TrainSequence {
  const tokens: number[] = []
  const weights: number[] = []
  const append = (ids: readonly number[], weight: number): void => {
    for (const id of ids) {
      tokens.push(id)
      weights.push(weight)
    }
  }
  let from = 0
  messages.forEach((message, i) => {
    if (message.role !== 'assistant') return
    const context = messages.slice(from, i)
    append(from === 0 ? chat.prompt(context) : chat.continuation(context, { closed: true }), contextWeight)
    append([...chat.tokenizer.encode(message.content), end], 1)
    from = i + 1
  })
  weights[0] = 0
  return sequence(tokens, Float32Array.from(weights))
}

function sequence(tokens: number[], weights: Float32Array): TrainSequence {
  return {
    tokens,
    mask: Uint8Array.from(weights, (weight) => (weight > 0 ? 1 : 0)),
    logprobs: new Float32Array(tokens.length),
    advantages: new Float32Array(tokens.length).fill(1),
    weights,
  }
}

/** Divides the weights of a batch by their sum: the loss is a weighted mean over tokens. */
export function normalizeWeights(batch: readonly TrainSequence[]): TrainSequence[] {
  const total = batch.reduce((sum, { weights }) => sum + weights.reduce((a, b) => a + b, 0), 0)
  return batch.map((item) => ({ ...item, weights: item.weights.map((weight) => weight / total) }))
}

/** Endless passes over what `read` answers for pass 0, 1, ...; the place says where to go on, and is moved. */
export function passes<T>(read: (pass: number) => readonly T[]): (place: { pass: number; index: number }) => T {
  let loaded = -1
  let items: readonly T[] = []
  return (place) => {
    if (loaded === place.pass && place.index >= items.length) {
      place.pass++
      place.index = 0
    }
    if (loaded !== place.pass) {
      items = read(place.pass)
      loaded = place.pass
    }
    return items[place.index++]
  }
}
