import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGroup } from '../algorithms/testing.js'
import { mixture, tokenBalanced } from './mixture.js'
import type { Assignment, Curriculum, CurriculumTask } from './types.js'

const task = (id: string, more: Partial<CurriculumTask> = {}): CurriculumTask => ({
  id,
  languages: ['en', 'sw', 'ja'],
  difficulty: [0.2, 0.6],
  weight: 1,
  ...more,
})
const steps = (curriculum: Curriculum, count: number, seed = 1): Assignment[] =>
  Array.from({ length: count }, (_, i) => curriculum.next(i + 1, seed)).flat()
const share = (assignments: readonly Assignment[], id: string): number =>
  assignments.filter((assignment) => assignment.task === id).length / assignments.length
const tells = (lengths: Record<string, number>, rewards = [1, 0]): ReturnType<typeof testGroup>[] =>
  Object.entries(lengths).map(([id, length]) => testGroup(rewards, { task: id, length }))

test('shares of groups are the weights, to one group over any stretch', () => {
  const curriculum = mixture({
    tasks: [task('a', { weight: 3 }), task('b'), task('c', { weight: 0 })],
    groupsPerStep: 6,
  })
  for (let step = 1; step <= 5; step++) {
    const ids = curriculum.next(step, 1).map((assignment) => assignment.task)
    const count = ids.filter((id) => id === 'b').length
    assert.ok(count === 1 || count === 2, ids.join())
    assert.ok(!ids.includes('c'))
  }
  assert.ok(Math.abs(share(steps(curriculum, 100), 'a') - 0.75) < 0.005)
})

test('languages take turns, difficulties stay in the range, seeds differ', () => {
  const assignments = steps(mixture({ tasks: [task('a')], groupsPerStep: 6 }), 50)
  for (const language of ['en', 'sw', 'ja']) {
    assert.equal(assignments.filter((assignment) => assignment.language === language).length, 100)
  }
  const difficulties = assignments.map(({ difficulty }) => difficulty)
  assert.ok(Math.min(...difficulties) >= 0.2 && Math.min(...difficulties) < 0.22)
  assert.ok(Math.max(...difficulties) <= 0.6 && Math.max(...difficulties) > 0.58)
  assert.equal(new Set(assignments.map(({ seed }) => seed)).size, 300)
})

test('problems in several languages: one seed and difficulty each, different languages, shares as before', () => {
  const shared = mixture({
    tasks: [task('a'), task('b', { languages: ['en'] })],
    groupsPerStep: 5,
    languagesPerProblem: 2,
  })
  const assignments = steps(shared, 120)
  assert.equal(assignments.length, 600)
  assert.ok(assignments.every((assignment) => assignment.shared))
  const sizes: Record<string, number[]> = { a: [], b: [] }
  for (const seed of new Set(assignments.map((assignment) => assignment.seed))) {
    const same = assignments.filter((assignment) => assignment.seed === seed)
    assert.equal(new Set(same.map(({ task: id, difficulty }) => `${id} ${difficulty}`)).size, 1)
    assert.equal(new Set(same.map(({ language }) => language)).size, same.length)
    sizes[same[0].task].push(same.length)
  }
  assert.ok(sizes.b.every((size) => size === 1))
  assert.ok(sizes.a.every((size) => size <= 2) && sizes.a.filter((size) => size === 2).length > 100)
  assert.ok(Math.abs(share(assignments, 'a') - 0.5) < 0.01)
  const counts = ['en', 'sw', 'ja'].map(
    (language) => assignments.filter((one) => one.task === 'a' && one.language === language).length,
  )
  assert.ok(Math.max(...counts) - Math.min(...counts) < 30, counts.join())
})

test('balanced by tokens, a task whose episodes are four times as long gets a quarter of the groups', () => {
  const curriculum = tokenBalanced({ tasks: [task('short'), task('long')], groupsPerStep: 10 })
  assert.equal(share(curriculum.next(1, 1), 'long'), 0.5, 'nothing is known yet')
  curriculum.observe(tells({ short: 5, long: 20 }))
  assert.ok(Math.abs(share(steps(curriculum, 100), 'long') - 0.2) < 0.005)
})

test('balance between groups and tokens: half way is the square root', () => {
  const curriculum = mixture({ tasks: [task('short'), task('long')], groupsPerStep: 10, tokenBalance: 0.5 })
  curriculum.observe(tells({ short: 5, long: 20 }))
  assert.ok(Math.abs(share(steps(curriculum, 100), 'long') - 1 / 3) < 0.005)
})

test('a task whose replies are all empty does not take every group', () => {
  const curriculum = tokenBalanced({ tasks: [task('empty'), task('full')], groupsPerStep: 10 })
  curriculum.observe(tells({ empty: 0, full: 2 }))
  assert.ok(Math.abs(share(steps(curriculum, 100), 'full') - 1 / 3) < 0.01)
})

test('tasks whose groups teach nothing give way, down to a tenth', () => {
  const curriculum = mixture({ tasks: [task('solved'), task('open')], groupsPerStep: 10, learnability: 1 })
  const solved = testGroup([1, 1], { task: 'solved' })
  const open = testGroup([1, 0], { task: 'open' })
  curriculum.observe([solved, open])
  // After one step the running share of groups that teach is 0.8 against 1.
  assert.ok(Math.abs(share(steps(curriculum, 100), 'solved') - 0.8 / 1.8) < 0.005)
  for (let i = 0; i < 50; i++) curriculum.observe([solved, open])
  assert.ok(Math.abs(share(steps(curriculum, 100), 'solved') - 0.1 / 1.1) < 0.005)
})

test('adaptive difficulty follows success within the range', () => {
  const options = { tasks: [task('a')], groupsPerStep: 4, adaptive: { target: 0.5, rate: 0.5 } }
  const hardest = (curriculum: Curriculum): number =>
    Math.max(...steps(curriculum, 100).map(({ difficulty }) => difficulty))
  const curriculum = mixture(options)
  assert.ok(hardest(curriculum) <= 0.3)
  for (let i = 0; i < 10; i++) curriculum.observe(tells({ a: 3 }, [1, 1]))
  assert.ok(hardest(curriculum) > 0.59 && hardest(curriculum) <= 0.6)
  for (let i = 0; i < 10; i++) curriculum.observe(tells({ a: 3 }, [0, 0]))
  assert.ok(hardest(curriculum) < 0.21)
})

test('a restored curriculum goes on as the one it was taken from', () => {
  const make = (): Curriculum => tokenBalanced({ tasks: [task('a'), task('b')], groupsPerStep: 5 })
  const first = make()
  steps(first, 3)
  first.observe(tells({ a: 4, b: 9 }))
  const second = make()
  second.restore(JSON.parse(JSON.stringify(first.state())))
  assert.deepEqual(steps(second, 10), steps(first, 10))
  assert.deepEqual(second.state(), first.state())
  assert.throws(() => make().restore({ a: { credit: 'x' } }), { code: 'checkpoint' })
  assert.throws(() => mixture({ tasks: [task('z')], groupsPerStep: 1 }).restore(first.state()), { code: 'checkpoint' })
})

test('nothing to choose from is refused', () => {
  assert.throws(() => mixture({ tasks: [task('a', { weight: 0 })], groupsPerStep: 1 }), { code: 'usage' })
  assert.throws(() => mixture({ tasks: [task('a', { languages: [] })], groupsPerStep: 1 }), { code: 'usage' })
})
