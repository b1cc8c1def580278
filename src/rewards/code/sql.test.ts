import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { transcriptOf } from '../sample.js'
import { findPackages } from './child-process.js'
import { checkProgram, checkQuery, closeSandboxes, languages, runProgram, sqlResult } from './index.js'
import { cellOf, ordersRows, plainRows, sameRows, statementsOf, type SqlCell, type SqlRows } from './sql-result.js'

after(closeSandboxes)

function missing(language: string): string | false {
  try {
    findPackages(languages[language])
    return false
  } catch (error) {
    return (error as Error).message
  }
}

const rowsOf = (...rows: SqlCell[][]): SqlRows => ({ columns: ['x'], rows })
const n = (text: string): SqlCell => ({ n: text })

test('rows are equal by value: 1, 1.0 and 1.00 are one number, NULL is NULL, text is text', () => {
  const ordered = { ordered: true }
  assert.ok(sameRows(rowsOf([n('1'), null]), rowsOf([n('1.00'), null]), ordered))
  assert.ok(sameRows(rowsOf([n('1e3')]), rowsOf([n('1000.0')]), ordered))
  assert.ok(sameRows(rowsOf([n('-0.0')]), rowsOf([n('0')]), ordered))
  assert.ok(sameRows(rowsOf([true]), rowsOf([n('1')]), ordered))
  assert.ok(sameRows(rowsOf([n('0.1')]), rowsOf([n('0.10000000000000001')]), ordered))
  assert.ok(!sameRows(rowsOf([n('9223372036854775807')]), rowsOf([n('9223372036854775806')]), ordered))
  assert.ok(!sameRows(rowsOf([n('1')]), rowsOf(['1']), ordered))
  assert.ok(!sameRows(rowsOf([null]), rowsOf(['']), ordered))
  assert.ok(!sameRows(rowsOf([null]), rowsOf([n('0')]), ordered))
  assert.ok(!sameRows(rowsOf([{ b: '00' }]), rowsOf(['00']), ordered))
  assert.ok(!sameRows(rowsOf([n('1.001')]), rowsOf([n('1')]), ordered))
  assert.ok(sameRows(rowsOf([n('1.001')]), rowsOf([n('1')]), { ordered: true, tolerance: 0.01 }))
})

test('without an order rows are a multiset: duplicates count', () => {
  const [a, b, c] = [
    [n('1'), 'é'],
    [n('2.5'), null],
    [n('2.5000000000001'), null],
  ] as SqlCell[][]
  assert.ok(sameRows(rowsOf(a, b), rowsOf(b, a), { ordered: false }))
  assert.ok(!sameRows(rowsOf(a, b), rowsOf(b, a), { ordered: true }))
  assert.ok(!sameRows(rowsOf(a, a, b), rowsOf(a, b, b), { ordered: false }))
  assert.ok(sameRows(rowsOf(b, a, c), rowsOf(c, b, a), { ordered: false }))
  assert.ok(!sameRows(rowsOf(a), rowsOf(a, a), { ordered: false }))
  assert.ok(!sameRows(rowsOf([n('1')]), rowsOf([n('1'), n('1')]), { ordered: false }))
  assert.ok(sameRows(rowsOf(), rowsOf(), { ordered: false }))
})

test('only an ORDER BY outside of parentheses, texts and comments orders', () => {
  assert.ok(ordersRows('SELECT a FROM t ORDER\n BY a', 'sqlite'))
  assert.ok(ordersRows('WITH c AS (SELECT 1) SELECT * FROM c order by (SELECT 1)', 'postgres'))
  for (const sql of [
    'SELECT * FROM (SELECT a FROM t ORDER BY a)',
    "SELECT 'ORDER BY'",
    'SELECT "order by" FROM t',
    '-- ORDER BY\nSELECT 1',
    'SELECT 1 /* ORDER BY */',
    'SELECT row_number() OVER (ORDER BY a) FROM t',
  ])
    assert.ok(!ordersRows(sql, 'sqlite'), sql)
  assert.ok(!ordersRows('SELECT $$ORDER BY$$', 'postgres'))
  assert.ok(!ordersRows('SELECT /* /* */ ORDER BY 1 */ 1', 'postgres'))
})

