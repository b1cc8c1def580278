import { readCldrCore } from './cldr.js'

/** Counts characters of a text by script. */
export type ScriptCounter = (text: string) => Map<string, number>

// Asked first, as most text is in them.
const frequent = [
  'Latn',
  'Cyrl',
  'Arab',
  'Deva',
  'Hani',
  'Hira',
  'Kana',
  'Hang',
  'Grek',
  'Hebr',
  'Thai',
  'Beng',
  'Ethi',
]

/**
 * Makes a counter of scripts (ISO 15924: `Latn`, `Deva`, `Hira`, ...). Characters that belong to no script of their own
 * (digits, punctuation, emoji, combining marks shared by scripts) are not counted.
 *
 * @example createScriptCounter()('これは本') // Map { 'Hira' => 3, 'Hani' => 1 }
 */
export function createScriptCounter(): ScriptCounter {
  const tests = scriptTests()
  const known = new Map<number, string | null>()
  const scriptOf = (character: string): string | null => {
    const code = character.codePointAt(0) as number
    let script = known.get(code)
    if (script === undefined) {
      script = tests.find(([, pattern]) => pattern.test(character))?.[0] ?? null
      known.set(code, script)
    }
    return script
  }
  return (text) => {
    const counts = new Map<string, number>()
    for (const character of text) {
      const script = scriptOf(character)
      if (script !== null) counts.set(script, (counts.get(script) ?? 0) + 1)
    }
    return counts
  }
}

/** One-off counting; `createScriptCounter` remembers what it has seen and is faster in a loop. */
export function scriptsOf(text: string): Map<string, number> {
  return createScriptCounter()(text)
}

function scriptTests(): [string, RegExp][] {
  const listed = Object.keys(readCldrCore<{ scriptMetadata: object }>('scriptMetadata.json').scriptMetadata)
  const tests: [string, RegExp][] = []
  for (const script of new Set([...frequent, ...listed])) {
    if (script === 'Zyyy' || script === 'Zinh' || script === 'Zzzz') continue
    try {
      tests.push([script, new RegExp(`\\p{Script=${script}}`, 'u')])
    } catch {
      // CLDR also lists variants (Hans, Jpan, Latf) that are no value of the Unicode property.
    }
  }
  return tests
}
