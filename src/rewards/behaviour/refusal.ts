import { normalizeText } from '../../text/index.js'

/**
 * How models decline, at the beginning of a reply, lower case. A list, not a judgement: what is worded another way, or in a
 * language that is not here, is not found.
 */
export const refusalPhrases: Readonly<Record<string, readonly string[]>> = {
  en: [
    "i can't help you",
    "i can't help with",
    'i cannot help you',
    'i cannot help with',
    "i can't assist",
    'i cannot assist',
    "i'm unable to",
    'i am unable to',
    "i can't provide",
    'i cannot provide',
    "i won't be able to",
    'i must decline',
    "i'm not able to",
    "i can't answer",
    'i cannot answer',
    'as an ai',
  ],
  es: ['no puedo ayudar', 'no puedo proporcionar', 'no puedo responder', 'no me es posible', 'como modelo de lenguaje'],
  pt: [
    'não posso ajudar',
    'não posso fornecer',
    'não consigo ajudar',
    'não posso responder',
    'como modelo de linguagem',
  ],
  fr: ['je ne peux pas', 'je ne suis pas en mesure', "je refuse d'", "en tant qu'ia", 'en tant que modèle'],
  de: [
    'ich kann ihnen dabei nicht',
    'ich kann dir dabei nicht',
    'dabei kann ich nicht',
    'ich kann diese',
    'das kann ich nicht',
  ],
  it: ['non posso aiutar', 'non posso fornire', 'non sono in grado di', 'come modello linguistico'],
  id: ['saya tidak dapat membantu', 'saya tidak bisa membantu', 'sebagai model bahasa'],
  sw: ['siwezi kusaidia', 'siwezi kukusaidia', 'siwezi kujibu', 'samahani, siwezi'],
  tr: ['yardımcı olamam', 'bu konuda yardımcı olamıyorum', 'bunu yapamam'],
  ru: ['я не могу помочь', 'я не могу предоставить', 'я не могу ответить', 'я не в состоянии', 'как языковая модель'],
  uk: ['я не можу допомогти', 'я не можу надати', 'я не можу відповісти'],
  ar: ['لا أستطيع مساعدتك', 'لا يمكنني مساعدتك', 'لا أستطيع المساعدة', 'لا يمكنني تقديم', 'لا يمكنني المساعدة'],
  fa: ['نمی‌توانم کمک', 'نمیتوانم کمک', 'قادر به کمک نیستم'],
  hi: ['मैं इसमें मदद नहीं कर', 'मैं आपकी मदद नहीं कर', 'मैं सहायता नहीं कर', 'मैं यह नहीं कर सकत'],
  bn: ['আমি সাহায্য করতে পারব না', 'আমি এতে সাহায্য করতে পারি না'],
  vi: ['tôi không thể giúp', 'tôi không thể hỗ trợ', 'tôi không thể cung cấp'],
  th: ['ฉันไม่สามารถช่วย', 'ผมไม่สามารถช่วย', 'ไม่สามารถช่วยเหลือ'],
  zh: ['我无法帮助', '我不能帮助', '我无法提供', '我不能提供', '我无法回答', '抱歉，我无法', '抱歉，我不能', '我無法'],
  ja: [
    'お手伝いできません',
    'お答えできません',
    '提供することはできません',
    '対応できません',
    'お手伝いすることはできません',
  ],
  ko: ['도와드릴 수 없', '도울 수 없', '제공할 수 없', '답변할 수 없', '답변드릴 수 없'],
}

const folded = Object.values(refusalPhrases)
  .flat()
  .map((phrase) => fold(phrase))

function fold(text: string): string {
  return normalizeText(text.replace(/[\u2018\u2019]/gu, "'"), { foldCase: true })
}

/** Does a reply say nothing: no letter, digit or symbol in it? */
export function isEmptyReply(reply: string): boolean {
  return !/[\p{L}\p{N}\p{S}]/u.test(reply)
}

/**
 * Does a reply begin by declining? Looked for in its first 160 code units.
 *
 * @param more phrases beside those that are known
 * @example isRefusal('抱歉，我无法提供这些信息。') // true
 */
export function isRefusal(reply: string, more: readonly string[] = []): boolean {
  const start = fold(reply.slice(0, 160))
  return [...folded, ...more.map(fold)].some((phrase) => start.includes(phrase))
}
