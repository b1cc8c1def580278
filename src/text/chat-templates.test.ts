import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createChatFormat } from './chat.js'
import { createTokenizer, type TextTokenizer } from './tokenizer.js'
import type { Message } from './types.js'

// Made by tools/fixtures/chat-templates.py: what transformers' apply_chat_template answers; null where it refuses.
interface Case {
  template: string
  family: string
  variables: string
  conversation: string
  ids: [string | null, string | null]
}
interface Fixture {
  conversations: Record<string, Message[]>
  variables: Record<string, Record<string, unknown>>
  cases: Case[]
}

const folder = new URL('../../src/text/fixtures/', import.meta.url)
const readText = (name: string): string => readFileSync(new URL(name, folder), 'utf8')
const fixture = JSON.parse(readText('chat-templates.json')) as Fixture
const tokenizers = new Map<string, TextTokenizer>()

function tokenizerOf(family: string): TextTokenizer {
  let tokenizer = tokenizers.get(family)
  if (!tokenizer) {
    const files = JSON.parse(readText(`tokenizer-${family}.json`)) as { tokenizer: unknown; config: unknown }
    tokenizers.set(family, (tokenizer = createTokenizer(files)))
  }
  return tokenizer
}

function unpack(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64')
  return Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readUInt16LE(2 * i))
}

const templates = new Set(fixture.cases.map(({ template }) => template))
for (const template of templates) {
  test(`${template}: ids are those of apply_chat_template`, (t) => {
    let equal = 0
    let leftOut = 0
    for (const { family, variables, conversation, ids, ...one } of fixture.cases) {
      if (one.template !== template) continue
      const chat = createChatFormat(tokenizerOf(family), readText(`templates/${template}.jinja`), {
        variables: fixture.variables[variables],
      })
      const messages = fixture.conversations[conversation]
      const writers = [chat.prompt, chat.conversation]
      ids.forEach((expected, i) => {
        const where = `${conversation}, ${variables}, ${i === 0 ? 'with' : 'without'} a generation prompt`
        let actual: number[]
        try {
          actual = writers[i](messages)
        } catch (error) {
          // What transformers refuses is refused; what its templates leave out without a word is refused too.
          const { code, message } = error as { code: string; message: string }
          assert.equal(code, 'runtime', `${where}: ${message}`)
          assert.match(
            message,
            expected === null ? /refuses the conversation at message \d/ : /leaves out message \d/,
            where,
          )
          if (expected !== null) leftOut++
          return
        }
        assert.ok(expected !== null, `${where}: transformers refuses`)
        assert.deepEqual(actual, unpack(expected), where)
        equal++
      })
    }
    assert.ok(equal >= 20, `only ${equal} conversations were written`)
    // Phi-3's template knows no tools.
    assert.equal(leftOut, template === 'phi3' ? 4 : 0)
    t.diagnostic(`${equal} equal`)
  })
}