test('statements end at semicolons that are not quoted', () => {
  assert.deepEqual(statementsOf("SELECT ';'; -- ;\n;SELECT 2;", 'sqlite'), ["SELECT ';'", 'SELECT 2'])
  assert.deepEqual(statementsOf('DO $a$ BEGIN; $$ ; END $a$; SELECT 1', 'postgres'), [
    'DO $a$ BEGIN; $$ ; END $a$',
    'SELECT 1',
  ])
  assert.deepEqual(statementsOf("SELECT E'\\';'; SELECT '\\'", 'postgres'), ["SELECT E'\\';'", "SELECT '\\'"])
  assert.deepEqual(statementsOf("SELECT '", 'postgres'), ["SELECT '"])
  assert.equal(statementsOf(`${'$'.repeat(200_000)};`, 'postgres').length, 1)
})

test('cells of tests are numbers, texts, truth and NULL', () => {
  const rows = { columns: ['a'], rows: [[1, 2.5, 'é', true, null].map(cellOf)] }
  assert.deepEqual(plainRows(rows), [[1, 2.5, 'é', true, null]])
  assert.deepEqual(plainRows(rowsOf([n('9223372036854775807')])), [['9223372036854775807']])
})

const SCHEMA = `CREATE TABLE city(name text, people int, area numeric);
  INSERT INTO city VALUES ('नई दिल्ली', 250, 42.7), ('Zürich', 430, 87.9), ('東京', 14000, 2194), ('Nowhere', NULL, NULL);`

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`${dialect}: a query is right when its rows are`, { skip: missing(dialect) }, async () => {
    const check = (query: string, gold: string): Promise<string> =>
      checkQuery({ dialect, query, gold, schemas: [SCHEMA] }).then(({ verdict }) => verdict)
    const gold = 'SELECT name, people FROM city WHERE people > 300'
    assert.equal(
      await check('SELECT c.name AS stadt, c.people FROM city c WHERE people >= 301 ORDER BY 2 DESC', gold),
      'ok',
    )
    assert.equal(await check("SELECT name, people FROM city WHERE name IN ('Zürich', '東京')", gold), 'ok')
    assert.equal(await check('SELECT people, name FROM city WHERE people > 300', gold), 'wrong-answer')
    assert.equal(await check('SELECT name FROM city WHERE people > 300', gold), 'wrong-answer')
    assert.equal(await check('SELECT name, people FROM city', gold), 'wrong-answer')
    assert.equal(await check('', gold), 'wrong-answer')
    assert.equal(await check('SELEC name', gold), 'compile-error')
    assert.equal(await check('SELECT * FROM citty', gold), 'compile-error')
    const ordered = 'SELECT name FROM city WHERE people IS NOT NULL ORDER BY people'
    assert.equal(await check('SELECT name FROM city WHERE people > 0 ORDER BY people ASC', ordered), 'ok')
    assert.equal(await check('SELECT name FROM city WHERE people > 0 ORDER BY people DESC', ordered), 'wrong-answer')
    assert.equal(await check('SELECT sum(area) / 3 FROM city', 'SELECT avg(area) FROM city'), 'ok')
    assert.equal(await check('SELECT count(people) FROM city', 'SELECT 3.0'), 'ok')
  })

  test(
    `${dialect}: nothing is left for the next query, and a second database unmasks a constant`,
    { skip: missing(dialect) },
    async () => {
      const other =
        "CREATE TABLE city(name text, people int, area numeric); INSERT INTO city VALUES ('Riga', 600, 304);"
      const query = 'SELECT count(*) FROM city WHERE people > 300'
      const gold = 'SELECT count(*) FROM city WHERE people > 301'
      assert.deepEqual(await checkQuery({ dialect, query, gold, schemas: [SCHEMA, other] }), {
        passed: 2,
        databases: 2,
        verdict: 'ok',
        detail: '',
      })
      const guessed = await checkQuery({ dialect, query: 'SELECT 2', gold, schemas: [SCHEMA, other] })
      assert.deepEqual([guessed.passed, guessed.verdict], [1, 'wrong-answer'])
      const gone = await checkQuery({ dialect, query: 'DROP TABLE city; COMMIT; SELECT 2', gold, schemas: [SCHEMA] })
      assert.notEqual(gone.verdict, 'wrong-answer')
      assert.equal((await checkQuery({ dialect, query, gold, schemas: [SCHEMA] })).verdict, 'ok')
    },
  )

  test(
    `${dialect}: statements that change rows are compared by a query afterwards`,
    { skip: missing(dialect) },
    async () => {
      const given = { dialect, schemas: [SCHEMA], check: 'SELECT * FROM city ORDER BY name' }
      const gold = "UPDATE city SET people = 0 WHERE people IS NULL; DELETE FROM city WHERE name = 'Zürich'"
      const query = "DELETE FROM city WHERE people = 430; UPDATE city SET people = 0 WHERE name = 'Nowhere'"
      assert.equal((await checkQuery({ ...given, gold, query })).verdict, 'ok')
      assert.equal((await checkQuery({ ...given, gold, query: 'DELETE FROM city' })).verdict, 'wrong-answer')
    },
  )

  test(`${dialect}: a schema that fails is an error of the data`, { skip: missing(dialect) }, async () => {
    await assert.rejects(
      checkQuery({ dialect, query: 'SELECT 1', rows: [[1]], schemas: ['CREATE TABEL t(a int)'] }),
      /tables cannot be made.*TABEL/,
    )
    await assert.rejects(checkQuery({ dialect, query: 'SELECT 1', gold: 'SELECT * FROM nowhere' }), /gold query fails/)
  })

  test(`${dialect}: tests of output and of rows`, { skip: missing(dialect) }, async () => {
    const tests = [
      { stdin: SCHEMA, stdout: 'Zürich|430\n東京|14000\n' },
      { call: 'rows', arguments: ['SELECT 1, 2.5, NULL'], expected: [[1, 2.5, null]] },
    ]
    const source = 'SELECT name, people FROM city WHERE people > 300 ORDER BY people'
    const { tests: results } = await checkProgram({ language: dialect, source, tests })
    // The second has no tables.
    assert.deepEqual(
      results.map(({ verdict }) => verdict),
      ['ok', 'compile-error'],
    )
    assert.equal((await checkProgram({ language: dialect, source: 'SELECT 1', tests: [tests[1]] })).verdict, 'ok')
    assert.equal(
      (await runProgram({ language: dialect, source: 'SELECT' })).verdict,
      dialect === 'sqlite' ? 'compile-error' : 'ok',
    )
  })
}

