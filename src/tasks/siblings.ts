import type { Random } from '../core/index.js'
import { alphabets, hasNativeDigits, nativeDigits, type ByLanguage, type Language } from '../data/index.js'

/**
 * Requests over the same data as sort, reverse and larger, whose right answers do not tell how to do those: repeat letters,
 * shuffle letters (any order is right), choose one of two numbers (either is right). The base model is instructed on
 * these and never on the three verbs themselves, so that it can speak in them but has no policy.
 */
export const siblingIds = ['repeat', 'shuffle', 'choose'] as const
export type SiblingId = (typeof siblingIds)[number]

/**
 * The same requests in many other words, or in none: bare letters may be answered in any order, bare numbers with either.
 * From these a model learns that the data decides the form of a reply, whatever the verb, so that it answers a verb it
 * was never instructed on in letters or numbers too.
 */
export const variationIds = ['letters', 'numbers'] as const
export type VariationId = (typeof variationIds)[number]

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

/** Other words for the three requests. None of them asks to sort, reverse or compare. */
const synonyms: ByLanguage<Readonly<Record<SiblingId, readonly string[]>>> = {
  en: {
    repeat: ['say', 'write', 'copy', 'read'],
    shuffle: ['mix', 'scramble', 'jumble'],
    choose: ['pick', 'select', 'either'],
  },
  es: {
    repeat: ['di', 'escribe', 'copia', 'lee'],
    shuffle: ['revuelve', 'baraja', 'desordena'],
    choose: ['escoge', 'selecciona', 'cualquiera'],
  },
  sw: {
    repeat: ['sema', 'andika', 'nakili', 'soma'],
    shuffle: ['vuruga', 'koroga', 'chafua'],
    choose: ['teua', 'bagua', 'yoyote'],
  },
  yo: { repeat: ['sọ', 'kọ', 'dàkọ', 'kà'], shuffle: ['dàrú', 'lú', 'rú'], choose: ['ṣàyàn', 'ṣà', 'èyíkéyìí'] },
  ru: {
    repeat: ['скажи', 'напиши', 'скопируй', 'прочитай'],
    shuffle: ['смешай', 'перетасуй', 'спутай'],
    choose: ['отбери', 'подбери', 'любое'],
  },
  ar: { repeat: ['قل', 'اكتب', 'انسخ', 'اقرأ'], shuffle: ['امزج', 'بعثر', 'شتت'], choose: ['انتق', 'حدد', 'أي'] },
  hi: {
    repeat: ['बोलो', 'लिखो', 'नकल करो', 'पढ़ो'],
    shuffle: ['फेंटो', 'गड्डमड्ड करो', 'बिखेरो'],
    choose: ['पसंद करो', 'एक चुनो', 'कोई भी'],
  },
  ja: {
    repeat: ['言う', '書く', '写す', '読む'],
    shuffle: ['混ぜる', 'かき混ぜる', 'ばらす'],
    choose: ['選ぶ', 'どれか', '一つ'],
  },
}

/** A request in other words, or bare data, and a right answer. */
export function variationExample(
  id: VariationId,
  language: Language,
  random: Random,
): { prompt: string; reply: string } {
  const kind = id === 'numbers' ? 'choose' : random.pick(['repeat', 'shuffle', 'shuffle'] as const)
  const { items, reply } = dataFor(kind, language, random)
  // Bare letters are answered in any order: only shuffled replies go with them.
  const bare = kind !== 'repeat' && random.uniform() < 0.3
  return { prompt: bare ? items : `${random.pick(synonyms[language][kind])} ${items}`, reply }
}

/** A request and a right answer. */
export function siblingExample(id: SiblingId, language: Language, random: Random): { prompt: string; reply: string } {
  const { items, reply } = dataFor(id, language, random)
  return { prompt: `${verbs[language][id]} ${items}`, reply }
}

function dataFor(id: SiblingId, language: Language, random: Random): { items: string; reply: string } {
  if (id === 'choose') {
    const a = random.integer(0, 99)
    const pair = [a, (a + random.integer(1, 99)) % 100]
    const native = hasNativeDigits(language) && random.uniform() < 0.25
    const items = pair.map((value) => (native ? nativeDigits(language, value) : String(value)))
    return { items: items.join(' '), reply: random.pick(items) }
  }
  const letters = random.shuffle(alphabets[language]).slice(0, random.integer(3, 6))
  const reply = id === 'repeat' ? letters : random.shuffle(letters)
  return { items: letters.join(' '), reply: reply.join(' ') }
}
