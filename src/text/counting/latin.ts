/** How vowel letters of a language make syllables. */
interface VowelRules {
  /** Letters that are vowels besides the usual ones of the script. */
  vowels?: string
  /** Vowel letters of the script that are none here. */
  consonants?: string
  /** Neighbours that are one syllable; other neighbours are two. Left out: any neighbours are one. */
  together?: readonly string[]
  /** A sonorant between consonants (or at the end, after one) is a syllable. */
  syllabic?: RegExp
  /** Changes the word before its vowels are looked at. */
  prepare?: (word: string) => string
}

const split = (text: string): string[] => text.split(' ')
const eachVowel: VowelRules = { together: [] }
const slavicLatin: VowelRules = { together: [], syllabic: /(?<![aeiouáéíóúůýě])r(?![aeiouáéíóúůýě])/g }
const bantu: VowelRules = { together: [], syllabic: /^m(?=[^aeiouwy])|^n(?=ch[aeiou]i?$|ne$|[^aeiouwyzdgjvtkpsc])/g }
// A weak vowel beside another is no syllable of its own, unless it has the accent.
const spanish = split('ai ei oi ui au eu ou iu ia ie io ua ue uo ái éi ói áu éu óu iá ié ió uá ué uó üe üi üé üí uí')

/** By language; those not here have any neighbouring vowels for one syllable. */
export const vowelRules: Readonly<Record<string, VowelRules>> = {
  en: { prepare: prepareEnglish, syllabic: /(?<=[^aeiouylrw])l(?=[sd]$)/g },
  es: {
    together: spanish,
    prepare: (word) =>
      word
        .replace(/(?<=[qg])u(?=[eiéí])/g, '')
        .replace(/y$/, 'i')
        .replace(/y(?=[^aeiou])/g, 'i'),
    consonants: 'y',
  },
  gl: { together: spanish, prepare: (word) => word.replace(/(?<=[qg])u(?=[eiéí])/g, '') },
  ca: {
    together: split('ai ei oi ui au eu ou iu ua ue uo ài éi èi òi àu èu éu òu üe üi'),
    prepare: (word) => word.replace(/(?<=[qg])u(?=[eiéèí])/g, ''),
    consonants: 'y',
  },
  pt: {
    together: split('ai ei oi ui au eu ou iu ão ãe õe ái éi ói áu éu éi êi ôu úi ua uá uã ia io ie'),
    prepare: (word) => word.replace(/(?<=[qg])u(?=[eiéíê])/g, ''),
  },
  it: {
    together: split('ai ei oi ui au eu ia ie io iu ua ue uo iè iò ià uò uè uà iù èi òi'),
    prepare: (word) => word.replace(/(?<=q)u/g, '').replace(/(?<=[cg]|sc)i(?=[aoueàòùè])/g, ''),
  },
  ro: {
    together: split('ai ei oi ui au eu ou ea oa ia ie io iu ua uă ue îi âi ii ău'),
    prepare: (word) => word.replace(/(?<=[^aeiouăâîlr])i$/, ''),
  },
  fr: { prepare: prepareFrench },
  de: {
    together: split('ei ai au eu äu ie aa ee oo ey ay'),
    prepare: (word) =>
      word
        .replace(/qu/g, 'q')
        .replace(/e(?=um)/g, 'eh')
        .replace(/(?<=[st])ion/g, 'jon')
        .replace(/y(?=[aeou])/g, 'j'),
  },
  lb: { together: split('ei ai au eu äu ie aa ee oo éi ou ue ä') },
  nl: {
    together: split('aa ee oo uu ie oe eu ui ij ei ou au aai ooi oei eeu ieu auw ouw'),
    prepare: (word) => word.replace(/ij/g, 'ei').replace(/qu/g, 'q'),
  },
  af: { together: split('aa ee oo uu ie oe eu ui y ei ou au aai ooi oei eeu ieu') },
  sv: { together: split('au eu'), prepare: (word) => word.replace(/(?<=[st])ion/g, 'jon') },
  da: { together: split('au eu'), prepare: (word) => word.replace(/(?<=[st])ion/g, 'jon') },
  no: { together: split('ei au øy ai oi') },
  is: { together: split('au ei ey') },
  fi: { together: split('ai ei oi ui yi äi öi au eu iu ou ey iy äy öy ie uo yö aa ee ii oo uu yy ää öö') },
  et: {
    together: split('ai ei oi ui õi äi öi üi au eu iu ou õu äu öu aa ee ii oo uu õõ ää öö üü ae äe õe ea oe oa öe'),
  },
  hu: eachVowel,
  tr: eachVowel,
  az: eachVowel,
  uz: eachVowel,
  tk: eachVowel,
  sw: bantu,
  zu: { together: [], syllabic: /m(?=[^aeiouwyhb])/g },
  xh: { together: [], syllabic: /m(?=[^aeiouwyhb])/g },
  sn: eachVowel,
  ny: { together: [], syllabic: /^m(?=[^aeiouwybp])/g },
  rw: eachVowel,
  lg: { together: split('aa ee ii oo uu') },
  st: eachVowel,
  yo: { together: [], syllabic: /^[ńǹm](?=[^aeiouẹọ])|(?<=^|[aeiouẹọ])[ńǹ](?=[^aeiouẹọ])/g },
  ig: { together: [], vowels: 'ịọụ', syllabic: /[mn](?=[bdfgkptcsz])(?!gw|w|y)/g },
  ha: { together: split('ai au') },
  so: { together: split('aa ee ii oo uu ay ey oy ai ei oi au ou') },
  mg: { together: split('ai ao oa ei'), prepare: (word) => word.replace(/y/g, 'i') },
  id: { together: split('ai au oi ei'), prepare: splitMalay },
  ms: { together: split('ai au oi ei'), prepare: splitMalay },
  jv: eachVowel,
  su: { together: split('eu') },
  fil: eachVowel,
  haw: { together: split('ai ae ao au ei eu oi ou iu'), prepare: (word) => word.replace(/ʻ|'/g, 'h') },
  mi: { together: split('ai ae ao au ei eu oi ou oe') },
  sm: eachVowel,
  eo: { together: split('aŭ eŭ'), consonants: 'ŭ' },
  pl: { together: split('au eu'), prepare: (word) => word.replace(/i(?=[aeouóąę])/g, '') },
  cs: { together: split('ou au eu'), syllabic: /(?<=[^aeiouyáéíóúůýěrl])[rl](?![aeiouyáéíóúůýěrl])/g },
  sk: { together: split('ia ie iu au ou'), syllabic: /(?<=[^aeiouyáéíóúôýärl])[rlŕĺ](?![aeiouyáéíóúôýärl])/g },
  sl: slavicLatin,
  hr: slavicLatin,
  bs: slavicLatin,
  sr: { together: [], syllabic: /(?<![aeiouаеиоу])[rр](?![aeiouаеиоу])/g },
  mk: { together: [], syllabic: /(?<![аеиоу])р(?![аеиоу])/g },
  lt: { together: split('ai au ei ie ui uo ia io iu ią ių'), vowels: 'ąęėįųū' },
  lv: { together: split('ai au ei ie ui iu oi o') },
  sq: { together: [], vowels: 'ë' },
  mt: { together: split('ie') },
  eu: { together: split('ai ei oi ui au eu') },
  cy: {
    vowels: 'wŵŷ',
    together: split('ae ai au aw ei eu ew iw oe oi ou ow wy yw uw'),
    prepare: (word) =>
      word
        .replace(/^gw(?=[aeoynrl])/, 'g')
        .replace(/i(?=[aeouwy])/g, 'j')
        .replace(/w(?=[aeiou])/g, 'v'),
  },
  // Every word between spaces is one.
  vi: { prepare: () => 'a' },
  ru: eachVowel,
  uk: eachVowel,
  be: eachVowel,
  bg: eachVowel,
  kk: eachVowel,
  tg: eachVowel,
  ky: { together: split('аа оо уу ээ өө үү') },
  tt: eachVowel,
  mn: { together: split('аа оо уу ээ өө үү ий ай ой уй эй үй яа ёо юу юү еэ еө иа ио иу уа үэ') },
  el: {
    together: split('ου ού αι αί ει εί οι οί υι υί αυ αύ ευ εύ ηυ ια ιά ιο ιό ιου ιού ιε ιέ αϊ άι όι άη'),
  },
}

const usualVowels =
  'aeiouyàáâãäåāăąǎạảấầẩẫậắằẳẵặæèéêëēĕėęěẹẻẽếềểễệìíîïīĭįıịỉĩòóôõöøōŏőơọỏốồổỗộớờởỡợœùúûüūŭůűųưụủũứừửữựýỳỷỹỵÿəɛɔɩʊẹọ' +
  'аеёиоуыэюяіїєӣӯәөүұ' +
  'αεηιουωάέήίόύώϊϋΐΰ'

/** Syllables of a lower-case word in Latin, Cyrillic or Greek letters; at least 1. */
export function vowelSyllables(given: string, language: string): number {
  const rules = vowelRules[language] ?? {}
  const word = (rules.prepare?.(given) ?? given).normalize('NFC')
  // A letter with further marks (tones) is the letter.
  const letters = Array.from(
    word
      .normalize('NFD')
      .replace(/[\u0300\u0301\u0304\u030c](?=.?)/g, keepTone(word))
      .normalize('NFC'),
  )
  const isVowel = (letter: string): boolean =>
    (usualVowels.includes(letter) || (rules.vowels?.includes(letter) ?? false)) &&
    !(rules.consonants?.includes(letter) ?? false)
  let syllables = 0
  let nucleus = ''
  for (let i = 0; i < letters.length; i++) {
    const letter = letters[i]
    // A y before a vowel is a consonant, except in languages that write a vowel so.
    const consonantal = letter === 'y' && i + 1 < letters.length && isVowel(letters[i + 1]) && letters[i + 1] !== 'y'
    if (!isVowel(letter) || consonantal) {
      nucleus = ''
      continue
    }
    const joined = nucleus + letter
    if (nucleus !== '' && (rules.together === undefined || rules.together.includes(joined))) nucleus = joined
    else {
      syllables++
      nucleus = letter
    }
  }
  if (rules.syllabic) syllables += word.match(rules.syllabic)?.length ?? 0
  return Math.max(1, syllables)
}

/** Tone marks go where they are tones: on letters that have no letter of their own with them. */
function keepTone(word: string): (mark: string) => string {
  const tonal = /[ẹọṣń]|\u0329/u.test(word)
  return (mark) => (tonal ? '' : mark)
}

function splitMalay(word: string): string {
  // Diphthongs are at the end of a word (pulau, pantai); elsewhere the vowels are apart (air, laut, baik).
  return word.replace(/([ao])([iu])(?=.)/g, '$1h$2')
}

function prepareFrench(word: string): string {
  return word
    .replace(/(?<=[qg])u(?=[eiéèêî])/g, '')
    .replace(/(?<=[aeiouéèêâîôû].*)(?:es|e)$/, '')
    .replace(/(?<=[aeiouéèêâîôû].*[^aeiouéèêâîôûm])ent$/, '')
    .replace(/é(?=[aoiueâô])/g, 'éh')
    .replace(/ï/g, 'hi')
    .replace(/ë/g, 'he')
}

function prepareEnglish(word: string): string {
  return word
    .replace(/['’]s?$/, '')
    .replace(/^(?:mc|mac)(?=[^aeiou])/, 'mack')
    .replace(/(?<=[aeiouy].*[^aeiouy])e(?:ly|ment|ful|less|ness|some|where)(s?)$/, (tail) => tail.slice(1))
    .replace(/(?<=[aeiouy].*[^td])ed$/, 'd')
    .replace(/(?<=[aeiouy].*[^aeiouyszxcg](?<!ch|sh))es$/, 's')
    .replace(/(?<=[aeiouy].*[^aeiouyl]|[aeiouy]l|[aeiou].*ll)e$/, '')
    .replace(/(?<=[ct])ia(?=[ln])|(?<=[cst])io(?=n|us)|(?<=g)io(?=n|us)|(?<=[tc])iou/g, 'o')
    .replace(/i(?=a(?!r?ge|ge)|o(?!n?$)|u[ms])/g, 'ih')
    .replace(/(?<=[^aeiouq])u(?=[ao])/g, 'uh')
    .replace(/e(?=o(?!us|u|p|n)|i(?:ng|ty)|um)/g, 'eh')
    .replace(/y(?=ing)/g, 'yh')
    .replace(/(?<=[oe])(?=ing)/g, 'h')
    .replace(/sm$/, 'sam')
    .replace(/thm/g, 'tham')
}
