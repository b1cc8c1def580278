import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelCard } from './index.js'

test('a card says what it was given, in the words of the hub', () => {
  const card = modelCard({
    title: 'Tiny: a model',
    language: ['no', 'sw', 'zh-Hant'],
    license: 'apache-2.0',
    baseModel: ['HuggingFaceTB/SmolLM2-135M-Instruct'],
    baseModelRelation: 'finetune',
    tags: ['grpo', 'has "quotes"', '1.0', ''],
    metrics: ['accuracy'],
    datasets: [],
    results: [
      {
        task: 'text-generation',
        dataset: { name: 'arithmetic: sums', type: 'myriad' },
        metric: { name: 'mean reward', type: 'reward', value: 0.75 },
      },
    ],
    text: '\nTrained.\n',
  })
  // Read back by huggingface_hub's ModelCard in tools/check-transformers.py.
  assert.equal(
    card,
    `---
language:
  - "no"
  - sw
  - zh-Hant
license: apache-2.0
base_model:
  - HuggingFaceTB/SmolLM2-135M-Instruct
base_model_relation: finetune
library_name: transformers
pipeline_tag: text-generation
tags:
  - grpo
  - "has \\"quotes\\""
  - "1.0"
  - ""
metrics:
  - accuracy
model-index:
  - name: "Tiny: a model"
    results:
      - task:
          type: text-generation
        dataset:
          name: "arithmetic: sums"
          type: myriad
        metrics:
          - name: mean reward
            type: reward
            value: 0.75
---

# Tiny: a model

Trained.
`,
  )
})

test('what is not given is not said', () => {
  assert.equal(
    modelCard({ title: 'T', text: 'x' }),
    '---\nlibrary_name: transformers\npipeline_tag: text-generation\n---\n\n# T\n\nx\n',
  )
})
