/** Syllables of scripts whose consonants carry a vowel unless a sign says otherwise. */

const independentVowel =
  /[\u0904-\u0914\u0960\u0961\u0985-\u0994\u0a05-\u0a14\u0a85-\u0a94\u0b05-\u0b14\u0b85-\u0b94\u0c05-\u0c14\u0c85-\u0c94\u0d05-\u0d14\u0d85-\u0d96]/u
const virama = /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]/u
/** Letters that close a syllable: Malayalam chillus, Bengali khanda ta. */
const closing = /[\u0d54-\u0d56\u0d7a-\u0d7f\u09ce]/u

/** Where the vowel that no sign writes is dropped: at the end of a word, or inside it too. */
const dropsVowel: Readonly<Record<string, 'final' | 'both'>> = {
  hi: 'both',
  gu: 'both',
  pa: 'both',
  mai: 'both',
  bho: 'both',
  mr: 'both',
  ne: 'final',
  bn: 'final',
  as: 'final',
}

interface Akshara {
  /** A vowel is written: independent, or by a sign. */
  written: boolean
  /** More than one consonant. */
  conjunct: boolean
  spoken: boolean
}

/** Syllables of a word in an Indian script, by aksharas. Inherent vowels are dropped as in the language (Ohala 1983 for Hindi). */
export function indicSyllables(word: string, language: string): number {
  const letters = Array.from(word.normalize('NFD').replace(/[\u093c\u09bc\u0a3c\u0abc\u0b3c\p{Join_Control}]/gu, ''))
  const aksharas: Akshara[] = []
  let joined = false
  for (const letter of letters) {
    const last = aksharas.at(-1)
    if (closing.test(letter)) joined = false
    else if (virama.test(letter)) {
      if (last) last.spoken = false
      joined = true
    } else if (independentVowel.test(letter)) {
      // Bengali writes the second half of a diphthong as a vowel of its own: খাই.
      if (last?.written && (language === 'bn' || language === 'as') && /[\u0987\u0989\u0993]/u.test(letter)) continue
      aksharas.push({ written: true, conjunct: false, spoken: true })
      joined = false
    } else if (/\p{L}/u.test(letter)) {
      if (joined && last && !last.spoken) Object.assign(last, { spoken: true, conjunct: true, written: false })
      else aksharas.push({ written: false, conjunct: false, spoken: true })
      joined = false
    } else if (/\p{M}/u.test(letter)) {
      // Nasalization and breath are no vowels, but nothing before them is dropped.
      if (last) last.written = true
      joined = false
    }
  }
  const rule = dropsVowel[language]
  if (rule !== undefined) {
    const last = aksharas.at(-1)
    if (last && aksharas.length > 1 && last.spoken && !last.written && !(last.conjunct && language === 'ne'))
      last.spoken = false
    if (rule === 'both')
      for (let i = aksharas.length - 2; i > 0; i--) {
        const [before, here, after] = [aksharas[i - 1], aksharas[i], aksharas[i + 1]]
        if (!here.written && !here.conjunct && before.spoken && after.spoken && !after.conjunct && here.spoken)
          here.spoken = false
      }
  }
  return Math.max(1, aksharas.filter(({ spoken }) => spoken).length)
}

/** Burmese: every consonant that is neither killed nor stacked begins a syllable. */
export function burmeseSyllables(word: string): number {
  const syllables =
    word.match(/(?<!(?<!\u103a)\u1039)[\u1000-\u102a\u103f\u104e](?![\u103b-\u103e]?\u103a|\u1037?\u103a|\u1039)/gu)
      ?.length ?? 0
  return Math.max(1, syllables)
}

/** Khmer: consonants under others and bare ones behind a syllable begin none. */
export function khmerSyllables(word: string): number {
  const clusters = word.match(/[\u1780-\u17b3](?:\u17d2[\u1780-\u17a2])*[\u17b6-\u17d1\u17dd]*/gu) ?? []
  let syllables = 0
  let open = false
  for (const cluster of clusters) {
    const vowel = Array.from(cluster, (sign) => sign.codePointAt(0) as number).some(
      (code) => (code >= 0x17a3 && code <= 0x17b3) || (code >= 0x17b6 && code <= 0x17c8),
    )
    if (!vowel && open) open = false
    else {
      syllables++
      open = true
    }
  }
  return Math.max(1, syllables)
}

/** Thai and Lao: written vowels, those of several signs once; consonants without any make syllables in pairs. */
export function thaiSyllables(word: string): number {
  // Lao is laid out as Thai is, 0x80 further on.
  const thai = Array.from(word, (letter) => {
    const code = letter.codePointAt(0) as number
    return code >= 0x0e80 && code <= 0x0eff ? String.fromCodePoint(code - 0x80) : letter
  }).join('')
  const bare = thai.replace(/.\u0e4c/gu, '').replace(/[\u0e47-\u0e4e\u0e3a]/gu, '')
  const consonant = '[\\u0e01-\\u0e2e]'
  const nuclei = new RegExp(
    `\\u0e40${consonant}{1,2}(?:\\u0e35\\u0e22\\u0e30?|\\u0e37\\u0e2d\\u0e30?|\\u0e32\\u0e30?|\\u0e34|\\u0e2d\\u0e30?|\\u0e22|\\u0e30)` +
      `|[\\u0e40-\\u0e42]${consonant}{1,2}\\u0e30|[\\u0e40-\\u0e44]${consonant}` +
      `|${consonant}\\u0e31\\u0e27\\u0e30?|${consonant}(?:\\u0e23\\u0e23)|${consonant}\\u0e2d(?![\\u0e30-\\u0e39])|${consonant}[\\u0e30-\\u0e39]|[\\u0e30-\\u0e39]`,
    'gu',
  )
  let syllables = 0
  let open = false
  const rest = bare.replace(nuclei, (found) => {
    syllables++
    return found.length > 0 ? '|' : ''
  })
  // What stands behind a vowel closes it; of what is left, two consonants make a syllable.
  for (const run of rest.split(/(\|)/u)) {
    if (run === '|') {
      open = true
      continue
    }
    const consonants = run.match(/[\u0e01-\u0e2e]/gu)?.length ?? 0
    syllables += Math.floor((consonants - (open && consonants > 0 ? 1 : 0)) / 2)
    if (!open && consonants % 2 === 1) syllables++
    open = false
  }
  return Math.max(1, syllables)
}

/** Ethiopic: one a letter; the sixth order is without its vowel at the end of a word and behind a vowel. */
export function ethiopicSyllables(word: string): number {
  const letters = Array.from(word).filter((letter) => /\p{L}/u.test(letter))
  let syllables = 0
  let voiced = false
  letters.forEach((letter, i) => {
    const sixth = ((letter.codePointAt(0) as number) & 7) === 5
    voiced = !sixth || (!voiced && i < letters.length - 1) || i === 0
    if (voiced) syllables++
  })
  return Math.max(1, syllables)
}
