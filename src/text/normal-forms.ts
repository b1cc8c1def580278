/**
 * Unicode's normal forms as Hugging Face's tokenizers apply them: their tables are older (Unicode 12), and what was assigned
 * since is left as it is where it would fall apart.
 */
export type NormalForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD'

// The characters with a decomposition that their tables lack, found by comparing every code point.
const newCompatible =
  '\\u32ff\\ua7f1-\\ua7f4\\uab69\\u{10781}-\\u{10785}\\u{10787}-\\u{107b0}\\u{107b2}-\\u{107ba}\\u{1ccd6}-\\u{1ccf9}' +
  '\\u{1e030}-\\u{1e06d}\\u{1f16c}\\u{1fbf0}-\\u{1fbf9}'
const newCanonical =
  '\\u{105c9}\\u{105e4}\\u{11383}\\u{11385}\\u{1138e}\\u{11391}\\u{113c5}\\u{113c7}-\\u{113c8}\\u{11938}' +
  '\\u{16121}-\\u{16128}\\u{16d68}-\\u{16d6a}'
const untouched: Readonly<Record<Exclude<NormalForm, 'NFC'>, RegExp>> = {
  NFD: new RegExp(`([${newCanonical}]+)`, 'u'),
  NFKC: new RegExp(`([${newCompatible}]+)`, 'u'),
  NFKD: new RegExp(`([${newCanonical}${newCompatible}]+)`, 'u'),
}

/** A text in a normal form. */
export function normalForm(text: string, form: NormalForm): string {
  if (form === 'NFC' || !untouched[form].test(text)) return text.normalize(form)
  return text
    .split(untouched[form])
    .map((part, i) => (i % 2 === 1 ? part : part.normalize(form)))
    .join('')
}
