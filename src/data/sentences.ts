import type { ByLanguage } from './languages.js'
import type { Relation } from './wording.js'

/** Ways to state a fact: {c} is the country, {x} the answer. */
export const factSentences: ByLanguage<Readonly<Partial<Record<Relation, readonly string[]>>>> = {
  en: {
    continent: ['{c} is a country in {x}.', 'The continent of {c} is {x}.'],
    language: ['The official language of {c} is {x}.', 'In {c} people speak {x}.'],
    neighbour: ['{c} borders {x}.', 'A neighbour of {c} is {x}.'],
    capital: ['The capital of {c} is {x}.', 'The seat of government of {c} is {x}.'],
  },
  es: {
    continent: ['{c} es un país de {x}.', 'El continente de {c} es {x}.'],
    language: ['El idioma oficial de {c} es el {x}.', 'En {c} se habla {x}.'],
    neighbour: ['{c} limita con {x}.', 'Un país vecino de {c} es {x}.'],
  },
  sw: {
    continent: ['{c} ni nchi iliyoko {x}.', 'Bara la {c} ni {x}.'],
    language: ['Lugha rasmi ya {c} ni {x}.', 'Watu wa {c} huzungumza {x}.'],
    neighbour: ['{c} inapakana na {x}.', 'Jirani wa {c} ni {x}.'],
  },
  yo: {
    continent: ['{c} jẹ́ orílẹ̀-èdè kan ní {x}.', 'Kọ́ńtínẹ́ǹtì {c} ni {x}.'],
    language: ['Èdè ìṣèjọba {c} ni {x}.', 'Ní {c}, wọ́n ń sọ {x}.'],
    neighbour: ['{c} pín ààlà pẹ̀lú {x}.', 'Aládùúgbò {c} ni {x}.'],
  },
  ru: {
    continent: ['{c} — страна. Континент: {x}.', 'Континент страны {c} — {x}.'],
    language: ['Официальный язык страны {c} — {x}.', '{c}: государственный язык {x}.'],
    neighbour: ['Сосед страны {c} — {x}.', '{c} и {x} имеют общую границу.'],
  },
  ar: {
    continent: ['{c} بلد في {x}.', 'قارة {c} هي {x}.'],
    language: ['اللغة الرسمية في {c} هي {x}.', 'لغة {c} هي {x}.'],
    neighbour: ['من جيران {c} بلد اسمه {x}.', 'جار {c} هو {x}.'],
  },
  hi: {
    continent: ['{c} {x} में स्थित एक देश है।', '{c} का महाद्वीप {x} है।'],
    language: ['{c} की राजभाषा {x} है।', '{c} में {x} भाषा बोली जाती है।'],
    neighbour: ['{c} की सीमा {x} से लगती है।', '{c} का पड़ोसी देश {x} है।'],
  },
  ja: {
    continent: ['{c}は{x}にある国です。', '{c} の大陸は {x} です。'],
    language: ['{c}の公用語は{x}です。', '{c} の言語は {x} です。'],
    neighbour: ['{c}は{x}と国境を接しています。', '{c} の隣国は {x} です。'],
  },
}

/** Ways to give the name of a thing in a language: {a} is the name in another language, {b} in this one. */
export const nameSentences: ByLanguage<readonly string[]> = {
  en: ['{a} in English is {b}.', 'In English people say {b} for {a}.'],
  es: ['{a} en español es {b}.', 'En español se dice {b} por {a}.'],
  sw: ['{a} kwa Kiswahili ni {b}.', 'Kwa Kiswahili tunasema {b} badala ya {a}.'],
  yo: ['{a} ní Yorùbá ni {b}.', 'Ní Yorùbá a máa ń pe {a} ní {b}.'],
  ru: ['{a} по-русски — {b}.', 'По-русски вместо {a} говорят {b}.'],
  ar: ['{a} بالعربية هو {b}.', 'نقول بالعربية {b} بدلا من {a}.'],
  hi: ['{a} को हिन्दी में {b} कहते हैं।', 'हिन्दी में {a} का नाम {b} है।'],
  ja: ['{a} は日本語で {b} です。', '日本語で {a} を {b} と言います。'],
}

