import { languages, type ByLanguage, type Language } from './languages.js'

/** Everyday things, one word in each language: keys of the dictionaries that the look-up task makes up. */
const table: ByLanguage<string> = {
  en: 'sun moon star water fire tree stone river sea rain house door road book bread milk fish bird dog cat horse cow hand foot eye ear head heart salt gold',
  es: 'sol luna estrella agua fuego árbol piedra río mar lluvia casa puerta camino libro pan leche pez pájaro perro gato caballo vaca mano pie ojo oreja cabeza corazón sal oro',
  sw: 'jua mwezi nyota maji moto mti jiwe mto bahari mvua nyumba mlango barabara kitabu mkate maziwa samaki ndege mbwa paka farasi ng’ombe mkono mguu jicho sikio kichwa moyo chumvi dhahabu',
  yo: 'oòrùn òṣùpá ìràwọ̀ omi iná igi òkúta odò òkun òjò ilé ilẹ̀kùn ọ̀nà ìwé búrẹ́dì wàrà ẹja ẹyẹ ajá ológbò ẹṣin màlúù ọwọ́ ẹsẹ̀ ojú etí orí ọkàn iyọ̀ wúrà',
  ru: 'солнце луна звезда вода огонь дерево камень река море дождь дом дверь дорога книга хлеб молоко рыба птица собака кошка лошадь корова рука нога глаз ухо голова сердце соль золото',
  ar: 'شمس قمر نجم ماء نار شجرة حجر نهر بحر مطر بيت باب طريق كتاب خبز حليب سمك طائر كلب قط حصان بقرة يد قدم عين أذن رأس قلب ملح ذهب',
  hi: 'सूरज चाँद तारा पानी आग पेड़ पत्थर नदी समुद्र बारिश घर दरवाज़ा सड़क किताब रोटी दूध मछली चिड़िया कुत्ता बिल्ली घोड़ा गाय हाथ पैर आँख कान सिर दिल नमक सोना',
  ja: '太陽 月 星 水 火 木 石 川 海 雨 家 扉 道 本 パン 牛乳 魚 鳥 犬 猫 馬 牛 手 足 目 耳 頭 心 塩 金',
}

/** How many things there are; thing i is the same in every language. */
export const nounCount = 30

/** The thirty words of a language. */
export function nouns(language: Language): readonly string[] {
  return table[language].normalize('NFC').split(' ')
}

/** Languages that have the words: all. */
export const nounLanguages: readonly Language[] = languages
