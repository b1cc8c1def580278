// Runs every compiled test (dist/**/*.test.js) with Node's own test runner; paths or name fragments as arguments narrow it.
import { readdirSync } from 'node:fs'
import { spawnSync } from 'node:child_process'

const wanted = process.argv.slice(2)
const files = readdirSync('dist', { recursive: true, encoding: 'utf8' })
  .map((file) => `dist/${file.replaceAll('\\', '/')}`)
  .filter((file) => file.endsWith('.test.js') && (wanted.length === 0 || wanted.some((part) => file.includes(part))))
  .sort()
if (files.length === 0) {
  console.error(`no compiled test matches ${wanted.join(' ') || 'dist/**/*.test.js'}; run "npm run build" first`)
  process.exit(1)
}
const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...files], { stdio: 'inherit' })
process.exit(run.status ?? 1)
