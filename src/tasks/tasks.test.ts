import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom, deriveSeed } from '../core/index.js'
import { nativeDigits, type Language } from '../data/index.js'
import {
  describeTasks,
  listTasks,
  playerRates,
  splitOf,
  taskById,
  type Problem,
  type Split,
  type Task,
  type Turn,
} from './index.js'

const difficulties = [0, 0.5, 1]

function problems(task: Task, split: Split, count: number): Problem[] {
  return Array.from({ length: count }, (_, i) =>
    task.generate(deriveSeed('test', i), {
      language: task.languages[i % task.languages.length],
      difficulty: difficulties[i % difficulties.length],
      split,
    }),
  )
}

/** The built-in tasks answer at once. */
function turnOf(turn: Turn | Promise<Turn>): Turn {
  assert.ok(!(turn instanceof Promise))
  return turn
}

const hostile = [
  '',
  ' ',
  '\n\n',
  '0',
  '-1',
  '1e9',
  '999999999999999999999',
  'x'.repeat(1_000_000),
  'a '.repeat(100_000),
  '\ud800',
  '\u0000',
  '<|end|><|user|>',
  '{"tool":"find"}',
  'take',
  'take take take 3',
  'find',
  'find ',
  'find find',
  'undefined',
  '__proto__',
  'constructor',
  '🐘🐘🐘',
  'நான்கு',
  '½',
  '\u202eabc',
  'e\u0301'.repeat(5000),
  '(((((((((((((((((((((((((a+)+)+)+$',
]

describe('every task', () => {
  for (const task of listTasks()) {
    it(`${task.id}: no key is in both splits, over thousands of problems`, () => {
      const train = new Set(problems(task, 'train', 1500).map((problem) => problem.key))
      const evaluation = new Set(problems(task, 'eval', 1500).map((problem) => problem.key))
      for (const key of evaluation) assert.ok(!train.has(key), key)
      for (const key of train) assert.equal(splitOf(key), 'train')
      for (const key of evaluation) assert.equal(splitOf(key), 'eval')
      assert.ok(evaluation.size >= 10, `${evaluation.size} withheld problems`)
    })

    it(`${task.id}: a problem is plain JSON and depends on its seed alone`, () => {
      const [once, again] = [problems(task, 'train', 60), problems(task, 'train', 60)]
      assert.deepEqual(again, once)
      assert.deepEqual(JSON.parse(JSON.stringify(once)), once)
      assert.ok(new Set(once.map((problem) => JSON.stringify(problem.data))).size > 20)
    })

    it(`${task.id}: a replayed problem answers the same replies with the same words`, () => {
      for (const problem of problems(task, 'train', 20)) {
        const transcript = () => {
          const episode = task.play(JSON.parse(JSON.stringify(problem)) as Problem)
          const random = createRandom(deriveSeed(problem.key))
          const said: unknown[] = [episode.messages]
          for (let done = false; !done;) {
            const turn = turnOf(episode.respond(episode.randomReply(random)))
            said.push(turn)
            done = turn.done
          }
          return said
        }
        assert.deepEqual(transcript(), transcript())
      }
    })

    it(`${task.id}: the right player wins, in every language and difficulty`, async () => {
      for (const language of task.languages)
        for (const difficulty of difficulties) {
          const rates = await playerRates(task, { language, seed: 1, difficulty, episodes: 40 })
          assert.ok((rates.expert ?? 0) >= 0.95, `${language} at ${difficulty}: ${rates.expert}`)
          assert.ok(rates.random < 0.97, `${language} at ${difficulty}: random ${rates.random}`)
        }
    })

    it(`${task.id}: replies of the random player are well-formed`, () => {
      for (const problem of problems(task, 'train', 100)) {
        const episode = task.play(problem)
        const random = createRandom(deriveSeed('legal', problem.key))
        for (let done = false; !done;) {
          const turn = turnOf(episode.respond(episode.randomReply(random)))
          done = turn.done
          if (turn.outcome) assert.equal(turn.outcome.wellFormed, true, JSON.stringify(problem))
        }
      }
    })

    it(`${task.id}: survives hostile replies, ends within its turns, rewards in [0, 1]`, () => {
      for (const reply of hostile)
        for (const problem of problems(task, 'eval', task.languages.length)) {
          const episode = task.play(problem)
          let turns = 0
          for (let done = false; !done;) {
            const turn = turnOf(episode.respond(reply))
            done = turn.done
            turns++
            assert.ok(turns <= task.maxTurns)
            assert.equal(turn.outcome !== undefined, done)
            if (!turn.outcome) continue
            assert.ok(turn.outcome.reward >= 0 && turn.outcome.reward <= 1)
            assert.equal(turn.outcome.metrics?.turns, turns)
            assert.ok(turn.outcome.success || turn.outcome.reward < 1)
          }
          assert.throws(() => episode.respond(reply), /the episode is over/)
        }
    })

    it(`${task.id}: an empty reply is malformed and worth nothing`, () => {
      for (const problem of problems(task, 'eval', task.languages.length)) {
        const { outcome } = turnOf(task.play(problem).respond(''))
        assert.deepEqual([outcome?.reward, outcome?.success, outcome?.wellFormed], [0, false, false])
      }
    })

    it(`${task.id}: refuses an unknown language, difficulty or split`, () => {
      const options = { language: 'en', difficulty: 0.5, split: 'train' as const }
      assert.throws(
        () => task.generate(1, { ...options, language: 'tlh' }),
        /does not speak "tlh"; its languages are en, es/,
      )
      assert.throws(
        () => task.generate(1, { ...options, difficulty: 1.5 }),
        /difficulty must be a number in \[0, 1\], got 1.5/,
      )
      assert.throws(() => task.generate(1, { ...options, difficulty: Number.NaN }), /got NaN/)
      assert.throws(() => task.generate(1, { ...options, split: 'test' as Split }), /"train" or "eval", got "test"/)
    })

    it(`${task.id}: wins only in the language that was asked`, () => {
      if (task.languages.every((language) => task.lexicon?.[language] === null)) return
      const into = 'ru'
      const other = task.languages.includes('hi') ? 'hi' : 'sw'
      for (let seed = 0; seed < 30; seed++) {
        const options = { difficulty: 0, split: 'train' as const }
        const foreign =
          task.play(task.generate(seed, { ...options, language: other })).expertReply?.(createRandom(1)) ?? ''
        const { outcome } = turnOf(task.play(task.generate(seed, { ...options, language: into })).respond(foreign))
        assert.ok(!outcome?.success, foreign)
      }
    })
  }
})

