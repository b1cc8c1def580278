// Checks a minute, each in fresh state: node benchmarks/sandbox.mjs [seconds]; results in benchmarks/results/sandbox.json.
// A check is one short program (read two lines, sum, sort, fib(15)) with its input and expected output.
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { checkProgram, createSandbox, languages, sandboxCapabilities } from '../dist/rewards/code/index.js'

const seconds = Number(process.argv[2] ?? 10)
const children = availableParallelism()
const tests = [{ stdin: '5 3 9 1\nhello\n', stdout: '18\n1 3 5 9\n610\nHELLO\n' }]
const javascript = `
const [numbers, word] = require('fs').readFileSync(0, 'utf8').split('\\n')
const list = numbers.split(' ').map(Number)
console.log(list.reduce((a, b) => a + b, 0))
console.log([...list].sort((a, b) => a - b).join(' '))
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2))
console.log(fib(15))
console.log(word.toUpperCase())`
const programs = {
  javascript,
  typescript: javascript.replace('(n) =>', '(n: number): number =>'),
  lua: `
local list, sum = {}, 0
for x in io.read('l'):gmatch('%d+') do list[#list + 1] = tonumber(x) sum = sum + tonumber(x) end
print(sum)
table.sort(list)
print(table.concat(list, ' '))
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(15))
print(io.read('l'):upper())`,
  python: `
numbers = list(map(int, input().split()))
print(sum(numbers))
print(*sorted(numbers))
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(15))
print(input().upper())`,
}

const results = {}
for (const [language, source] of Object.entries(programs)) {
  const sandbox = createSandbox(languages[language], { children, spares: 0 })
  const check = () => checkProgram({ language, source, tests, sandbox, limits: { seconds: 20 } })
  const began = performance.now()
  const first = await check()
  if (first.share !== 1) throw new Error(`${language}: ${JSON.stringify(first)}`)
  const startSeconds = (performance.now() - began) / 1000
  await Promise.all(Array.from({ length: children }, check))
  let checks = 0
  const started = performance.now()
  const worker = async () => {
    while (performance.now() - started < seconds * 1000) {
      const { share } = await check()
      if (share !== 1) throw new Error(`${language} failed`)
      checks++
    }
  }
  await Promise.all(Array.from({ length: children }, worker))
  const perMinute = Math.round((checks * 60_000) / (performance.now() - started))
  results[language] = { perMinute, startSeconds: Number(startSeconds.toFixed(2)) }
  console.log(
    `${language.padEnd(12)} ${String(perMinute).padStart(6)} checks a minute, first after ${startSeconds.toFixed(1)} s`,
  )
  await sandbox.close()
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const { network, permissions, privileges } = sandboxCapabilities()
const report = {
  version,
  node: process.version,
  children,
  seconds,
  load: Number(loadavg()[0].toFixed(1)),
  walls: { imports: true, permissions, network, privileges },
  results,
}
writeFileSync(new URL('results/sandbox.json', import.meta.url), `${JSON.stringify(report, null, 2)}\n`)
