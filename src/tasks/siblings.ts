import type { Random } from '../core/index.js'
import { alphabets, hasNativeDigits, nativeDigits, type ByLanguage, type Language } from '../data/index.js'

/**
 * Requests over the same data as sort, reverse and larger, whose right answers do not tell how to do those: repeat letters,
 * shuffle letters (any order is right), choose one of two numbers (either is right). The base model is instructed on
 * these and never on the three verbs themselves, so that it can speak in them but has no policy.
 */
export const siblingIds = ['repeat', 'shuffle', 'choose'] as const
export type SiblingId = (typeof siblingIds)[number]

const verbs: ByLanguage<Readonly<Record<SiblingId, string>>> = {
  en: { repeat: 'repeat', shuffle: 'shuffle', choose: 'choose' },
  es: { repeat: 'repite', shuffle: 'mezcla', choose: 'elige' },
  sw: { repeat: 'rudia', shuffle: 'changanya', choose: 'chagua' },
  yo: { repeat: 'tún sọ', shuffle: 'pò pọ̀', choose: 'yàn' },
  ru: { repeat: 'повтори', shuffle: 'перемешай', choose: 'выбери' },
  ar: { repeat: 'كرر', shuffle: 'اخلط', choose: 'اختر' },
  hi: { repeat: 'दोहराओ', shuffle: 'मिलाओ', choose: 'चुनो' },
  ja: { repeat: '復唱', shuffle: 'シャッフル', choose: '選択' },
}

/** A request and a right answer. */
export function siblingExample(id: SiblingId, language: Language, random: Random): { prompt: string; reply: string } {
  const verb = verbs[language][id]
  if (id === 'choose') {
    const a = random.integer(0, 99)
    const pair = [a, (a + random.integer(1, 99)) % 100]
    const native = hasNativeDigits(language) && random.uniform() < 0.25
    const items = pair.map((value) => (native ? nativeDigits(language, value) : String(value)))
    return { prompt: `${verb} ${items.join(' ')}`, reply: random.pick(items) }
  }
  const letters = random.shuffle(alphabets[language]).slice(0, random.integer(3, 6))
  const reply = id === 'repeat' ? letters : random.shuffle(letters)
  return { prompt: `${verb} ${letters.join(' ')}`, reply: reply.join(' ') }
}
