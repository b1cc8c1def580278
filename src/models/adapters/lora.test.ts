import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  adapterSchema,
  adapterShapes,
  initializeAdapter,
  readAdapter,
  readCheckpoint,
  readSafetensors,
  writeAdapter,
  writeSafetensors,
} from '../index.js'
import { furthest } from '../testing.js'
import {
  adaptedLogits,
  adapterGradients,
  folderOf,
  loraFixtures,
  models,
  readLoraFixture,
  requireLora,
} from './testing.js'

const lora = (options: object = {}): ReturnType<typeof requireLora> =>
  requireLora(adapterSchema.parse({ kind: 'lora', ...options }))

async function inTemporary(use: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-lora-'))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

for (const name of loraFixtures) {
  test(`${name}: logits are those of peft`, async () => {
    const fixture = await readLoraFixture(name)
    const results = await adaptedLogits(fixture, fixture.sequences)
    fixture.logits.forEach((scores, i) => {
      const error = furthest(results[i], scores)
      assert.ok(error < 1e-4, `sequence ${i} is off by ${error}`)
    })
  })

  test(`${name}: every gradient is that of torch, also with layers that are computed again`, async () => {
    const fixture = await readLoraFixture(name)
    const { tensors } = readSafetensors(join(folderOf(name), 'gradients.safetensors'))
    for (const again of [false, true]) {
      const { gradients } = await adapterGradients(fixture, fixture.sequences[2], { again })
      assert.equal(Object.keys(gradients).length, Object.keys(tensors).length)
      for (const [weight, gradient] of Object.entries(gradients)) {
        const expected = tensors[`base_model.model.${weight}`].data
        const largest = expected.reduce((a, b) => Math.max(a, Math.abs(b)), 0)
        const error = furthest(gradient, expected) / largest
        assert.ok(error < 1e-3, `${weight} is off by ${error} of its largest`)
      }
    }
  })

  test(`${name}: what is written is read again as it was, by peft's own fields`, () =>
    inTemporary(async (temporary) => {
      const { config, base } = await readLoraFixture(name)
      const read = readAdapter(folderOf(name), config)
      const folder = join(temporary, name)
      writeAdapter(folder, { config, ...read, base })
      assert.deepEqual(readAdapter(folder, config), read)
      const fields = (place: string): Record<string, unknown> =>
        JSON.parse(readFileSync(join(place, 'adapter_config.json'), 'utf8')) as Record<string, unknown>
      const peft = fields(folderOf(name))
      for (const [key, value] of Object.entries(fields(folder))) assert.deepEqual(value, peft[key], key)
    }))
}

test('a new adapter changes nothing: A is uniform, B zero, magnitudes the norms of the base', async () => {
  const { config, weights } = await readCheckpoint(join(models, 'gpt2'))
  const adapter = lora({ rank: 4, dora: true })
  const parameters = initializeAdapter(config, adapter, 5, weights)
  assert.deepEqual(
    Object.entries(parameters).map(([name, { length }]) => [name, length]),
    Object.entries(adapterShapes(config, adapter)).map(([name, shape]) => [name, shape.reduce((a, b) => a * b)]),
  )
  const all = Object.entries(parameters).filter(([name]) => name.includes('lora_A') && !name.includes('mlp.c_proj'))
  const values = all.flatMap(([, data]) => [...data])
  assert.ok(values.every((value) => Math.abs(value) <= 1 / 4)) // 1 / sqrt(in), in = 16
  const variance = values.reduce((sum, value) => sum + value * value, 0) / values.length
  assert.ok(Math.abs(variance / (1 / 16 / 3) - 1) < 0.15, `${variance}`)
  assert.notDeepEqual(all[0][1], all[1][1])
  const sequence = [4, 7, 9, 1, 30]
  const plain = lora({ rank: 4 })
  const zero = { config, weights, adapter: plain, parameters: initializeAdapter(config, plain, 6, weights) }
  const [withDora] = await adaptedLogits({ config, weights, adapter, parameters }, [sequence])
  const [without] = await adaptedLogits(zero, [sequence])
  assert.ok(furthest(withDora, without) < 1e-5)
  assert.deepEqual(initializeAdapter(config, adapter, 5, weights), parameters)
  assert.notDeepEqual(initializeAdapter(config, adapter, 6, weights), parameters)
})

test('targets and patterns mean what they mean to peft, and are refused when they mean nothing', async () => {
  const { config } = await readCheckpoint(join(models, 'llama'))
  const chosen = (targets: unknown): string[] =>
    Object.keys(adapterShapes(config, lora({ targets }))).filter((name) => name.includes('lora_A'))
  assert.equal(chosen('all-linear').length, 14)
  assert.deepEqual(chosen(['q_proj', 'layers.1.mlp.up_proj', 'lm_head']), [
    'model.layers.0.self_attn.q_proj.lora_A.weight',
    'model.layers.1.self_attn.q_proj.lora_A.weight',
    'model.layers.1.mlp.up_proj.lora_A.weight',
    'lm_head.lora_A.weight',
  ])
  assert.equal(chosen('.*(gate|up)_proj').length, 4)
  assert.throws(() => chosen(['proj']), /targets \["proj"\] name no linear layer; there are q_proj, k_proj/)
  assert.throws(() => chosen('q_proj'), /name no linear layer/)
  assert.throws(() => chosen('('), /targets "\(" is no regular expression/)
  const ranks = (rankPattern: Record<string, number>): number[] =>
    Object.entries(adapterShapes(config, lora({ rank: 7, targets: ['q_proj', 'k_proj'], rankPattern })))
      .filter(([name]) => name.includes('lora_A'))
      .map(([, [rank]]) => rank)
  assert.deepEqual(ranks({ '0.self_attn.q_proj|1.self_attn.k_proj': 2, k_proj: 3, proj: 4 }), [2, 3, 7, 2])
  assert.deepEqual(ranks({ '^model.layers.0.*': 5 }), [5, 5, 7, 7])
  assert.throws(() => ranks({ '[': 2 }), /rankPattern "\[" is no regular expression/)
})

test('a new adapter’s pattern that matches no layer is refused; one that peft saved has no effect', async () => {
  const { config, weights } = await readCheckpoint(join(models, 'llama'))
  const begin = (options: object): unknown =>
    initializeAdapter(config, lora({ targets: ['q_proj'], ...options }), 1, weights)
  begin({ rankPattern: { '0.self_attn.q_proj': 2 }, alphaPattern: { q_proj: 3 } })
  assert.throws(() => begin({ rankPattern: { q_proj: 2, 'layers.7.*': 2, qproj: 4 } }), {
    code: 'usage',
    message: /rankPattern "layers\.7\.\*", "qproj" matches none of the 2 layers .* model\.layers\.0\.self_attn\.q_proj/,
  })
  // A layer of the model that is not trained is no better.
  assert.throws(() => begin({ alphaPattern: { k_proj: 4 } }), /alphaPattern "k_proj" matches none/)
  assert.doesNotThrow(() => adapterShapes(config, lora({ rankPattern: { qproj: 2 } })))
})

test('the model’s own output projection, which peft saves with an adapter of it, is passed over; a resized one is not', () =>
  inTemporary(async (temporary) => {
    const { config } = await readLoraFixture('head-llama')
    cpSync(folderOf('head-llama'), temporary, { recursive: true })
    const file = join(temporary, 'adapter_model.safetensors')
    const { tensors } = readSafetensors(file)
    const withHead = (rows: number): void => {
      const head = { shape: [rows, 16], data: new Float32Array(rows * 16) }
      writeSafetensors(file, { ...tensors, 'base_model.model.lm_head.base_layer.weight': head })
    }
    withHead(40)
    assert.deepEqual(readAdapter(temporary, config), readAdapter(folderOf('head-llama'), config))
    withHead(48)
    assert.throws(
      () => readAdapter(temporary, config),
      /does not ask for: "base_model\.model\.lm_head\.base_layer\.weight" \[48,16\]/,
    )
  }))

test('what is not supported is refused by name', () =>
  inTemporary(async (temporary) => {
    const { config } = await readLoraFixture('lora-llama')
    const changed = (fields: Record<string, unknown>): (() => void) => {
      cpSync(folderOf('lora-llama'), temporary, { recursive: true })
      const file = join(temporary, 'adapter_config.json')
      const json = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
      writeFileSync(file, JSON.stringify({ ...json, ...fields }))
      return () => readAdapter(temporary, config)
    }
    changed({ layers_to_transform: [], arrow_config: {}, peft_version: '9' })()
    assert.throws(changed({ bias: 'all' }), /"bias" is "all", which is not supported/)
    assert.throws(changed({ modules_to_save: ['lm_head'] }), /"modules_to_save" is \["lm_head"\]/)
    assert.throws(changed({ layers_to_transform: 1 }), /"layers_to_transform" is 1/)
    assert.throws(changed({ exclude_modules: ['q_proj'] }), /"exclude_modules".*name the targets/)
    assert.throws(changed({ init_lora_weights: 'pissa_niter_4' }), /"init_lora_weights" is "pissa_niter_4".*base/)
    assert.throws(changed({ use_tomorrows_method: true }), /"use_tomorrows_method" is true/)
    assert.throws(changed({ r: 0 }), /adapter_config\.json is not an adapter's configuration: "r"/)
    assert.throws(changed({ peft_type: 'VERA' }), /type "VERA" are not supported; supported are LORA, PROMPT/)
    assert.throws(
      changed({ r: 5 }),
      /"base_model\.model\.model\.layers\.0\.self_attn\.q_proj\.lora_A\.weight" has shape \[4,16\].*\[5,16\]/,
    )
    assert.throws(
      changed({ target_modules: ['q_proj', 'k_proj', 'v_proj'] }),
      /lacks tensor ".*k_proj\.lora_A\.weight" \[4,16\]/,
    )
    // Three are named, and the rest counted.
    assert.throws(
      changed({ target_modules: ['q_proj'] }),
      /holds (\d+) tensors that .* does not ask for: "[^"]*" \[[\d,]+\], "[^"]*" \[[\d,]+\], "[^"]*" \[[\d,]+\] and \d+ others$/,
    )
    assert.throws(changed({ target_modules: ['query'] }), /\["query"\] name no linear layer; there are q_proj/)
    assert.throws(() => readAdapter(join(temporary, 'none'), config), /is .*none the folder of an adapter/)
  }))
