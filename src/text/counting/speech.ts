import { MyriadError, messageOf } from '../../core/index.js'

/** The package that knows how languages are spoken, for those whom its licence suits. */
export const speechPackage = { name: '@echogarden/espeak-ng-emscripten', version: '0.3.5', licence: 'GPL-3.0' } as const

interface Espeak {
  set_voice(voice: string): void
  synthesize_ipa(text: string): { ipa: string } | string
}

/**
 * Loads espeak-ng and answers a function that counts the syllables of a text as that speaks it, in some 120 languages. It
 * reads numbers and abbreviations out. Not for Japanese with kanji, Thai and Yoruba, which it cannot read.
 *
 * The package is under the GPL-3.0 and is not installed with Myriad: npm install @echogarden/espeak-ng-emscripten@0.3.5
 *
 * @throws MyriadError 'usage' when it is not installed
 * @example const count = await loadSpeechSyllables(); count('Good morning', 'en') // 3
 */
export async function loadSpeechSyllables(
  load: () => Promise<unknown> = () => import(speechPackage.name as string),
): Promise<(text: string, voice: string) => number> {
  const { name, version, licence } = speechPackage
  let espeak: Espeak
  try {
    const { default: start } = (await load()) as { default: () => Promise<{ eSpeakNGWorker: new () => Espeak }> }
    espeak = new (await start()).eSpeakNGWorker()
  } catch (error) {
    throw new MyriadError(
      'usage',
      `syllables by espeak-ng need the package ${name} (${licence}, not part of Myriad): npm install ${name}@${version}; ${messageOf(error)}`,
      { cause: error },
    )
  }
  return (text, voice) => {
    espeak.set_voice(voice)
    const spoken = espeak.synthesize_ipa(text)
    return syllablesOfIpa(typeof spoken === 'string' ? spoken : spoken.ipa)
  }
}

/** Syllables of a phonetic transcription: stretches of vowels between consonants and stresses, and syllabic consonants. */
export function syllablesOfIpa(ipa: string): number {
  const vowels = /[aeiouyæøœɐɑɒɔəɘɚɛɜɝɞɤɨɪɯɵɶʉʊʌʏ\u1d7b](?:ː|ˑ|\u0303|\u032f)*/gu
  const nuclei = ipa.normalize('NFD').match(new RegExp(`(?:${vowels.source})+`, 'gu'))?.length ?? 0
  return nuclei + (ipa.normalize('NFD').match(/\u0329/gu)?.length ?? 0)
}
