/** For tests: folders of tiny encoders with tokenizers, as tools/fixtures/semantic.py had them. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeSafetensors } from '../../models/index.js'

interface StoredTensor {
  shape: number[]
  data: number[]
}

export interface SemanticFixture {
  texts: string[]
  folders: Record<
    string,
    {
      embeddings: Record<string, number[][]>
      whole: number[][]
      files: Record<string, unknown>
      dense?: { path: string; 'linear.weight': StoredTensor; 'linear.bias': StoredTensor }
      together: { pair: [string, string]; ids: number[]; mean: number[] }[]
      alignments?: { source: string; reply: string; layer: number; argmax: number[][]; softmax: number[][] }[]
    }
  >
  csls: { k: number; x: number[][]; y: number[][]; values: number[][] }
}

const place = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export const semanticFixture = JSON.parse(
  readFileSync(place('../../../src/rewards/semantic/semantic.fixture.json'), 'utf8'),
) as SemanticFixture

/** A temporary folder with the encoder `name`; with `modules`, those of sentence-transformers too. The caller removes it. */
export function encoderFolder(name: 'bert' | 'xlm-roberta', options: { modules?: boolean } = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'myriad-encoder-'))
  const { files, dense } = semanticFixture.folders[name]
  for (const file of ['config.json', 'model.safetensors'])
    copyFileSync(join(place('../../../src/models/fixtures/encoders'), name, file), join(folder, file))
  for (const [file, json] of Object.entries(files)) {
    if (!options.modules && !file.startsWith('tokenizer')) continue
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), JSON.stringify(json))
  }
  if (options.modules && dense) {
    const tensor = ({ shape, data }: StoredTensor) => ({ shape, data: Float32Array.from(data) })
    writeSafetensors(join(folder, dense.path), {
      'linear.weight': tensor(dense['linear.weight']),
      'linear.bias': tensor(dense['linear.bias']),
    })
  }
  return folder
}
