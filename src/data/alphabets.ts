import type { ByLanguage } from './languages.js'

/**
 * Letters of each language in the order its speakers recite, each one code point. A part of each alphabet, so that a small
 * model can know the order by heart; letters that set the language apart (ñ; ẹ ọ ṣ) are in.
 */
export const alphabets: ByLanguage<readonly string[]> = {
  en: [...'abcdefghijkl'],
  es: [...'abcdefgmnñop'],
  sw: [...'abdfghjklmnp'],
  yo: [...'abdeẹfgioọsṣ'],
  ru: [...'абвгдежзиклм'],
  ar: [...'ابتثجحخدرسشص'],
  hi: [...'कखगघचछजझटठडढ'],
  ja: [...'あいうえおかきくけこさし'],
}