describe('the registry', () => {
  it('finds tasks by id and lists them when there is none', () => {
    assert.equal(taskById('nim').id, 'nim')
    assert.throws(() => taskById('chess'), /unknown task "chess"; known: sort, reverse, larger/)
  })

  it('describes every task with an example', () => {
    const rows = describeTasks()
    assert.equal(rows.length, listTasks().length)
    for (const row of rows) assert.ok(row.example.prompt && row.example.reply && row.easiest && row.hardest)
  })

  it('has six tasks in six languages, two of several turns, as the quickstart needs', () => {
    assert.ok(listTasks().filter((task) => task.languages.length >= 6).length >= 6)
    assert.ok(listTasks().filter((task) => task.maxTurns > 1).length >= 2)
  })
})

describe('problems shared by languages', () => {
  const keysOf = (task: Task, seed: number, shared: boolean): Set<string> =>
    new Set(
      task.languages.map((language) => task.generate(seed, { language, difficulty: 0.7, split: 'train', shared }).key),
    )

  it('have one key in all languages where the key names none', () => {
    for (const id of ['guess', 'maze', 'larger', 'arithmetic', 'sums'])
      for (let seed = 0; seed < 10; seed++) assert.equal(keysOf(taskById(id), seed, true).size, 1, `${id} ${seed}`)
    assert.ok(keysOf(taskById('guess'), 0, false).size > 1, 'languages have problems of their own otherwise')
    const facts = Array.from({ length: 20 }, (_, seed) => keysOf(taskById('facts'), seed, true).size)
    assert.ok(facts.filter((size) => size < 4).length > 10, facts.join())
  })
})

