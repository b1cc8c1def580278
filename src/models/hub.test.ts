import assert from 'node:assert/strict'
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { MyriadError } from '../core/index.js'
import { fakeHub, repository, type FakeHub } from './hub-testing.js'
import {
  downloadModel,
  initializeWeights,
  parseDecoderConfig,
  parseHubModel,
  readCheckpoint,
  writeCheckpoint,
  type DownloadOptions,
  type DownloadProgress,
} from './index.js'

const folder = mkdtempSync(join(tmpdir(), 'myriad-hub-'))
after(() => rmSync(folder, { recursive: true }))

const config = parseDecoderConfig({
  model_type: 'llama',
  vocab_size: 40,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  max_position_embeddings: 64,
  tie_word_embeddings: true,
})
const weights = initializeWeights(config, 1)

function modelFiles(shardBytes?: number): Record<string, Buffer> {
  const made = join(folder, 'made')
  writeCheckpoint(made, config, weights, { shardBytes, files: { 'tokenizer.json': '{"model": {}}' } })
  return Object.fromEntries(readdirSync(made).map((name) => [name, readFileSync(join(made, name))]))
}

let hub: FakeHub
let cache: string
let runs = 0
beforeEach(async () => {
  hub = await fakeHub({ ...modelFiles(), 'README.md': Buffer.from('# no'), 'pytorch_model.bin': Buffer.alloc(2000, 1) })
  cache = join(folder, `cache${++runs}`)
})
afterEach(() => hub.close())

const download = (
  id = repository,
  options: DownloadOptions & { offline?: boolean } = {},
): ReturnType<typeof downloadModel> =>
  downloadModel(id, {
    retryMs: 1,
    environment: {
      HF_ENDPOINT: `${hub.endpoint}/`,
      HF_HOME: cache,
      HF_TOKEN: hub.token,
      HF_HUB_OFFLINE: options.offline ? '1' : '',
    },
    ...options,
  })

async function refusal(work: Promise<unknown>, code: string): Promise<string> {
  try {
    await work
  } catch (error) {
    assert.ok(error instanceof MyriadError, String(error))
    assert.equal(error.code, code, error.message)
    return error.message
  }
  return assert.fail('nothing was refused')
}

const storage = (): string => join(cache, 'hub', 'models--someone--tiny-model')
const contents = (): string[] =>
  hub.requests.map(({ path }) => path.split('/').at(-1) ?? '').filter((name) => name in hub.files)

test('ids name a repository, a revision, a file', () => {
  assert.deepEqual(parseHubModel('a-b/c.d'), { repository: 'a-b/c.d', revision: 'main' })
  assert.deepEqual(parseHubModel('a/b@v1'), { repository: 'a/b', revision: 'v1' })
  assert.deepEqual(parseHubModel('a/b@refs/pr/1:x-Q4_0.gguf'), {
    repository: 'a/b',
    revision: 'refs/pr/1',
    file: 'x-Q4_0.gguf',
  })
  for (const text of ['a', './a/b', '/a/b', 'a/b/c', 'a/..', 'a/b@../x', 'a/b:x.bin', '../a'])
    assert.equal(parseHubModel(text), undefined, text)
})

test("what is needed is fetched into the cache's usual places, and nothing else", async () => {
  const seen: DownloadProgress[] = []
  const { path, files, bytes, fetched, commit } = await download(repository, {
    onProgress: (progress) => seen.push(progress),
  })
  assert.deepEqual(files, ['config.json', 'tokenizer.json', 'model.safetensors'])
  assert.equal(path, join(storage(), 'snapshots', hub.commit))
  assert.equal(commit, hub.commit)
  assert.equal(readFileSync(join(storage(), 'refs', 'main'), 'utf8'), hub.commit)
  assert.ok(lstatSync(join(path, 'config.json')).isSymbolicLink())
  assert.match(readlinkSync(join(path, 'model.safetensors')), /^\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/)
  assert.match(readlinkSync(join(path, 'config.json')), /^\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/)
  assert.deepEqual((await readCheckpoint(path)).weights, weights)
  assert.equal(fetched, bytes)
  assert.deepEqual([seen[0].bytes, seen.at(-1)?.bytes, seen.at(-1)?.total], [0, bytes, bytes])
  assert.ok(seen.every((progress, i) => i === 0 || progress.bytes >= seen[i - 1].bytes))

  hub.requests.length = 0
  assert.equal((await download()).fetched, 0)
  assert.deepEqual(contents(), [])
})

test('weights in several files come by their index', async () => {
  hub.files = { ...modelFiles(6000), 'model-extra.safetensors': Buffer.alloc(3000) }
  const { path, files } = await download()
  assert.ok(files.length > 5 && !files.includes('model-extra.safetensors'))
  assert.deepEqual((await readCheckpoint(path)).weights, weights)
  delete hub.files[files.at(-1) ?? '']
  cache += '-again'
  assert.match(await refusal(download(), 'checkpoint'), /names files that are not there: model-0000/)
})

test('a cut transfer goes on where it stopped, in the same run', async () => {
  hub.cuts = [10, 1e9, 1e9, 1500, 700]
  const { path } = await download()
  assert.deepEqual((await readCheckpoint(path)).weights, weights)
  const ranges = hub.requests.filter(({ path }) => path.endsWith('model.safetensors')).map(({ range }) => range)
  assert.deepEqual(ranges, [undefined, 'bytes=1500-', 'bytes=2200-'])
})