test('sql-result reads the problem and the reply', { skip: missing('sqlite') }, async () => {
  const reward = sqlResult()
  const sample = (reply: string, data: object): ReturnType<typeof transcriptOf> => transcriptOf({ reply, ...data })
  const data = { schema: SCHEMA, gold: 'SELECT name FROM city WHERE people > 300' }
  const right = 'Here it is:\n```sql\nSELECT name FROM city WHERE people >= 430\n```\nIt lists large cities.'
  assert.equal(await reward.score(sample(right, data)), 1)
  assert.equal(await reward.score(sample('SELECT name FROM city', data)), 0)
  assert.equal(await reward.score(sample('', data)), 0)
  assert.equal(await reward.score(sample('東京, Zürich \u200b\ud800', data)), 0)
  assert.equal(await reward.score(sample(`${'('.repeat(500_000)}`, data)), 0)
  assert.equal(await reward.score(sample(right, { schema: SCHEMA, rows: [['Zürich'], ['東京']] })), 1)
  assert.equal(await reward.score(sample(right, { schema: SCHEMA })), null)
  await assert.rejects(async () => reward.score(sample(right, { ...data, gold: 'SELECT x' })), /gold query fails/)
  await assert.rejects(async () => reward.score(sample(right, { ...data, dialect: 'lua' })), /not sqlite or postgres/)
  const [one, two] = await reward.scoreAll!([sample(right, data), sample(right, { ...data, schema: 'nonsense' })])
  assert.equal(one, 1)
  assert.ok(two instanceof Error)
})
