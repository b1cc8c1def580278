import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transcriptOf, type Sample } from '../sample.js'
import { makeTranscript } from '../transcript.test.helper.js'
import type { RewardValue, Transcript } from '../types.js'
import {
  behaviourRewards,
  checkTags,
  compressionRatio,
  countLetters,
  countWords,
  endLoop,
  fallingCost,
  isEmptyReply,
  isRefusal,
  longestRepeat,
  matchesGrammar,
  parseGrammar,
  rangeValue,
  refusalPhrases,
  repeatedNgrams,
  repetition,
  scoreToolCalls,
  toolCallsIn,
} from './index.js'

async function scored(name: string, given: Sample | Transcript, options: object = {}): Promise<RewardValue> {
  const declared = behaviourRewards.find((one) => one.name === name)!
  const transcript = 'outcome' in given && 'problem' in given ? (given as Transcript) : transcriptOf(given as Sample)
  return declared.make(declared.options.parse(options)).score(transcript)
}

const prose: Record<string, string> = {
  en: 'The harbour was quiet when the first boats came in. Fishermen shouted greetings across the water, children ran along the pier, and an old woman sold oranges from a wooden cart. Nobody noticed the stranger who had been standing by the lighthouse since dawn, counting the ships and writing names into a small black book.',
  hi: 'जब पहली नावें आईं तब बंदरगाह शांत था। मछुआरे पानी के पार एक दूसरे को पुकार रहे थे, बच्चे घाट पर दौड़ रहे थे और एक बूढ़ी औरत लकड़ी की गाड़ी से संतरे बेच रही थी। किसी ने उस अजनबी पर ध्यान नहीं दिया जो सुबह से प्रकाशस्तंभ के पास खड़ा जहाज़ गिन रहा था और एक छोटी काली किताब में नाम लिख रहा था।',
  ja: '最初の船が入ってきたとき、港は静かだった。漁師たちは水面越しに挨拶を叫び、子供たちは桟橋を走り、老婆は木の荷車でオレンジを売っていた。夜明けから灯台のそばに立ち、船を数え、小さな黒い手帳に名前を書き込んでいる見知らぬ男に気づく者は誰もいなかった。',
  ar: 'كان الميناء هادئا عندما وصلت القوارب الأولى. تبادل الصيادون التحيات عبر الماء، وركض الأطفال على الرصيف، وباعت امرأة عجوز البرتقال من عربة خشبية. لم يلاحظ أحد الغريب الذي كان يقف بجانب المنارة منذ الفجر، يعد السفن ويكتب الأسماء في كتاب أسود صغير.',
  th: 'ท่าเรือเงียบสงบเมื่อเรือลำแรกเข้ามา ชาวประมงตะโกนทักทายกันข้ามผืนน้ำ เด็กๆ วิ่งเล่นไปตามสะพานปลา และหญิงชราคนหนึ่งขายส้มจากเกวียนไม้ ไม่มีใครสังเกตเห็นคนแปลกหน้าที่ยืนอยู่ข้างประภาคารตั้งแต่รุ่งสาง คอยนับเรือและจดชื่อลงในสมุดสีดำเล่มเล็ก',
}

test('letters and words are counted as a reader does, in every script', () => {
  assert.equal(countLetters('क्षत्रिय 👩‍👩‍👧'), 4)
  assert.equal(countLetters('e\u0301cole\u0301'), 5)
  assert.equal(countLetters('한국어'), countLetters('한국어'.normalize('NFD')))
  assert.equal(countWords('私は猫です', 'ja'), 4)
  assert.equal(countWords("L'été, c'est beau", 'fr'), 3)
  assert.equal(countWords('ฉันรักแมว', 'th'), 3)
  assert.equal(countWords('', 'xx-not a locale'), 0)
  assert.equal(countWords('a '.repeat(1e5), 'en', 10), 10)
  assert.equal(countLetters('\u200b\u0000 \uD800'), 0)
})

