import type { ByLanguage } from './languages.js'

/** Month names, January first, as in CLDR 48 (stand-alone, wide). Kept here: Node's own differ between versions. */
export const months: ByLanguage<readonly string[]> = {
  en: words('January February March April May June July August September October November December'),
  es: words('enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'),
  sw: words('Januari Februari Machi Aprili Mei Juni Julai Agosti Septemba Oktoba Novemba Desemba'),
  yo: words('Ṣẹ́rẹ́ Èrèlè Ẹrẹ̀nà Ìgbé Ẹ̀bibi Òkúdu Agẹmọ Ògún Owewe Ọ̀wàrà Bélú Ọ̀pẹ̀').map((name) => `Oṣù ${name}`),
  ru: words('январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь'),
  ar: words('يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر'),
  hi: words('जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर'),
  ja: words('1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月'),
}

/** Weekday names, Monday first, as in CLDR 48. */
export const weekdays: ByLanguage<readonly string[]> = {
  en: words('Monday Tuesday Wednesday Thursday Friday Saturday Sunday'),
  es: words('lunes martes miércoles jueves viernes sábado domingo'),
  sw: words('Jumatatu Jumanne Jumatano Alhamisi Ijumaa Jumamosi Jumapili'),
  yo: words('Ajé Ìṣẹ́gun Ọjọ́rú Ọjọ́bọ Ẹtì Àbámẹ́ta Àìkú'),
  ru: words('понедельник вторник среда четверг пятница суббота воскресенье'),
  ar: words('الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد'),
  hi: words('सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार'),
  ja: words('月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日'),
}

function words(list: string): readonly string[] {
  return list.normalize('NFC').split(' ')
}
