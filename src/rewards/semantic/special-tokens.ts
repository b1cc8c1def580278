import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MyriadError } from '../../core/index.js'
import type { TextTokenizer } from '../../text/index.js'

/** Token ids with the segment each belongs to. */
export interface TokenRow {
  ids: number[]
  types: number[]
}

/** What stands around a text, or around a pair of texts. */
export interface SpecialTokens {
  /** Tokens that are added to one text, and to a pair. */
  readonly single: number
  readonly pair: number
  /** `second` makes it a pair. `from` and `fromSecond` are the places of the texts' first tokens. */
  wrap(first: readonly number[], second?: readonly number[]): TokenRow & { from: number; fromSecond: number }
}

interface Piece {
  /** A text (0 or 1), or special tokens. */
  text?: 0 | 1
  ids: number[]
  type: number
}

const templatePiece = z.union([
  z.object({ SpecialToken: z.object({ id: z.string(), type_id: z.int().default(0) }) }),
  z.object({ Sequence: z.object({ id: z.enum(['A', 'B']), type_id: z.int().default(0) }) }),
])
const around = z.tuple([z.string(), z.int()])
const processor = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('TemplateProcessing'),
    single: z.array(templatePiece),
    pair: z.array(templatePiece),
    special_tokens: z.record(z.string(), z.object({ ids: z.array(z.int()) })),
  }),
  z.object({ type: z.literal('BertProcessing'), sep: around, cls: around }),
  z.object({ type: z.literal('RobertaProcessing'), sep: around, cls: around }),
  z.object({ type: z.literal('ByteLevel') }),
  z.object({ type: z.literal('Sequence'), processors: z.array(z.unknown()) }),
])

/**
 * The special tokens that `post_processor` of a folder's tokenizer.json puts around texts. Without that file they are BERT's,
 * [CLS] text [SEP]; without that entry there are none.
 *
 * @throws MyriadError 'checkpoint' for a processor that is not known, or tokens that do not exist
 */
export function readSpecialTokens(folder: string, tokenizer: TextTokenizer): SpecialTokens {
  const file = join(folder, 'tokenizer.json')
  const idOf = (token: string): number => {
    const id = tokenizer.idOf(token)
    if (id === undefined) throw new MyriadError('checkpoint', `${file}: there is no token "${token}"`)
    return id
  }
  if (!existsSync(file)) return bert(idOf('[CLS]'), idOf('[SEP]'))
  const json = JSON.parse(readFileSync(file, 'utf8')) as { post_processor?: unknown }
  return parseProcessor(json.post_processor, file)
}

function parseProcessor(json: unknown, file: string): SpecialTokens {
  if (json === null || json === undefined) return plain()
  const parsed = processor.safeParse(json)
  if (!parsed.success)
    throw new MyriadError(
      'checkpoint',
      `${file}: "post_processor" is not understood: ${parsed.error.issues[0].message}`,
    )
  const found = parsed.data
  switch (found.type) {
    case 'ByteLevel':
      return plain()
    case 'Sequence': {
      const inner = found.processors.filter((each) => (each as { type?: unknown } | null)?.type !== 'ByteLevel')
      if (inner.length > 1)
        throw new MyriadError('checkpoint', `${file}: "post_processor" is a sequence of ${inner.length}; one is read`)
      return parseProcessor(inner[0], file)
    }
    case 'BertProcessing':
      return bert(found.cls[1], found.sep[1])
    case 'RobertaProcessing':
      return roberta(found.cls[1], found.sep[1])
    case 'TemplateProcessing': {
      const pieces = (list: typeof found.single): Piece[] =>
        list.map((piece) => {
          if ('Sequence' in piece)
            return { text: piece.Sequence.id === 'A' ? 0 : 1, ids: [], type: piece.Sequence.type_id }
          const { id, type_id } = piece.SpecialToken
          const ids = found.special_tokens[id]?.ids
          if (!ids)
            throw new MyriadError('checkpoint', `${file}: "post_processor" names "${id}" and does not define it`)
          return { ids, type: type_id }
        })
      return fromPieces(pieces(found.single), pieces(found.pair))
    }
  }
}

function bert(cls: number, sep: number): SpecialTokens {
  const single: Piece[] = [
    { ids: [cls], type: 0 },
    { text: 0, ids: [], type: 0 },
    { ids: [sep], type: 0 },
  ]
  return fromPieces(single, [...single, { text: 1, ids: [], type: 1 }, { ids: [sep], type: 1 }])
}

function roberta(cls: number, sep: number): SpecialTokens {
  const single: Piece[] = [
    { ids: [cls], type: 0 },
    { text: 0, ids: [], type: 0 },
    { ids: [sep], type: 0 },
  ]
  return fromPieces(single, [
    ...single,
    { ids: [sep], type: 0 },
    { text: 1, ids: [], type: 0 },
    { ids: [sep], type: 0 },
  ])
}

/** Nothing around; a pair is one text after the other. */
function plain(): SpecialTokens {
  const first: Piece = { text: 0, ids: [], type: 0 }
  return fromPieces([first], [first, { text: 1, ids: [], type: 0 }])
}

function fromPieces(single: readonly Piece[], pair: readonly Piece[]): SpecialTokens {
  const count = (pieces: readonly Piece[]): number => pieces.reduce((sum, { ids }) => sum + ids.length, 0)
  return {
    single: count(single),
    pair: count(pair),
    wrap(first, second) {
      const row = { ids: [] as number[], types: [] as number[], from: 0, fromSecond: 0 }
      for (const piece of second ? pair : single) {
        if (piece.text === 0) row.from = row.ids.length
        if (piece.text === 1) row.fromSecond = row.ids.length
        const ids = piece.text === 0 ? first : piece.text === 1 ? second! : piece.ids
        for (const id of ids) {
          row.ids.push(id)
          row.types.push(piece.type)
        }
      }
      return row
    },
  }
}