test('tags: each once, closed, in order, filled, nothing outside', () => {
  const format = { tags: ['think', 'answer'] }
  const right = '<think>二 + 二</think>\n<answer>٤</answer>\n'
  assert.deepEqual(checkTags(right, format), { ok: true, contents: { think: '二 + 二', answer: '٤' }, problems: [] })
  const wrong: Record<string, RegExp> = {
    '': /<think> is missing/,
    '<answer>4</answer><think>a</think>': /not in order/,
    '<think>a</think><answer>4': /<answer> is not closed/,
    '<think>a<answer>4</answer></think>': /<answer> stands inside <think>/,
    '<think>a</think><answer>4</answer><answer>5</answer>': /<answer> comes twice/,
    '<think> </think><answer>4</answer>': /<think> is empty/,
    'So <think>a</think><answer>4</answer>': /text outside/,
    '<think>a</think></answer><answer>4</answer>': /<\/answer> closes nothing/,
    '<Think>a</Think><answer>4</answer>': /<think> is missing/,
  }
  for (const [reply, problem] of Object.entries(wrong)) {
    const check = checkTags(reply, format)
    assert.equal(check.ok, false, reply)
    assert.match(check.problems.join('; '), problem)
  }
  assert.ok(checkTags('x <answer>4</answer> y', { ...format, optional: ['think'], outside: true }).ok)
  assert.ok(checkTags('<答>四</答>', { tags: ['答'] }).ok)
  assert.ok(checkTags('<b>1</b> < 2 <answer>a < b</answer>', { tags: ['answer'], outside: true }).ok)
  assert.throws(() => checkTags('', { tags: ['a>'] }), /no name of a tag/)
  const started = performance.now()
  checkTags('<think>'.repeat(150_000), format)
  checkTags('<'.repeat(1_000_000), format)
  assert.ok(performance.now() - started < 20_000)
})

test('grammars: recursion, repetition, classes of any script', () => {
  const list = parseGrammar(String.raw`list = item ("," " "? item)* ; item = [\p{L}\p{M}]+ ;`)
  for (const text of ['a', 'a,b', 'क्षेत्र, नदी', '山,川,海']) assert.ok(matchesGrammar(list, text), text)
  for (const text of ['', ',', 'a,', 'a,,b', 'a1']) assert.ok(!matchesGrammar(list, text), text)
  const nested = parseGrammar('s ::= "(" s ")" s |')
  assert.ok(matchesGrammar(nested, '(()())'.repeat(50)) && matchesGrammar(nested, ''))
  assert.ok(!matchesGrammar(nested, '(()'))
  const left = parseGrammar(String.raw`e = e [+*-] e | number  number = [\p{Nd}]{1,3} (* up to 999 *)`)
  assert.ok(matchesGrammar(left, '1+22*٣٣٣-४') && !matchesGrammar(left, '1+') && !matchesGrammar(left, '1234'))
  const counted = parseGrammar(`a = 'x'{2,} "\\n" ("y" | 'zz'){3}`)
  assert.ok(
    matchesGrammar(counted, 'xxx\nyzzy') && !matchesGrammar(counted, 'x\nyyy') && !matchesGrammar(counted, 'xx\nyyyy'),
  )
  const empty = parseGrammar('a = b b ; b = c? ; c = "c"* ;')
  assert.ok(matchesGrammar(empty, '') && matchesGrammar(empty, 'cccc') && !matchesGrammar(empty, 'd'))
  assert.ok(matchesGrammar(parseGrammar('a = . ;'), '𝕏') && !matchesGrammar(parseGrammar('a = . ;'), 'ab'))
})

test('grammars agree with regular expressions on random texts', () => {
  const pairs: [string, RegExp][] = [
    ['s = ("a" | "ab") ("c" | "bcd") "d"* ;', /^(?:a|ab)(?:c|bcd)d*$/],
    ['s = ("a"* "b"?){2} "c"+ ;', /^(?:a*b?){2}c+$/],
    ['s = [^a]{1,3} | "a" s ;', /^a*[^a]{1,3}$/],
  ]
  let state = 1
  const letter = (): string => 'abcd'[((state = (state * 48271) % 2147483647) >> 4) % 4]
  let matches = 0
  for (const [source, expression] of pairs) {
    const grammar = parseGrammar(source)
    for (let i = 0; i < 1500; i++) {
      const text = Array.from({ length: i % 7 }, letter).join('')
      assert.equal(matchesGrammar(grammar, text), expression.test(text), `${source} ${text}`)
      if (expression.test(text)) matches++
    }
  }
  assert.ok(matches > 50)
})

