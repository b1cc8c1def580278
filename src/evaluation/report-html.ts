/** Markup that is safe to put into a page. Only `html` and `raw` make it, so that plain strings are always escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | null | undefined | false | readonly Part[]

/**
 * Characters that could leave their place in a page become entities; control characters that would hide or reorder
 * text (bidirectional overrides, NUL) become visible symbols, for what a model wrote is hostile until shown otherwise.
 */
export function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/[\u202A-\u202E\u2066-\u2069]/g, '\u2426')
    .replace(/\p{Cc}/gu, visibleControl)
}

/** Tab and line breaks stay; other control characters become their pictures, those without one U+FFFD. */
function visibleControl(control: string): string {
  const code = control.charCodeAt(0)
  if (code === 0x09 || code === 0x0a || code === 0x0d) return control
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\uFFFD'
}

/** Markup from a template: values are escaped unless they are markup themselves; lists are joined; null and false vanish. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(strings.reduce((text, part, i) => text + render(values[i - 1]) + part))
}

/** Text of ours that is markup already (a style sheet). Never for anything a run wrote. */
export function raw(text: string): Html {
  return new Html(text)
}

function render(part: Part): string {
  if (part === null || part === undefined || part === false) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'string') return escapeHtml(part)
  if (typeof part === 'number') return String(part)
  return part.map(render).join('')
}
