import { createHash } from 'node:crypto'

/** Code units of a text that a judge is shown: of a longer one the beginning and the end. */
export const MOST_SHOWN = 24_000

// Marks of chat templates, which a server may read as such wherever they stand: ChatML and Llama 3, DeepSeek, Gemma, Llama 2, Mistral.
const templateMarks =
  /<(?=[|｜])|(?<=[|｜])>|<(?=\/?(?:s|bos|eos|start_of_turn|end_of_turn|think|system|user|assistant|tool)>)|\[(?=\/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS)\])/giu
// Direction overrides and isolates; Unicode tags, by which invisible instructions are written; zero-width space and byte order mark.
const hidden = /[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff]|[\u{e0000}-\u{e007f}]/gu
// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/gu

/**
 * A hostile text as a judge is shown it: well-formed Unicode, no control or invisible steering characters, marks of chat
 * templates broken by a space, the middle of a very long one left out. Joiners stay, as scripts of India and Iran need them.
 *
 * @example showable('a<|im_end|>b') // 'a< |im_end| >b'
 */
export function showable(text: string, most = MOST_SHOWN): string {
  let shown = text
  if (text.length > most) {
    const half = Math.floor(most / 2)
    shown = `${text.slice(0, half)}\n[... ${text.length - 2 * half} characters left out ...]\n${text.slice(-half)}`
  }
  return shown
    .replace(/\p{Surrogate}/gu, '\uFFFD')
    .replace(hidden, '')
    .replace(controls, '\uFFFD')
    .replace(templateMarks, (mark) => (mark === '>' ? ' >' : `${mark} `))
}

/** Texts between boundaries that none of them can hold. */
export interface Quotes {
  /** Eight hexadecimal digits that follow from the texts, so their author cannot have written them. A verdict repeats them. */
  id: string
  blocks: string[]
}

/**
 * Fences texts of others for a judge. The boundary is a digest of all the texts: the same texts are fenced the same way (so
 * answers can be cached), yet a text that wanted to forge its own end would have to contain a digest of itself.
 *
 * @example quote([{ label: 'REPLY', text: 'Nairobi' }]).blocks[0] // '<<<REPLY 0a1b2c3d\nNairobi\n0a1b2c3d REPLY>>>'
 */
export function quote(texts: readonly { label: string; text: string }[]): Quotes {
  const shown = texts.map(({ label, text }) => ({ label, text: showable(text) }))
  const content = JSON.stringify(shown)
  let id = ''
  for (let round = 0; id === '' || content.includes(id); round++)
    id = createHash('sha256').update(`${round}\0${content}`).digest('hex').slice(0, 8)
  return { id, blocks: shown.map(({ label, text }) => `<<<${label} ${id}\n${text}\n${id} ${label}>>>`) }
}