test('grammars that cannot be read say where; hostile replies end', () => {
  for (const [source, message] of [
    ['', /no rule/],
    ['a = b', /no rule "b"/],
    ['a = "x', /cannot be read at/],
    ['a = ("x"', /\) is missing/],
    ['a = "x" ; a = "y"', /defined twice/],
    ['a = "x"{3,1}', /more than it allows/],
    ['a = "x"{9999}{9999}', /too long/],
    ['"x"', /a rule/],
  ] as const)
    assert.throws(() => parseGrammar(source), message, source)
  const ambiguous = parseGrammar('s = s s | "a" | ;')
  assert.throws(() => matchesGrammar(ambiguous, 'a'.repeat(3000)), /too ambiguous/)
  assert.equal(matchesGrammar(ambiguous, 'a'.repeat(1_000_000)), false)
  assert.ok(matchesGrammar(parseGrammar('s = "a"* ;'), 'a'.repeat(20_000)))
})

test('a length that is asked for', async () => {
  assert.deepEqual(
    [0, 5, 10, 50, 100, 150, 200, 300].map((value) => rangeValue(value, { min: 10, max: 100 }, 1)),
    [0, 0.5, 1, 1, 1, 0.5, 0, 0],
  )
  assert.equal(rangeValue(101, { max: 100 }, 0), 0)
  assert.equal(rangeValue(1, { max: 0 }, 1), 0)
  assert.equal(await scored('length-range', { reply: '私は猫です', language: 'ja' }, { min: 4, max: 4 }), 1)
  assert.equal(await scored('length-range', { reply: 'one two', length: { max: 1 } }, { max: 9 }), 0)
  assert.equal(await scored('length-range', { reply: 'one two' }), null)
  assert.equal(await scored('length-range', { reply: 'añb' }, { unit: 'letters', max: 3 }), 1)
  await assert.rejects(scored('length-range', { reply: 'a', length: { max: 'x' } as never }), /data\.length\.max/)
  await assert.rejects(scored('length-range', { reply: 'a' }, { unit: 'tokens', max: 3 }), /folder of a model/)
  await assert.rejects(scored('length-range', { reply: 'a' }, { min: 5, max: 3 }), /must not be below/)
  assert.equal(await scored('length-range', { reply: 'x'.repeat(3_000_000) }, { unit: 'letters', max: 5 }), 0)
})

test('a budget for all replies together, which only right answers may be asked to keep', async () => {
  assert.deepEqual(
    [50, 100, 150, 999].map((value) => fallingCost(value, 100, 200)),
    [0, 0, -0.5, -1],
  )
  const options = { unit: 'letters', budget: 2, limit: 6 }
  assert.equal(await scored('length-budget', { replies: ['ab', 'cd'] }, options), -0.5)
  const only = { ...options, onlySuccess: true }
  assert.equal(await scored('length-budget', { replies: ['ab', 'cd'] }, only), null)
  assert.equal(await scored('length-budget', makeTranscript({ reply: 'abcd' }), only), -0.5)
})

test('what repetition is: n-grams, loops, parts that come twice, compression', () => {
  assert.equal(repeatedNgrams([...'ababab'], 2), 1 - 2 / 5)
  assert.equal(repeatedNgrams([...'abc'], 4), 0)
  assert.deepEqual(endLoop([...'so it is it is it is ']), { period: 6, times: 19 / 6, share: 19 / 21 })
  assert.equal(endLoop([...'abcabc']).period, 0)
  assert.deepEqual(endLoop([]), { period: 0, times: 1, share: 0 })
  assert.equal(longestRepeat([...'abcXabcY']), 3)
  assert.equal(longestRepeat([...'aaaa']), 2)
  assert.equal(longestRepeat([...'abc']), 0)
  assert.equal(longestRepeat([]), 0)
  assert.equal(compressionRatio(''), 1)
  assert.ok(compressionRatio('la '.repeat(100)) > 15)
})

test('the longest repeat is that of a search through all pairs, on random texts', () => {
  let state = 7
  for (let round = 0; round < 300; round++) {
    const units = Array.from({ length: round % 14 }, () => 'ab'[((state = (state * 48271) % 2147483647) >> 5) % 2])
    let best = 0
    for (let i = 0; i < units.length; i++)
      for (let j = i + 1; j < units.length; j++) {
        let k = 0
        while (i + k < j && j + k < units.length && units[i + k] === units[j + k]) k++
        best = Math.max(best, k)
      }
    assert.equal(longestRepeat(units), best, units.join(''))
  }
})

