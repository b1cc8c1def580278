import { z } from 'zod'
import type { Trajectory } from '../types.js'

/** A reply (or a prompt) as a point in space, where nearness stands for likeness. */
export type Featurizer = (text: string) => Float64Array

/**
 * Hashed character n-grams of a text, signed and scaled to length 1 (all 0 where there is none): [dimensions]. They know
 * spelling, not meaning: a stand-in for the hidden states or sentence embeddings that the papers use.
 *
 * @param dimensions a positive integer
 * @param n characters (code points of the text in normal form C, in lower case) a gram
 * @example hashedNgrams('the cat', 32)
 */
export function hashedNgrams(text: string, dimensions: number, n = 3): Float64Array {
  const characters = [...text.normalize('NFC').toLowerCase().trim()]
  const features = new Float64Array(dimensions)
  // A text shorter than n is one gram.
  for (let i = 0; i < Math.max(Math.min(1, characters.length), characters.length - n + 1); i++) {
    const hash = fnv(characters.slice(i, i + n).join(''))
    features[(hash >>> 1) % dimensions] += hash & 1 ? 1 : -1
  }
  const length = Math.sqrt(features.reduce((sum, value) => sum + value * value, 0))
  return length === 0 ? features : features.map((value) => value / length)
}

/** FNV-1a over UTF-16 code units, its bits mixed so that the lowest depend on all. */
function fnv(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** Everything the policy said in a trajectory. */
export function repliesOf({ messages }: Pick<Trajectory, 'messages'>): string {
  return messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : [])).join('\n')
}

/** What a trajectory began with, up to the first reply. */
export function promptOf({ messages }: Pick<Trajectory, 'messages'>): string {
  const first = messages.findIndex(({ role }) => role === 'assistant')
  return messages
    .slice(0, first < 0 ? undefined : first)
    .map(({ content }) => content)
    .join('\n')
}

export const featureOptions = {
  /** Dimensions of the hashed features. */
  dimensions: z.number().int().positive().default(32),
  /** Characters a gram. */
  gram: z.number().int().positive().default(3),
}