test('a transfer that fails for good leaves nothing that loads; the next run goes on from what came', async () => {
  const size = hub.files['model.safetensors'].length
  hub.cuts = [1e9, 1e9, 2000, 0, 0, 0, 0]
  const message = await refusal(download(), 'io')
  assert.match(message, /cannot fetch someone\/tiny-model from http.*look at the network/)
  assert.equal(existsSync(join(storage(), 'snapshots', hub.commit, 'model.safetensors')), false)
  assert.deepEqual(
    readdirSync(join(storage(), 'blobs')).filter((name) => name.length === 64),
    [],
  )
  await refusal(readCheckpoint(join(storage(), 'snapshots', hub.commit)), 'checkpoint')
  assert.match(await refusal(download(repository, { offline: true }), 'io'), /not whole in .*HF_HUB_OFFLINE/)

  hub.cuts = []
  hub.requests.length = 0
  const { path, fetched } = await download()
  assert.equal(fetched, size - 2000)
  assert.deepEqual(
    hub.requests.filter(({ path }) => path.endsWith('model.safetensors')).map(({ range }) => range),
    ['bytes=2000-'],
  )
  assert.deepEqual((await readCheckpoint(path)).weights, weights)
})

test('a server that ignores ranges, one that stumbles, and a host for the contents are coped with', async () => {
  hub.ignoresRanges = true
  hub.cuts = [1e9, 1e9, 1234]
  assert.deepEqual((await readCheckpoint((await download()).path)).weights, weights)

  cache += '-again'
  const other = await fakeHub(hub.files)
  try {
    hub.token = 'hf_secret'
    hub.redirectTo = other.endpoint
    other.statuses = [503, 429]
    assert.deepEqual((await readCheckpoint((await download()).path)).weights, weights)
    assert.ok(hub.requests.filter(({ authorization }) => authorization === 'Bearer hf_secret').length >= 5)
    assert.ok(other.requests.length >= 3 && other.requests.every(({ authorization }) => authorization === undefined))
  } finally {
    await other.close()
  }
})

test('bytes that are not those announced are thrown away', async () => {
  hub.lies = true
  assert.match(await refusal(download(), 'checkpoint'), /config\.json is not what was announced: its hash is/)
  assert.deepEqual(readdirSync(join(storage(), 'blobs')), [])
  hub.lies = false
  const { path } = await download()
  // A leftover of an earlier version of a file, longer than the file is.
  const blob = readlinkSync(join(path, 'model.safetensors'))
  rmSync(join(path, blob))
  writeFileSync(`${join(path, blob)}.incomplete`, Buffer.alloc(100_000))
  assert.deepEqual((await readCheckpoint((await download()).path)).weights, weights)
})

test('refusals say what and what to do', async () => {
  assert.match(await refusal(download('someone/else'), 'usage'), /has no model someone\/else, or no revision "main"/)
  assert.match(await refusal(download(`${repository}@v9`), 'usage'), /no revision "v9"/)
  assert.match(await refusal(download('no id'), 'usage'), /OWNER\/NAME/)
  hub.statuses = [401]
  assert.match(await refusal(download(), 'io'), /refuses access.*\(401\).*set HF_TOKEN/)
  hub.token = 'right'
  hub.statuses = [403]
  assert.match(await refusal(download(), 'io'), /the HF_TOKEN that is set may not read it/)
  hub.token = undefined
  hub.files = { 'config.json': Buffer.from('{}'), 'pytorch_model.bin': Buffer.from('x') }
  assert.match(await refusal(download(), 'checkpoint'), /neither safetensors nor a GGUF file \(pytorch_model\.bin/)
})

test('a GGUF file is fetched alone: the only one, or the one that is named', async () => {
  hub.files = { 'a.gguf': Buffer.alloc(2000, 1), 'README.md': Buffer.from('#') }
  assert.equal((await download()).path, join(storage(), 'snapshots', hub.commit, 'a.gguf'))
  assert.equal((await download(repository, { offline: true })).path, join(storage(), 'snapshots', hub.commit, 'a.gguf'))
  hub.files['b.gguf'] = Buffer.alloc(3000, 2)
  assert.match(await refusal(download(), 'usage'), /2 GGUF files; name one, as someone\/tiny-model:a\.gguf/)
  const { path } = await download(`${repository}:b.gguf`)
  assert.deepEqual(readFileSync(path), hub.files['b.gguf'])
  assert.match(await refusal(download(`${repository}:c.gguf`), 'usage'), /no file c\.gguf; it has a\.gguf, b\.gguf/)
})

test('without a network what is whole in the cache is used; what is not is refused with what to do', async () => {
  const { path } = await download()
  const offline = await download(repository, { offline: true })
  assert.deepEqual([offline.path, offline.fetched], [path, 0])
  await hub.close()
  assert.equal((await download()).path, path)
  assert.equal((await download(`${repository}@${hub.commit}`)).path, path)
  assert.match(
    await refusal(download('someone/other'), 'io'),
    /cannot fetch someone\/other.*ECONNREFUSED.*HF_ENDPOINT.*\.gguf/,
  )
  assert.match(await refusal(download('someone/other', { offline: true }), 'io'), /HF_HUB_OFFLINE forbids/)
})

test('a download can be called off', async () => {
  const stop = new AbortController()
  const work = download(repository, {
    signal: stop.signal,
    onProgress: ({ file }) => file === 'model.safetensors' && stop.abort(),
  })
  await assert.rejects(work, { name: 'AbortError' })
  assert.equal(existsSync(join(storage(), 'snapshots', hub.commit, 'model.safetensors')), false)
})

test('an HF_ENDPOINT that is no address is what is blamed', async () => {
  for (const HF_ENDPOINT of ['nonsense', 'ftp://hub'])
    await assert.rejects(downloadModel('someone/tiny', { environment: { HF_ENDPOINT } }), {
      code: 'io',
      message: new RegExp(`HF_ENDPOINT is "${HF_ENDPOINT}", which is no address of a hub`),
    })
})
