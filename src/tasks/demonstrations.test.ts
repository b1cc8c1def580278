import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deriveSeed } from '../core/index.js'
import { alphabets, isLanguage, languages } from '../data/index.js'
import { demonstration, demonstrationIds, listTasks, taskById, variationIds, vocabularyTexts } from './index.js'

const each = (count: number) =>
  languages.flatMap((language) =>
    Array.from({ length: count }, (_, seed) => seed).flatMap((seed) => [
      demonstration(seed, { language }),
      // Variations are not drawn, they are asked for.
      demonstration(seed, { language, task: variationIds[seed % variationIds.length] }),
    ]),
  )

describe('demonstrations', () => {
  it('depend on the seed alone', () => {
    assert.deepEqual(each(20), each(20))
    assert.ok(new Set(each(40).map((shown) => JSON.stringify(shown.messages))).size > 250)
  })

  it('show everything but the three verbs that must be found by trying', () => {
    assert.deepEqual(new Set(each(200).map((shown) => shown.task)), new Set(demonstrationIds()))
    for (const id of ['sort', 'reverse', 'larger']) {
      assert.ok(!demonstrationIds().includes(id))
      assert.throws(() => demonstration(1, { language: 'en', task: id }), /no "sort"|no "reverse"|no "larger"/)
    }
    const verbs = ['sort', 'reverse', 'larger'].flatMap((id) =>
      languages.map((language) => {
        const problem = taskById(id).generate(1, { language, difficulty: 0, split: 'train' })
        return taskById(id)
          .play(problem)
          .messages[0].content.replace(/( \S+){2,3}$/u, '')
      }),
    )
    for (const shown of each(200))
      for (const verb of verbs) assert.ok(!shown.messages[0].content.startsWith(`${verb} `), shown.messages[0].content)
  })

  it('ask for letters and numbers in many words, and answer rightly', () => {
    const prompts = new Set<string>()
    for (const id of variationIds)
      for (const language of languages)
        for (let seed = 0; seed < 60; seed++) {
          const [prompt, reply] = demonstration(seed, { language, task: id }).messages.map(({ content }) => content)
          const items = reply.trim().split(' ')
          const asked = prompt.split(' ').slice(id === 'letters' ? -items.length : -2)
          if (id === 'letters') assert.deepEqual([...items].sort(), [...asked].sort(), prompt)
          else assert.ok(items.length === 1 && asked.includes(items[0]), prompt)
          prompts.add(`${language} ${prompt.split(' ').slice(0, -asked.length).join(' ')}`)
        }
    assert.ok(prompts.size > 60, `only ${prompts.size} ways to ask`)
  })

  it('alternate, end with the assistant, and write replies after a space', () => {
    for (const shown of each(100)) {
      assert.equal(shown.messages[0].role, 'user')
      shown.messages.forEach((message, i) => {
        assert.equal(message.role === 'assistant', i % 2 === 1)
        assert.match(message.content, message.role === 'assistant' ? /^ \S/u : /^\S/u)
      })
      assert.equal(shown.messages.at(-1)?.role, 'assistant')
    }
  })

  it('never show a first message that a withheld problem alone has', () => {
    for (const task of listTasks().filter((known) => demonstrationIds().includes(known.id))) {
      const prompts = (split: 'train' | 'eval') =>
        new Set(
          Array.from({ length: 400 }, (_, i) => {
            const language = task.languages[i % task.languages.length]
            const problem = task.generate(deriveSeed(split, i), { language, difficulty: 0.7, split })
            return `${language} ${task.play(problem).messages[0].content}`
          }),
        )
      // Maze and look-up open with what is sensed or a word: their problems differ in what is behind it.
      if (['maze', 'lookup'].includes(task.id)) continue
      const withheld = prompts('eval')
      for (let seed = 0; seed < 300; seed++) {
        const language = task.languages[seed % task.languages.length]
        const shown = demonstration(seed, { language, task: task.id })
        assert.ok(!withheld.has(`${language} ${shown.messages[0].content}`), shown.messages[0].content)
      }
    }
  })

  it('give right answers where there are such', () => {
    for (const id of ['facts', 'translate', 'arithmetic', 'declaration']) {
      const task = taskById(id)
      const known = new Map(
        Array.from({ length: 3000 }, (_, i) => task.generate(i, { language: 'hi', difficulty: 1, split: 'train' })).map(
          (problem) => [task.play(problem).messages[0].content, problem],
        ),
      )
      let checked = 0
      for (let seed = 0; seed < 60; seed++) {
        const [prompt, reply] = demonstration(seed, { language: 'hi', task: id }).messages.map(
          (message) => message.content,
        )
        const problem = known.get(prompt)
        if (problem === undefined) continue
        const turn = task.play(problem).respond(reply)
        assert.ok(!(turn instanceof Promise) && turn.outcome?.success, `${prompt} ->${reply}`)
        checked++
      }
      assert.ok(checked > 30, `${checked} of ${id}`)
    }
  })

  it('play games without a policy: a move does not depend on where it leads', () => {
    let first = 0
    const count = 600
    for (let seed = 0; seed < count; seed++) {
      const { messages } = demonstration(seed, { language: 'en', task: 'maze' })
      const [goal, free] = messages[0].content.replace('goal ', '').split(' free ')
      const toGoal = free.split(' ').filter((direction) => goal.split(' ').includes(direction)).length
      first += Number(goal.split(' ').includes(messages[1].content.trim())) - toGoal / free.split(' ').length
    }
    assert.ok(Math.abs(first / count) < 0.06, `moves towards the goal exceed chance by ${first / count}`)
  })

  it('repeat, shuffle and choose over the letters and numbers of sort, reverse and larger', () => {
    for (const language of languages) {
      const said = (id: string) => demonstration(5, { language, task: id }).messages.map((message) => message.content)
      const [repeat, same] = said('repeat')
      assert.ok(repeat.endsWith(same))
      const [shuffle, mixed] = said('shuffle')
      const letters = (text: string) => text.split(' ').filter((item) => alphabets[language].includes(item))
      assert.deepEqual(letters(mixed).sort(), letters(shuffle).sort())
      const [choose, chosen] = said('choose')
      assert.ok(choose.split(' ').slice(-2).includes(chosen.trim()))
    }
  })

  it('refuse an unknown language or task', () => {
    assert.throws(() => demonstration(1, { language: 'tlh' }), /unknown language "tlh"/)
    assert.throws(() => demonstration(1, { language: 'yo', task: 'arithmetic' }), /no "arithmetic" in yo; known: guess/)
    assert.ok(!isLanguage('tlh'))
  })
})

describe('vocabulary texts', () => {
  it('are the same for a seed and hold the requests and small units, not the answers, of undemonstrated tasks', () => {
    const texts = [...vocabularyTexts(1, { repetitions: 1, demonstrations: 20 })]
    assert.deepEqual([...vocabularyTexts(1, { repetitions: 1, demonstrations: 20 })], texts)
    for (const needed of ['sort ', 'упорядочи ', '逆順 ', 'larger ', 'èyí tó tóbi jù '])
      assert.ok(
        texts.some((text) => text.startsWith(needed)),
        needed,
      )
    const units = texts.filter((text) => text.startsWith(' 0 1 2 '))
    assert.equal(units.length, 1)
    for (let value = 0; value < 100; value++) assert.ok(units[0].includes(` ${value} `))
    assert.ok(texts.some((text) => text.includes(' ५ (५) ')))
  })
})
