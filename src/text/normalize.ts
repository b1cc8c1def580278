// Direction marks and isolates, and the byte order mark: invisible, and no part of what was said.
const invisible = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g
const spaces = /[\s\u0085]+/gu

export interface NormalizeOptions {
  /** Upper and lower case count as the same. */
  foldCase?: boolean
}

/**
 * A text as it is compared: NFC, runs of white space as one space, none at the ends, no direction marks.
 *
 * @example normalizeText('  E\u0301cole\n', { foldCase: true }) // 'école'
 */
export function normalizeText(text: string, options: NormalizeOptions = {}): string {
  const plain = text.normalize('NFC').replace(invisible, '').replace(spaces, ' ').trim()
  // By way of upper case, as one lower-case letter may have several upper-case spellings (ß and ss, ς and σ).
  return options.foldCase ? plain.toUpperCase().toLowerCase().normalize('NFC') : plain
}