test('prose in five scripts costs nothing, loops in them cost all, in any unit of repetition', async () => {
  for (const [language, text] of Object.entries(prose)) {
    assert.equal(await scored('repetition', { reply: text, language }), 0, language)
    const { compression } = repetition(text, language)
    assert.ok(compression < 2.5, `${language} ${compression}`)
    const sentence = text.slice(0, 40)
    assert.equal(await scored('repetition', { reply: sentence.repeat(40), language }), -1, language)
    // Prose that runs into a loop.
    assert.equal(await scored('repetition', { reply: text + sentence.slice(0, 5).repeat(150), language }), -1, language)
  }
  assert.equal(await scored('repetition', { reply: 'ha ha ha ha' }), 0)
  assert.equal(await scored('repetition', { reply: '' }), 0)
  const started = performance.now()
  assert.equal(await scored('repetition', { reply: 'ab'.repeat(500_000) }), -1)
  await scored('repetition', { reply: Array.from({ length: 300_000 }, (_, i) => (i * i) % 97).join(' ') })
  assert.ok(performance.now() - started < 20_000)
  await assert.rejects(scored('repetition', { reply: '' }, { free: 1 }), /need a measure/)
  assert.equal(await scored('repetition', { reply: 'x'.repeat(64) }, { measure: 'loop', free: 1, limit: 2 }), 0)
})

test('silence and refusals, which some problems want', async () => {
  for (const reply of ['', ' \n', '...', '\u200b', '。']) assert.ok(isEmptyReply(reply), JSON.stringify(reply))
  for (const reply of ['7', '٤', 'は', '👍', '+']) assert.ok(!isEmptyReply(reply), reply)
  for (const reply of [
    'I’m sorry, but I can’t help with that.',
    'Lo siento, pero no puedo ayudar con eso.',
    '抱歉，我无法提供这些信息。',
    'عذراً، لا أستطيع مساعدتك في ذلك.',
    'माफ़ कीजिए, मैं इसमें मदद नहीं कर सकता।',
    '申し訳ありませんが、お答えできません。',
    'ИЗВИНИТЕ, Я НЕ МОГУ ПОМОЧЬ С ЭТИМ.',
  ])
    assert.ok(isRefusal(reply), reply)
  for (const text of [...Object.values(prose), 'I cannot help but laugh.', '我可以帮助你。'])
    assert.ok(!isRefusal(text), text)
  assert.ok(isRefusal('Mi dispiace: niente da fare.', ['niente da fare']))
  assert.ok(Object.keys(refusalPhrases).length >= 20)
  assert.equal(await scored('answered', { reply: 'Nairobi' }), 1)
  assert.equal(await scored('answered', { reply: 'I cannot help with that.' }), 0)
  assert.equal(await scored('answered', { reply: 'I cannot help with that.', refuse: true }), 1)
  assert.equal(await scored('answered', { reply: 'Take two litres of ...', refuse: true }), 0)
  assert.equal(await scored('answered', { reply: '', refuse: true }), 0)
})