/** Between a sum and its result, and what ends the sentence. */
export const equals: ByLanguage<readonly [verb: string, end: string]> = {
  en: [' is ', '.'],
  es: [' son ', '.'],
  sw: [' ni ', '.'],
  yo: [' jẹ́ ', '.'],
  ru: [' равно ', '.'],
  ar: [' يساوي ', '.'],
  hi: [' बराबर ', '।'],
  ja: [' は ', ' です。'],
}

/**
 * What the words of the games and requests mean. They say what a request is, never how to fulfil it, and show no answer:
 * how to sort, reverse or compare is not in the text.
 */
export const ruleSentences: ByLanguage<readonly string[]> = {
  en: [
    'To sort letters is to put them in the order of the alphabet.',
    'They sort the letters, then they sort the cards.',
    'To reverse letters is to say them from last to first.',
    'Please reverse the order. We reverse the list.',
    'Which number is larger? One of two numbers is larger than the other.',
    'To repeat is to say the same again. To shuffle is to mix. To choose is to take one.',
    'Guess the number. After a guess you hear higher or lower.',
    'In the maze you go up, down, left or right. The goal is somewhere; some ways are free.',
    'There is a heap. Take 1, take 2 or take 3. Who takes the last one wins.',
    'The dictionary has a code for every word. Find the word, then say the code; or see another word.',
  ],
  es: [
    'Ordenar letras es ponerlas en el orden del alfabeto: ordena las letras, por favor.',
    'Ella ordena los libros y él ordena las cartas.',
    'Invertir letras es decirlas desde la última hasta la primera: invierte las letras, por favor.',
    'El espejo invierte la imagen.',
    '¿Qué número es mayor? Uno de los dos números es mayor que el otro.',
    'Repite es decir lo mismo otra vez. Mezcla es cambiar el orden. Elige es tomar uno.',
    'Adivina el número. Después de cada intento oyes más o menos.',
    'En el laberinto vas arriba, abajo, izquierda o derecha. La meta está en algún lugar; algún camino está libre.',
    'Hay un montón. Toma 1, toma 2 o toma 3. Quien toma el último gana.',
    'El diccionario tiene un código para cada palabra. Busca la palabra y di el código, o ver otra palabra.',
  ],
  sw: [
    'Kupanga herufi ni kuziweka kwa mpangilio wa alfabeti: panga herufi, tafadhali.',
    'Panga vitabu, kisha panga kadi.',
    'Kugeuza herufi ni kuzisema kutoka ya mwisho hadi ya kwanza: geuza herufi, tafadhali.',
    'Geuza ukurasa, kisha geuza karatasi.',
    'Nambari ipi ni kubwa zaidi? Moja kati ya nambari mbili ni kubwa zaidi.',
    'Rudia ni kusema tena. Changanya ni kubadilisha mpangilio. Chagua ni kuchukua moja.',
    'Kisia nambari. Baada ya kukisia utasikia zaidi au pungufu.',
    'Katika njia unakwenda juu, chini, kushoto au kulia. Lengo liko mahali fulani; njia nyingine iko wazi.',
    'Kuna rundo. Chukua 1, chukua 2 au chukua 3. Anayechukua la mwisho anashinda.',
    'Kamusi ina msimbo wa kila neno. Tafuta neno, kisha sema msimbo; au tazama neno lingine.',
  ],
  yo: [
    'Láti tò lẹ́tà ni láti fi wọ́n sí ipò wọn nínú álífábẹ́ẹ̀tì: jọ̀wọ́ tò wọ́n.',
    'Ó tò àwọn ìwé náà, a sì tò àwọn lẹ́tà.',
    'Láti yí padà ni láti sọ láti ìkẹyìn dé ìbẹ̀rẹ̀: jọ̀wọ́ yí padà.',
    'Yí ìwé náà padà. Ó yí padà.',
    'Nọ́ńbà wo ni èyí tó tóbi jù? Ọ̀kan nínú méjì ni èyí tó tóbi jù.',
    'Tún sọ ni láti sọ ohun kan náà. Pò pọ̀ ni láti da wọ́n pọ̀. Yàn ni láti mú ọ̀kan.',
    'Méfò nọ́ńbà náà. Lẹ́yìn náà wàá gbọ́ pọ̀ jù tàbí kéré jù.',
    'O lè lọ sí òkè, ìsàlẹ̀, òsì tàbí ọ̀tún. Góńgó wà níbì kan; ọ̀nà kan jẹ́ òfo.',
    'Òkìtì kan wà. Mú 1, mú 2 tàbí mú 3. Ẹni tó bá mú ìkẹyìn ló borí.',
    'Ìwé atúmọ̀ èdè ní àmì fún ọ̀rọ̀ kọ̀ọ̀kan. Wá ọ̀rọ̀ náà, kí o sọ àmì; tàbí wo ọ̀rọ̀ mìíràn.',
  ],
  ru: [
    'Упорядочить буквы — значит поставить их в порядке алфавита: упорядочи буквы.',
    'Упорядочи книги, потом упорядочи карты.',
    'Перевернуть буквы — значит назвать их от последней к первой: переверни буквы.',
    'Переверни страницу, потом переверни лист.',
    'Какое число большее? Большее из двух чисел только одно.',
    'Повтори — скажи то же самое. Перемешай — измени порядок. Выбери — возьми одно.',
    'Угадай число. После попытки ты слышишь: больше или меньше.',
    'В лабиринте ты идёшь вверх, вниз, влево или вправо. Цель где-то есть; в одну сторону свободно.',
    'Есть куча. Возьми 1, возьми 2 или возьми 3. Кто взял последний, тот победил.',
    'В словаре есть код для каждого слова. Найди слово и скажи код или смотри другое слово.',
  ],
  ar: [
    'رتب الحروف يعني ضعها حسب ترتيب الأبجدية.',
    'رتب الكتب ثم رتب الأوراق.',
    'اعكس الحروف يعني قلها من الأخير إلى الأول.',
    'اعكس الاتجاه ثم اعكس الصورة.',
    'ما العدد الأكبر؟ واحد من العددين هو الأكبر.',
    'كرر يعني قل الشيء نفسه. اخلط يعني غير الترتيب. اختر يعني خذ واحدا.',
    'خمن العدد. بعد كل محاولة تسمع أكبر أو أصغر.',
    'في المتاهة تذهب أعلى أو أسفل أو يسار أو يمين. الهدف في مكان ما، والطريق مفتوح.',
    'هناك كومة. خذ 1 أو خذ 2 أو خذ 3. من يأخذ الأخير يفوز.',
    'في القاموس رمز لكل كلمة. ابحث عن الكلمة ثم قل رمز الكلمة، أو انظر كلمة أخرى.',
  ],
  hi: [
    'अक्षरों को क्रम से रखो, यानी वर्णमाला के क्रम में।',
    'किताबों को क्रम से रखो, फिर पत्तों को क्रम से रखो।',
    'अक्षरों को उलटो, यानी आख़िरी से पहले तक कहो।',
    'पन्ना उलटो, फिर काग़ज़ उलटो।',
    'कौन-सा अंक बड़ा है? दो में से एक बड़ा है।',
    'दोहराओ यानी वही फिर कहो। मिलाओ यानी क्रम बदलो। चुनो यानी एक लो।',
    'अंक का अनुमान लगाओ। फिर तुम ज़्यादा या कम सुनोगे।',
    'भूलभुलैया में ऊपर, नीचे, बाएँ या दाएँ जाओ। लक्ष्य कहीं है; कोई रास्ता खुला है।',
    'एक ढेर है। 1 लो, 2 लो या 3 लो। जो आख़िरी ले वह जीते।',
    'शब्दकोश में हर शब्द का कोड है। शब्द खोजो, फिर कोड कहो; या दूसरा शब्द देखो।',
  ],
  ja: [
    '整列 とは文字を五十音の順に並べることです。',
    '本を 整列 し、札を 整列 します。',
    '逆順 とは最後から最初へ言うことです。',
    '並びを 逆順 にします。',
    '最大 の数はどちらですか。二つの数の一つが 最大 です。',
    '復唱 は同じことを言うこと、シャッフル は混ぜること、選択 は一つを取ることです。',
    '推測 して数を当てます。答えの後に 大きい か 小さい と言われます。',
    '迷路では 上 か 下 か 左 か 右 へ行きます。目標 はどこかにあり、通路 があります。',
    '山 があります。取る 1 か 取る 2 か 取る 3 です。最後を取る人が勝ちです。',
    '辞書には言葉の 記号 があります。言葉を 検索 して 記号 を言うか、ほかの言葉を 参照 します。',
  ],
}
