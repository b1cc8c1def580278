/** Arabic and Hebrew letters, where short vowels are seldom written. */

const arabicMarks = /[\u064b-\u0650\u0670]/gu
const hebrewMarks = /[\u05b1-\u05bb\u05c7]/gu

/**
 * Syllables of a word in Arabic script. Where vowels are written, their number; else every long vowel makes one with the
 * consonant before it, a run of other consonants makes one for every two, and the article is one.
 */
export function arabicSyllables(word: string, language: string): number {
  const marked = word.match(arabicMarks)?.length ?? 0
  const letters = word.replace(/\p{M}/gu, '').replace(/\u0640/g, '')
  const consonants = letters.match(/[^اويىآة]/gu)?.length ?? 0
  if (marked > 0 && marked * 2 >= consonants) return marked + (letters.match(/آ/gu)?.length ?? 0)
  const article = language === 'ar' && /^(?:و|ف|ب|ك)?ال.{2}/u.test(letters)
  const stem = article ? letters.replace(/^(?:و|ف|ب|ك)?ال/u, '') : letters
  const prefix = article ? letters.length - stem.length - 1 : 0
  return Math.max(1, prefix + unwritten(stem, language === 'ar' ? /^[اويىآة]$/u : /^[اویيىآہھۀےو]$/u))
}

/** Syllables of a word in Hebrew letters, as in Arabic; Yiddish writes its vowels. */
export function hebrewSyllables(word: string, language: string): number {
  if (language === 'yi')
    return Math.max(1, word.normalize('NFC').match(/(?:[אעוײי][\u05b7\u05b8\u05b4]?|ױ|ײ)+/gu)?.length ?? 0)
  const marked = word.match(hebrewMarks)?.length ?? 0
  const letters = word.replace(/\p{M}/gu, '')
  if (marked > 0 && marked * 2 >= letters.length) return marked
  return Math.max(1, unwritten(letters.replace(/(?<=..)ה$/u, 'י'), /^[וי]$/u))
}

function unwritten(word: string, long: RegExp): number {
  const letters = Array.from(word)
  let syllables = 0
  let run = 0
  letters.forEach((letter, i) => {
    // A long vowel needs a consonant before it; at the beginning, and behind another, the letter is one itself.
    if (long.test(letter) && i > 0 && run > 0) {
      syllables += Math.ceil((run - 1) / 2) + 1
      run = 0
    } else run++
    if (i === letters.length - 1 && run > 0)
      syllables += syllables > 0 ? Math.floor(run / 2) : Math.max(1, Math.ceil(run / 2))
  })
  return syllables
}
