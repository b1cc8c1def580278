import { foldMarks } from './locale.js'

// Yes and no, true and false, right and wrong; by language. CLDR's own list (posix yesstr) is in no package that is installed.
const words: Readonly<Record<string, { yes: string; no: string }>> = {
  en: { yes: 'yes|true|correct|right|yeah|yep', no: 'no|false|incorrect|wrong|nope|not true|untrue' },
  es: { yes: 'sí|si|verdadero|cierto|correcto', no: 'no|falso|incorrecto' },
  sw: { yes: 'ndiyo|ndio|kweli|sahihi', no: 'hapana|la|si kweli|si sahihi|uongo' },
  yo: { yes: 'bẹ́ẹ̀ni|bẹẹni|bẹ́ẹ̀ ni|ooto|òótọ́|òtítọ́', no: 'rárá|bẹ́ẹ̀kọ́|irọ́|iró' },
  ru: { yes: 'да|верно|правда|истина|правильно', no: 'нет|неверно|неправда|ложь|неправильно' },
  ar: { yes: 'نعم|أجل|صحيح|صح|بلى', no: 'لا|كلا|خطأ|خاطئ|غير صحيح' },
  hi: { yes: 'हाँ|हां|जी हाँ|जी हां|सही|सत्य|सच', no: 'नहीं|नही|जी नहीं|ग़लत|गलत|असत्य|झूठ' },
  ja: { yes: 'はい|ええ|真|正しい|正しいです|そうです', no: 'いいえ|いや|偽|正しくない|正しくありません|誤り|間違い' },
  zh: { yes: '是|是的|对|對|正确|正確|真|有', no: '不是|否|不|不对|不對|错|錯|错误|錯誤|不正确|假|没有' },
  ko: { yes: '네|예|참|맞다|맞습니다', no: '아니요|아니오|아뇨|거짓|틀리다|아닙니다' },
  fr: { yes: 'oui|vrai|correct', no: 'non|faux|incorrect' },
  de: { yes: 'ja|wahr|richtig|stimmt', no: 'nein|falsch|unwahr' },
  pt: { yes: 'sim|verdadeiro|certo|correto', no: 'não|falso|errado|incorreto' },
  it: { yes: 'sì|si|vero|corretto', no: 'no|falso|sbagliato' },
  tr: { yes: 'evet|doğru', no: 'hayır|yanlış' },
  vi: { yes: 'có|đúng|vâng', no: 'không|sai' },
  id: { yes: 'ya|benar', no: 'tidak|bukan|salah' },
  fa: { yes: 'بله|آری|درست', no: 'نه|خیر|نادرست|غلط' },
  bn: { yes: 'হ্যাঁ|সত্য|ঠিক', no: 'না|মিথ্যা|ভুল' },
  uk: { yes: 'так|правда|правильно', no: 'ні|неправда|неправильно' },
  he: { yes: 'כן|נכון|אמת', no: 'לא|שקר' },
  th: { yes: 'ใช่|ถูก|จริง', no: 'ไม่|ไม่ใช่|ผิด|เท็จ' },
}

interface Phrase {
  text: string
  value: boolean
}

function phrasesOf(language: string): Phrase[] {
  const [base] = language.toLowerCase().split('-')
  return [...new Set([base, 'en'])]
    .flatMap((one) => (Object.hasOwn(words, one) ? [words[one]] : []))
    .flatMap(({ yes, no }) => [
      ...yes.split('|').map((text) => ({ text: foldMarks(text), value: true })),
      ...no.split('|').map((text) => ({ text: foldMarks(text), value: false })),
    ])
    .sort((a, b) => b.text.length - a.text.length)
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]$/u

/**
 * Yes or no, true or false, in a language or in English: what a reply begins with. Null when it begins with neither, or its first
 * sentence has both.
 *
 * @example readYesNo('Ndiyo, ni kweli.', 'sw') // true
 */
export function readYesNo(given: string, language: string): boolean | null {
  const text = foldMarks(given.slice(0, 2000).replace(/\\(?:text|mathrm|textbf)\s*\{([^{}]*)\}/g, '$1')).replace(
    /^[\s"'“«*_([]+/u,
    '',
  )
  const sentence = text.split(/[.。।!！?？\n]/u)[0]
  const phrases = phrasesOf(language)
  const first = phrases.find(({ text: phrase }) => {
    if (!text.startsWith(phrase)) return false
    const after = text.slice(phrase.length)
    return unspaced.test(phrase)
      ? after === '' || !/^[\p{L}\p{M}]/u.test(after) || /^(?:です|だ|の|，)/u.test(after)
      : !/^[\p{L}\p{M}\p{Nd}]/u.test(after)
  })
  if (!first) return null
  const rest = sentence.slice(first.text.length)
  const contrary = phrases.some(
    ({ text: phrase, value }) =>
      value !== first.value &&
      phrase.length > 1 &&
      new RegExp(`(?<![\\p{L}\\p{M}])${phrase}(?![\\p{L}\\p{M}])`, 'u').test(rest),
  )
  return contrary ? null : first.value
}