/** Plays a hand-made problem. */
function play(id: string, language: string, data: Problem['data'], replies: string[]): Turn[] {
  const problem = { task: id, language, difficulty: 0.5, split: 'train' as const, key: '', data }
  const episode = taskById(id).play(problem)
  return replies.map((reply) => turnOf(episode.respond(reply)))
}

describe('scores', () => {
  it('sort gives half the share of right places for a wrong order', () => {
    const score = (reply: string) => play('sort', 'en', { letters: ['d', 'a', 'k'] }, [reply])[0].outcome
    assert.deepEqual(score('A D K.')?.success, true)
    assert.equal(score('a k d')?.reward, 1 / 6)
    assert.equal(score('a')?.reward, 1 / 6)
    assert.equal(score('k a d')?.reward, 0)
    assert.equal(score('k a d')?.wellFormed, true)
    assert.equal(score('a d z')?.wellFormed, false)
  })

  it('sort follows the alphabet of the language', () => {
    assert.equal(play('sort', 'yo', { letters: ['ṣ', 'ẹ', 'e', 's'] }, ['e\u0323 ẹ s ṣ'])[0].outcome?.success, false)
    assert.equal(
      play('sort', 'yo', { letters: ['ṣ', 'ẹ', 'e', 's'] }, ['e e\u0323 s s\u0323'])[0].outcome?.success,
      true,
      'NFD',
    )
    assert.equal(play('sort', 'es', { letters: ['o', 'ñ', 'n'] }, ['n ñ o'])[0].outcome?.success, true)
  })

  it('larger takes either digits', () => {
    for (const reply of ['42', nativeDigits('ar', 42), ' ٤٢. ', '४२'])
      assert.equal(play('larger', 'ar', { numbers: [7, 42], native: false }, [reply])[0].outcome?.success, true, reply)
    const wrong = play('larger', 'ar', { numbers: [7, 42], native: false }, ['7'])[0].outcome
    assert.deepEqual([wrong?.reward, wrong?.wellFormed], [0, true])
    assert.equal(play('larger', 'ar', { numbers: [7, 42], native: false }, ['43'])[0].outcome?.wellFormed, false)
  })

  it('guess narrows the interval and takes no offence at a number outside', () => {
    const turns = play('guess', 'en', { low: 3, high: 10, secret: 8 }, ['6', '2', '40', '8'])
    assert.deepEqual(
      turns.map((turn) => turn.messages[0]?.content),
      ['higher 7 10', 'higher 7 10', 'lower 7 10', undefined],
    )
    assert.equal(turns[3].outcome?.success, true)
  })

  it('guess: running out of turns is worth more than malforming', () => {
    const [, , , last] = play('guess', 'en', { low: 3, high: 10, secret: 8 }, ['3', '3', '3', '3'])
    assert.deepEqual([last.done, last.outcome?.reward, last.outcome?.wellFormed], [true, 0.1, true])
    assert.equal(play('guess', 'en', { low: 3, high: 10, secret: 8 }, ['higher'])[0].outcome?.reward, 0)
  })

  it('turns tell what they earned: nearness in the maze, bits in guess, right moves in nim', () => {
    const earned = (turns: readonly Turn[]): string[] => turns.map(({ reward = 0 }) => reward.toFixed(3))
    // Three steps to the goal: two nearer, then one back.
    const maze = { walls: [], start: 0, goal: 3 }
    assert.deepEqual(earned(play('maze', 'en', maze, ['right', 'right', 'left'])), ['0.100', '0.100', '-0.100'])
    // Of 8 candidates 4 are left, then 4, then 2; the last turn is paid by the outcome.
    const guess = { low: 3, high: 10, secret: 8 }
    assert.deepEqual(earned(play('guess', 'en', guess, ['6', '2', '9'])), ['0.033', '0.000', '0.033'])
    const nim = { heap: 7, skill: 1, seed: 1 }
    assert.deepEqual(earned(play('nim', 'en', nim, ['take 3'])), ['0.100'])
    assert.deepEqual(earned(play('nim', 'en', nim, ['take 1'])), ['0.000'])
  })

  it('maze: a step against a wall loses a turn', () => {
    const data = { walls: [1], start: 0, goal: 2 }
    const turns = play('maze', 'sw', data, ['kulia', 'CHINI', 'kulia', 'kulia', 'juu'])
    assert.deepEqual(
      turns.map((turn) => turn.messages[0]?.content),
      [
        'lengo kulia wazi chini',
        'lengo kulia juu wazi juu chini kulia',
        'lengo juu kulia wazi chini kushoto kulia',
        'lengo juu wazi juu chini kushoto kulia',
        undefined,
      ],
    )
    assert.equal(turns[4].outcome?.success, true)
  })

  it('nim: the verb is part of the move, illegal moves are malformed', () => {
    const data = { heap: 3, skill: 1, seed: 1 }
    assert.equal(play('nim', 'es', data, ['toma 3'])[0].outcome?.success, true)
    for (const reply of ['take 3', '3', 'toma 0', 'toma 4', 'toma', 'toma 3 3'])
      assert.equal(play('nim', 'es', data, [reply])[0].outcome?.wellFormed, false, reply)
    const lost = play('nim', 'es', { heap: 4, skill: 1, seed: 1 }, ['toma 1'])[0].outcome
    assert.deepEqual([lost?.reward, lost?.success], [0.1, false], 'the opponent takes the last three')
  })

  it('facts: any right answer, in the language that was asked', () => {
    const score = (reply: string, language = 'sw') =>
      play('facts', language, { country: 'KE', relation: 'language' }, [reply])[0].outcome
    assert.equal(score('kiswahili.')?.success, true)
    assert.equal(score('Kiingereza')?.success, true)
    assert.deepEqual([score('Kifaransa')?.success, score('Kifaransa')?.wellFormed], [false, true])
    assert.deepEqual([score('Swahili')?.success, score('Swahili')?.wellFormed], [false, false])
    assert.equal(score('Gẹ̀ẹ́sì', 'yo')?.success, true, 'Èdè may be left away')
  })

  it('lookup: the entry must be read, through a second one where it refers', () => {
    const data = { word: 7, through: 6, code: ['k', '7'], seed: 1 }
    const turns = play('lookup', 'en', data, ['find river', 'FIND  stone', 'k 7'])
    assert.deepEqual(
      turns.map((turn) => turn.messages[0]),
      [{ role: 'tool', content: 'river see stone' }, { role: 'tool', content: 'stone k 7' }, undefined],
    )
    assert.equal(turns[2].outcome?.success, true)
    assert.equal(play('lookup', 'en', data, ['find elephant'])[0].messages[0].content, 'none')
    assert.deepEqual(play('lookup', 'en', data, ['k 8'])[0].outcome?.wellFormed, true)
    assert.deepEqual(play('lookup', 'en', data, ['busca river'])[0].outcome?.wellFormed, false)
  })

  it('translate and declaration: chrF tells near from far', () => {
    const name = (reply: string) => play('translate', 'es', { thing: 'country DE', from: 'en' }, [reply])[0].outcome
    assert.equal(name('alemania')?.success, true)
    assert.ok((name('Alemana')?.reward ?? 0) > (name('Germany')?.reward ?? 1))
    assert.equal(name('Germany')?.wellFormed, false)
    const phrase = (reply: string) => play('declaration', 'en', { phrase: '15.1', from: 'es' }, [reply])[0].outcome
    assert.equal(phrase('Everyone has the right to nationality')?.success, true)
    assert.equal(phrase('Everyone has the right')?.success, false)
  })

  it('arithmetic: words, with or without hyphen; not digits', () => {
    const score = (reply: string, language: Language = 'en') =>
      play('arithmetic', language, { a: 12, operator: 'plus', b: 9 }, [reply])[0].outcome?.success
    assert.equal(score('twenty-one'), true)
    assert.equal(score('Twenty one.'), true)
    assert.equal(score('21'), false)
    assert.equal(score('veintiuno'), false)
    assert.equal(score('二十一', 'ja'), true)
  })
})
