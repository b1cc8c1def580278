import { MyriadError, messageOf } from '../../core/index.js'
import type { OptionalPackage } from '../declaration.js'
import { JudgeFailure, type JudgeModel } from './types.js'

/** What judges behind an endpoint need beside Myriad. */
export const endpointPackages: readonly OptionalPackage[] = [
  { name: 'ai', version: '7.0.173' },
  { name: '@ai-sdk/openai-compatible', version: '3.0.92' },
]

export interface EndpointModelOptions {
  /** As in 'https://api.openai.com/v1' or 'http://localhost:8000/v1'. */
  endpoint: string
  model: string
  /** The environment variable that holds the key; it may be unset where the endpoint asks for none. */
  apiKeyEnv?: string
  /** Ask the endpoint to keep to the schema of verdicts (`response_format`). */
  structured?: boolean
}

/**
 * A judge behind an OpenAI-compatible endpoint, by way of the Vercel AI SDK, which is loaded when first asked. The key is read
 * from the environment and goes nowhere but into the request's header: messages of errors are cleared of it.
 *
 * @throws MyriadError 'usage' when the address is none or carries a password; later, when the SDK is not installed
 * @example endpointModel({ endpoint: 'http://localhost:8000/v1', model: 'qwen', apiKeyEnv: 'JUDGE_KEY' })
 */
export function endpointModel(options: EndpointModelOptions): JudgeModel {
  const { endpoint, model, apiKeyEnv = 'OPENAI_API_KEY', structured = false } = options
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null
  if (url === null || !/^https?:$/u.test(url.protocol))
    throw new MyriadError('usage', `judge: endpoint must be an http or https address, got ${JSON.stringify(endpoint)}`)
  if (url.username !== '' || url.password !== '')
    throw new MyriadError('usage', 'judge: the endpoint carries a password; put it into an environment variable')
  const apiKey = process.env[apiKeyEnv]
  const cleared = (text: string): string => (apiKey ? text.replaceAll(apiKey, '***') : text)
  let loading: ReturnType<typeof loadSdk> | undefined
  return {
    name: `${endpoint}#${model}${structured ? '#structured' : ''}`,
    async complete({ messages, maxTokens, temperature, seed, schema }, { signal } = {}) {
      const { ai, openai } = await (loading ??= loadSdk())
      const provider = openai.createOpenAICompatible({
        name: 'judge',
        baseURL: endpoint,
        apiKey,
        supportsStructuredOutputs: structured,
      })
      const said = messages.flatMap(({ role, content }) =>
        role === 'user' || role === 'assistant' ? [{ role, content }] : [],
      )
      const instructions = messages
        .filter(({ role }) => role === 'system')
        .map(({ content }) => content)
        .join('\n')
      const format = structured && schema ? { output: ai.Output.object({ schema: ai.jsonSchema(schema) }) } : {}
      try {
        const { text, usage } = await ai.generateText({
          model: provider(model),
          ...(instructions !== '' && { instructions }),
          messages: said,
          maxOutputTokens: maxTokens,
          temperature,
          seed,
          maxRetries: 0,
          abortSignal: signal,
          ...format,
        })
        return { text, inputTokens: usage.inputTokens ?? 0, outputTokens: usage.outputTokens ?? 0 }
      } catch (error) {
        throw failureOf(error, ai, cleared)
      }
    },
  }
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>

async function loadSdk() {
  try {
    return { ai: await import('ai'), openai: await import('@ai-sdk/openai-compatible') }
  } catch (error) {
    const names = endpointPackages.map(({ name, version }) => `${name}@${version}`).join(' ')
    throw new MyriadError('usage', `a judge behind an endpoint needs the Vercel AI SDK: npm install ${names}`, {
      cause: error,
    })
  }
}

function failureOf(error: unknown, ai: Sdk['ai'], cleared: (text: string) => string): JudgeFailure {
  // The SDK's own error is not passed on: it holds the request.
  if (!ai.APICallError.isInstance(error))
    return new JudgeFailure(cleared(messageOf(error)), {
      retryable: !/not supported|unsupported/iu.test(messageOf(error)),
    })
  const { statusCode, responseHeaders, message } = error
  // Without a status nothing came back; with one that is fine, what came back was no answer.
  const retryable =
    statusCode === undefined || statusCode < 400 || [408, 409, 425, 429].includes(statusCode) || statusCode >= 500
  const status = statusCode === undefined ? '' : `${statusCode} `
  return new JudgeFailure(`${status}${cleared(message).slice(0, 500)}`, {
    retryable,
    retryAfterMs: retryAfterMs(responseHeaders ?? {}, Date.now()),
  })
}

/** What an endpoint asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110, 10.2.3). */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const exact = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] !== undefined && Number.isFinite(exact)) return Math.max(0, exact)
  const given = headers['retry-after']
  if (given === undefined) return undefined
  const seconds = Number(given)
  if (given.trim() !== '' && Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const date = Date.parse(given)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
