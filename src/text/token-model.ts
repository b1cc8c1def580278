import type { z } from 'zod'
import { MyriadError } from '../core/index.js'
import { bpeSchema, createBpe } from './bpe.js'
import { createUnigram, unigramSchema } from './unigram.js'
import { createWordPiece, wordPieceSchema } from './wordpiece.js'

/** The tokens that text can become: special tokens are not among them, so no text can spell one. */
export interface Vocabulary {
  readonly idOf: ReadonlyMap<string, number>
  /** Scores (log probabilities) by id, of Unigram vocabularies. */
  readonly scores?: readonly number[]
  /** What stands for characters that the vocabulary lacks. */
  readonly unknown: number | undefined
}

/** From a piece of normalized text to ids. */
export interface TokenModel {
  encode(piece: string): readonly number[]
  /** Cuts a piece where that cannot change its ids; absent where there is no such place. */
  split?: (piece: string) => string[]
  /** An id that never stands twice in a row: runs of unknown characters are one token. */
  fuses?: number
}

/**
 * The model of a tokenizer.json: BPE, Unigram or WordPiece. Files written before models had a type are told by their fields.
 *
 * @throws MyriadError 'checkpoint' when the type is none of these.
 */
export function createTokenModel(config: Readonly<Record<string, unknown>>, vocabulary: Vocabulary): TokenModel {
  switch (config.type ?? guessType(config)) {
    case 'BPE':
      return createBpe(bpeSchema.parse(config), vocabulary)
    case 'Unigram':
      return createUnigram(unigramSchema.parse(config), vocabulary)
    case 'WordPiece':
      return createWordPiece(wordPieceSchema.parse(config), vocabulary)
  }
  throw new MyriadError(
    'checkpoint',
    `model.type ${JSON.stringify(config.type)} is not supported; BPE, Unigram and WordPiece are`,
  )
}

function guessType(config: Readonly<Record<string, unknown>>): string | undefined {
  if (Array.isArray(config.vocab)) return 'Unigram'
  if (Array.isArray(config.merges)) return 'BPE'
  return 'continuing_subword_prefix' in config ? 'WordPiece' : undefined
}

/** A zod error in words; for callers that parse parts of a document. */
export function describeIssue(error: z.ZodError): string {
  const [issue] = error.issues
  return `${issue.path.join('.') || 'the document'}: ${issue.message}`
}