const tools = [
  {
    name: 'add',
    parameters: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
      additionalProperties: false,
    },
  },
  { name: '検索', parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] } },
]
const call = (name: string, given: unknown): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`

test('calls of tools in the forms of open models', () => {
  const add = [{ name: 'add', arguments: { a: 1, b: 2 } }]
  for (const reply of [
    `I add. ${call('add', { a: 1, b: 2 })}`,
    '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1, "b": 2}}]',
    '<|python_tag|>{"name": "add", "parameters": {"a": 1, "b": 2}}',
    '<function=add>{"a": 1, "b": 2}</function>',
    '```json\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```',
    '[{"function": {"name": "add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}}]',
  ])
    assert.deepEqual(toolCallsIn(reply), add, reply)
  assert.deepEqual(
    toolCallsIn(`${call('add', { a: 1, b: 2 })}${call('検索', { q: '猫' })}`).map(({ name }) => name),
    ['add', '検索'],
  )
  assert.deepEqual(toolCallsIn('The object {"name": "add", "arguments": {}} is JSON.'), [])
  assert.deepEqual(toolCallsIn('<tool_call>{"name": "add", "argum'), [{ name: '', arguments: null }])
  assert.deepEqual(toolCallsIn(''), [])
  const started = performance.now()
  toolCallsIn('<tool_call>'.repeat(90_000))
  toolCallsIn('<tool_call>{'.repeat(90_000))
  assert.ok(performance.now() - started < 20_000)
})

test('calls are valid, complete and in order', () => {
  const score = (calls: string, required?: Parameters<typeof scoreToolCalls>[1]['required']) =>
    scoreToolCalls(toolCallsIn(calls), { tools, required })
  const [add, search] = [call('add', { a: 1, b: 2 }), call('検索', { q: '猫' })]
  assert.deepEqual(score(add + search, [{ name: 'add' }, { name: '検索', arguments: { q: '猫' } }]), {
    valid: 1,
    complete: 1,
    order: 1,
    extra: 0,
  })
  assert.equal(score(search + add, [{ name: 'add' }, { name: '検索' }]).order, 0.5)
  assert.equal(score(call('add', { a: '1', b: 2 }) + add).valid, 0.5)
  assert.equal(score(call('add', { a: 1, b: 2, c: 3 })).valid, 0)
  assert.equal(score(call('subtract', {})).valid, 0)
  assert.equal(score(call('add', [1, 2])).valid, 0)
  assert.deepEqual(score(''), { valid: null, complete: null, order: null, extra: null })
  // One call cannot stand for two required ones; the choosier takes what it needs.
  assert.equal(score(add, [{ name: 'add' }, { name: 'add' }]).complete, 0.5)
  const other = call('add', { a: 5, b: 5 })
  assert.equal(score(add + other, [{ name: 'add' }, { name: 'add', arguments: { a: 1 } }]).complete, 1)
  assert.equal(score(add + add + add, [{ name: 'add' }]).extra, 2 / 3)
  // A call whose arguments do not fit was not made.
  assert.equal(score(call('add', { a: 1 }), [{ name: 'add' }]).complete, 0)
})

test('the reward for calls of tools', async () => {
  const requiredCalls = [{ name: 'add', arguments: { a: 1 } }]
  const add = call('add', { a: 1, b: 2 })
  assert.equal(await scored('tool-calls', { reply: add }), null)
  assert.deepEqual(await scored('tool-calls', { reply: add, tools, requiredCalls }), {
    valid: 0.4,
    complete: 0.5,
    order: 0.1,
  })
  assert.deepEqual(await scored('tool-calls', { reply: '3', tools, requiredCalls }), {
    valid: 0,
    complete: 0,
    order: 0,
  })
  assert.deepEqual(await scored('tool-calls', { reply: '3', tools }), { valid: 0.4, complete: 0.5, order: 0.1 })
  assert.deepEqual(await scored('tool-calls', { reply: add + add, tools, requiredCalls }, { extra: 0.2 }), {
    valid: 0.4,
    complete: 0.5,
    order: 0.1,
    extra: -0.1,
  })
  await assert.rejects(scored('tool-calls', { reply: add, tools: [{}] as never }), /data\.tools\.0\.name/)
})

test('costs that the task measured', async () => {
  const slow = makeTranscript({ reply: '', outcome: { metrics: { latencyMs: 1500 } } })
  assert.equal(await scored('outcome-cost', slow, { metric: 'latencyMs', free: 1000, limit: 2000 }), -0.5)
  assert.equal(await scored('outcome-cost', slow, { metric: 'price', free: 1, limit: 2 }), null)
  assert.equal(await scored('outcome-cost', slow, { metric: 'latencyMs', free: 2000, limit: 1000 }), -0.5)
})

test('the reward for tags and for grammars', async () => {
  assert.equal(await scored('format-tags', { reply: '<think>a</think><answer>b</answer>' }), 1)
  assert.equal(await scored('format-tags', { reply: 'b' }), 0)
  assert.equal(await scored('format-grammar', { reply: ' yes\n', grammar: 'a = "yes" | "no" ;' }), 1)
  assert.equal(await scored('format-grammar', { reply: 'maybe' }, { grammar: 'a = "yes" | "no" ;' }), 0)
  assert.equal(await scored('format-grammar', { reply: 'maybe' }), null)
  await assert.rejects(scored('format-grammar', { reply: 'x' }, { grammar: 'nonsense' }), /grammar: /)
})
