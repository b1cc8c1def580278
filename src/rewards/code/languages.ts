import { MyriadError, suggestion } from '../../core/index.js'
import type { LanguageAdapter } from './adapter.js'
import { c } from './c.js'
import { cpp } from './cpp.js'
import { javascript } from './javascript.js'
import { lua } from './lua.js'
import { prolog } from './prolog.js'
import { python } from './python.js'
import { ruby } from './ruby.js'
import { postgres } from './sql-postgres.js'
import { sqlite } from './sql-sqlite.js'
import { typescript } from './typescript.js'

/** The languages whose programs can be run, by name. */
export const languages: Readonly<Record<string, LanguageAdapter>> = {
  javascript,
  typescript,
  lua,
  python,
  c,
  cpp,
  ruby,
  prolog,
  sqlite,
  postgres,
}

/**
 * By name or alias, in any case.
 *
 * @throws MyriadError 'usage' with the names there are
 * @example languageOf('js').name // 'javascript'
 */
export function languageOf(name: string): LanguageAdapter {
  const wanted = name.trim().toLowerCase()
  const found = Object.values(languages).find((one) => one.name === wanted || one.aliases.includes(wanted))
  if (found) return found
  const names = Object.keys(languages)
  throw new MyriadError(
    'usage',
    `no sandbox for programs in "${name}".${suggestion(wanted, names)} There are: ${names.join(', ')}`,
  )
}
