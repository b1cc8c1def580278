/**
 * What a plain program expects of Node around the language: console, process, standard input, timers on a virtual clock. A
 * function expression in JavaScript for QuickJS, called with `write(descriptor, text)`, `exit(code)` and the input; it returns what
 * the host needs, closed over before any program can patch a builtin.
 */
export const JAVASCRIPT_PRELUDE = String.raw`(function (write, exit, input, now) {
  'use strict'
  const { stringify, parse } = JSON
  const { apply, ownKeys, getPrototypeOf } = Reflect
  const isArray = Array.isArray
  const G = globalThis
  const hasOwn = Object.hasOwn
  const fail = (message) => { throw new Error(message) }

  function quoted(text) {
    const quote = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('${'`'}') ? '${'`'}' : "'"
    return quote + text.replace(/[\\\n\t\r\b\f\v]/g, (c) => ({ '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r', '\b': '\\b', '\f': '\\f', '\v': '\\v' })[c])
      .replace(quote === "'" ? /'/g : /$^/g, "\\'") + quote
  }
  function keyed(key) {
    return typeof key === 'symbol' ? '[' + key.toString() + ']' : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key)
  }
  function wrapped(open, parts, close) {
    if (parts.length === 0) return open + close
    const line = open + ' ' + parts.join(', ') + ' ' + close
    return line.length <= 76 && !line.includes('\n') ? line : open + '\n  ' + parts.join(',\n').replace(/\n/g, '\n  ') + '\n' + close
  }
  function shown(value, depth, seen) {
    switch (typeof value) {
      case 'string': return quoted(value)
      case 'number': return Object.is(value, -0) ? '-0' : String(value)
      case 'bigint': return value + 'n'
      case 'symbol': return value.toString()
      case 'function': {
        const isClass = /^class\b/.test(Function.prototype.toString.call(value))
        return isClass ? '[class ' + (value.name || '(anonymous)') + ']' : '[Function' + (value.name ? ': ' + value.name : ' (anonymous)') + ']'
      }
      case 'object': break
      default: return String(value)
    }
    if (value === null) return 'null'
    if (seen.includes(value)) return '[Circular *1]'
    const proto = getPrototypeOf(value)
    const name = proto === null ? '[Object: null prototype]' : (typeof proto.constructor === 'function' && proto.constructor.name) || 'Object'
    if (value instanceof Error) return value.stack ? String(value) + '\n' + String(value.stack).trimEnd() : '[' + String(value) + ']'
    if (value instanceof Date) return isNaN(value) ? 'Invalid Date' : value.toISOString()
    if (value instanceof RegExp) return String(value)
    if (value instanceof Promise) return 'Promise { <pending> }'
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return '[' + name + ': ' + shown(value.valueOf(), depth, seen) + ']'
    if (depth > 2) return isArray(value) ? '[Array]' : '[' + name + ']'
    const inside = [...seen, value]
    const sub = (v) => shown(v, depth + 1, inside)
    const rest = (keys) => keys.filter((k) => Object.getOwnPropertyDescriptor(value, k).enumerable).map((k) => {
      const d = Object.getOwnPropertyDescriptor(value, k)
      return keyed(k) + ': ' + (d.get ? (d.set ? '[Getter/Setter]' : '[Getter]') : d.set ? '[Setter]' : sub(d.value))
    })
    if (isArray(value) || ArrayBuffer.isView(value) && !(value instanceof DataView)) {
      const parts = []
      let holes = 0
      const hole = () => { if (holes) parts.push('<' + holes + ' empty item' + (holes > 1 ? 's' : '') + '>'); holes = 0 }
      for (let i = 0; i < value.length && parts.length < 100; i++) {
        if (!(i in value)) { holes++; continue }
        hole(); parts.push(sub(value[i]))
      }
      hole()
      if (value.length > 100) parts.push('... ' + (value.length - 100) + ' more item' + (value.length > 101 ? 's' : ''))
      if (isArray(value)) parts.push(...rest(ownKeys(value).filter((k) => k !== 'length' && !/^(0|[1-9]\d*)$/.test(String(k)))))
      const prefix = isArray(value) && name === 'Array' ? '' : name + '(' + value.length + ') '
      // Node sets more than six in columns; only the short case is the same.
      return prefix + wrapped('[', parts, ']')
    }
    if (value instanceof Map) return 'Map(' + value.size + ') ' + wrapped('{', [...value].map(([k, v]) => sub(k) + ' => ' + sub(v)), '}')
    if (value instanceof Set) return 'Set(' + value.size + ') ' + wrapped('{', [...value].map(sub), '}')
    return (name === 'Object' ? '' : name + ' ') + wrapped('{', rest(ownKeys(value)), '}')
  }
  function format(...values) {
    let first = ''
    if (typeof values[0] === 'string' && values.length > 1 && values[0].includes('%')) {
      let next = 1
      first = values[0].replace(/%[sdifjoOc%]/g, (mark) => {
        if (mark === '%%') return '%'
        if (next >= values.length) return mark
        const value = values[next++]
        if (mark === '%s') return typeof value === 'string' ? value : typeof value === 'object' ? shown(value, 1, []) : shown(value, 0, [])
        if (mark === '%d') return typeof value === 'object' ? 'NaN' : String(Number(value))
        if (mark === '%i') return String(parseInt(value))
        if (mark === '%f') return String(parseFloat(value))
        if (mark === '%j') return stringify(value)
        if (mark === '%c') return ''
        return shown(value, 0, [])
      })
      values = values.slice(next)
      return [first, ...values.map((v) => (typeof v === 'string' ? v : shown(v, 0, [])))].join(' ')
    }
    return values.map((v) => (typeof v === 'string' ? v : shown(v, 0, []))).join(' ')
  }

  let indent = ''
  const say = (fd) => (...values) => { write(fd, indent + (indent ? format(...values).replace(/\n/g, '\n' + indent) : format(...values)) + '\n') }
  const counts = {}
  const console = {
    log: say(1), info: say(1), debug: say(1), error: say(2), warn: say(2), trace: say(2),
    dir: (value) => say(1)(value), table: say(1), assert: (ok, ...v) => { if (!ok) say(2)('Assertion failed', ...v) },
    group: (...v) => { if (v.length) say(1)(...v); indent += '  ' }, groupEnd: () => { indent = indent.slice(2) },
    count: (label = 'default') => say(1)(label + ': ' + (counts[label] = (counts[label] || 0) + 1)),
    time() {}, timeEnd() {}, timeLog() {}, clear() {},
  }

  // Timers never wait: the clock jumps to the next of them.
  let clock = 0, lastTimer = 0
  let timers = []
  const add = (repeat) => (call, delay = 0, ...args) => {
    const id = ++lastTimer
    const every = Math.max(1, Number(delay) || 0)
    timers.push({ id, at: clock + every, call, args, every: repeat ? every : 0 })
    return id
  }
  const remove = (id) => { timers = timers.filter((timer) => timer.id !== id) }
  function runTimer() {
    if (timers.length === 0) return false
    let next = timers[0]
    for (const timer of timers) if (timer.at < next.at) next = timer
    clock = next.at
    if (next.every) next.at += next.every
    else remove(next.id)
    if (typeof next.call === 'function') apply(next.call, undefined, next.args)
    return true
  }

  const lines = () => { const all = input.split(/\r?\n/); if (all[all.length - 1] === '') all.pop(); return all }
  let unread = null
  const readline = () => { unread ??= lines(); return unread.length ? unread.shift() : null }
  function emitter(target) {
    const heard = {}
    target.on = target.addListener = (name, call) => { (heard[name] ??= []).push(call); return target }
    target.once = target.on
    target.off = target.removeListener = target.removeAllListeners = () => target
    target.emit = (name, ...args) => { for (const call of heard[name] ?? []) apply(call, target, args); return target }
    target.heard = (name) => (heard[name] ?? []).length
    return target
  }
  const stdin = emitter({ fd: 0, isTTY: false, setEncoding() { return stdin }, resume() { return stdin }, pause() { return stdin }, unref() {}, ref() {},
    read() { const all = taken ? null : input; taken = true; return all },
    pipe: (to) => to,
    async *[Symbol.asyncIterator]() { if (input) yield input } })
  let taken = false
  add(false)(() => {
    if (stdin.heard('readable')) { stdin.emit('readable'); if (!taken) stdin.emit('readable') }
    if (stdin.heard('data') && input) stdin.emit('data', input)
    stdin.emit('end'); stdin.emit('close')
  }, 0)
  const stream = (fd) => ({ fd, isTTY: false, columns: 80, write(text) { write(fd, String(text)); return true }, end(text) { if (text !== undefined) write(fd, String(text)) }, on() { return this }, once() { return this } })
  function createInterface() {
    const left = lines()
    let closed = false
    const asked = []
    const rl = emitter({ close() { if (!closed) { closed = true; rl.emit('close') } }, setPrompt() {}, prompt() {}, pause: () => rl, resume: () => rl, write() {},
      question(text, options, call) {
        if (typeof options === 'function') call = options
        write(1, String(text))
        add(false)(() => { if (left.length) call(left.shift()) })
      },
      async *[Symbol.asyncIterator]() { while (left.length) yield left.shift(); closed = true } })
    const feed = () => {
      if (closed) return
      if (!rl.heard('line') && !rl.heard('close')) return
      if (rl.heard('line')) while (left.length && !closed) rl.emit('line', left.shift())
      rl.close()
    }
    add(false)(feed, 2)
    return rl
  }
  const promised = { createInterface() {
    const rl = createInterface(); const ask = rl.question
    rl.question = (text) => new Promise((done) => ask(text, done)); return rl } }
  const readFileSync = (path, encoding) => {
    if (path !== 0 && path !== '/dev/stdin' && path !== '/proc/self/fd/0') { const e = new Error("ENOENT: no such file or directory, open '" + String(path) + "'"); e.code = 'ENOENT'; throw e }
    return encoding ? input : { toString: () => input, valueOf: () => input, length: input.length }
  }
  const writeSync = (fd, text) => { if (fd !== 1 && fd !== 2) fail('EBADF: bad file descriptor'); write(fd, String(text)); return String(text).length }
  const fs = { readFileSync, writeSync, existsSync: () => false,
    writeFileSync: (path, text) => { if (path === 1 || path === '/dev/stdout') write(1, String(text)); else if (path === 2 || path === '/dev/stderr') write(2, String(text)); else fail('EACCES: permission denied') } }
  class Exit extends Error {}
  const process = { argv: ['node', 'program.js'], argv0: 'node', env: {}, platform: 'linux', pid: 1, version: 'v20.0.0', versions: {}, exitCode: undefined, stdin, stdout: stream(1), stderr: stream(2),
    exit(code) { exit(Number(code ?? process.exitCode ?? 0) | 0); throw new Exit('exit') }, cwd: () => '/', on() { return process }, once() { return process }, emitWarning() {}, uptime: () => now() / 1000,
    nextTick: (call, ...args) => { Promise.resolve().then(() => apply(call, undefined, args)) }, memoryUsage: () => ({ rss: 0, heapUsed: 0, heapTotal: 0 }),
    hrtime: Object.assign(() => [Math.floor(now() / 1000), Math.floor((now() % 1000) * 1e6)], { bigint: () => BigInt(Math.floor(now() * 1e6)) }) }
  const same = (a, b) => shown(a, -1000, []) === shown(b, -1000, [])
  const assert = (ok, message) => { if (!ok) { const e = message instanceof Error ? message : new Error(message ?? 'Assertion failed'); if (!(message instanceof Error)) e.name = 'AssertionError'; throw e } }
  Object.assign(assert, { ok: assert, strictEqual: (a, b, m) => assert(Object.is(a, b), m), equal: (a, b, m) => assert(a == b, m), notStrictEqual: (a, b, m) => assert(!Object.is(a, b), m),
    deepEqual: (a, b, m) => assert(same(a, b), m), deepStrictEqual: (a, b, m) => assert(same(a, b), m),
    throws: (call, m) => { try { call() } catch { return } assert(false, typeof m === 'string' ? m : 'Missing expected exception.') } })
  assert.strict = assert
  const util = { inspect: (value) => shown(value, 0, []), format, isDeepStrictEqual: same, promisify: (call) => (...args) => new Promise((done, no) => call(...args, (e, v) => (e ? no(e) : done(v)))) }
  class EventEmitter { constructor() { emitter(this) } }
  EventEmitter.EventEmitter = EventEmitter
  const known = { fs, readline: { createInterface, promises: promised }, 'readline/promises': promised, process, assert, 'assert/strict': assert, util, events: EventEmitter, perf_hooks: { performance: { now } },
    os: { EOL: '\n' }, timers: {}, path: { join: (...parts) => parts.join('/').replace(/\/+/g, '/') } }
  const find = (name) => {
    const bare = String(name).replace(/^node:/, '')
    return hasOwn(known, bare) ? known[bare] : null
  }
  const require = (name) => {
    const found = find(name)
    if (found === null) { const e = new Error("Cannot find module '" + String(name) + "'"); e.code = 'MODULE_NOT_FOUND'; throw e }
    return found
  }
  const module = { exports: {} }
  function structuredClone(value) {
    const seen = new Map()
    const copy = (v) => {
      if (typeof v === 'function' || typeof v === 'symbol') fail('could not be cloned')
      if (typeof v !== 'object' || v === null) return v
      if (seen.has(v)) return seen.get(v)
      const made = isArray(v) ? [] : v instanceof Map ? new Map() : v instanceof Set ? new Set() : v instanceof Date ? new Date(v) : v instanceof RegExp ? new RegExp(v) : {}
      seen.set(v, made)
      if (v instanceof Map) for (const [k, x] of v) made.set(copy(k), copy(x))
      else if (v instanceof Set) for (const x of v) made.add(copy(x))
      else if (!(v instanceof Date || v instanceof RegExp)) for (const k of Object.keys(v)) made[k] = copy(v[k])
      return made
    }
    return copy(value)
  }
  const set = (name, value) => Object.defineProperty(G, name, { value, writable: true, configurable: true, enumerable: false })
  for (const [name, value] of Object.entries({ console, process, require, module, exports: module.exports, global: G, readline, print: console.log, structuredClone,
    setTimeout: add(false), setInterval: add(true), setImmediate: (call, ...args) => add(false)(call, 0, ...args), clearTimeout: remove, clearInterval: remove, clearImmediate: remove,
    queueMicrotask: (call) => { Promise.resolve().then(call) }, performance: { now } })) set(name, value)

  const LARGE = 9007199254740991n
  const plain = Object.getPrototypeOf
  function simple(value) {
    if (typeof value === 'bigint') return value > LARGE || value < -LARGE ? value + '' : Number(value)
    if (typeof value === 'number') return !Number.isFinite(value) ? String(value) : Number.isInteger(value) && Math.abs(value) > 9007199254740991 && Math.abs(value) < 1e21 ? BigInt(value) + '' : value
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Map) { const made = {}; for (const [k, v] of value) made[k] = simple(v); return made }
    if (value instanceof Set || ArrayBuffer.isView(value)) return [...value].map(simple)
    if (isArray(value)) return value.map(simple)
    if (typeof value.toJSON === 'function') return value.toJSON()
    const made = {}
    for (const key of Object.keys(value)) made[key] = simple(value[key])
    return made
  }
  function lookUp(evaluate, path, exported) {
    const [first, ...rest] = path.split('.')
    let self
    let found = exported ? (exported.__called ?? exported[first]) : undefined
    if (found === undefined) { try { found = evaluate(first) } catch {} }
    if (found === undefined && module.exports) found = typeof module.exports === 'function' && module.exports.name === first ? module.exports : module.exports[first]
    for (const name of rest) { self = found; found = found == null ? undefined : found[name] }
    if (typeof found !== 'function') throw new TypeError(path + ' is not a function of the program')
    return (args) => apply(found, self, args)
  }
  return {
    runTimer, require: find, exitCode: () => process.exitCode,
    names: (name) => { const found = find(name); return found === null ? null : stringify(Object.keys(found).filter((k) => /^[A-Za-z_$][\w$]*$/.test(k) && k !== 'default')) },
    call: (evaluate, path, json, exported) => lookUp(evaluate, path, exported)(parse(json)),
    json: (value) => { const text = stringify(simple(value)); return text === undefined ? 'null' : text },
    shown: (value) => (value instanceof Error ? String(value) + '\n' + (value.stack ?? "").slice(0, 2000) : "Uncaught " + shown(value, 0, [])),
  }
})`
