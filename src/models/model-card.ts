/** What the front matter of a model card says (https://huggingface.co/docs/hub/model-cards#model-card-metadata). */
export interface ModelCard {
  /** The card's title, and the model's name in its results. */
  title: string
  /** BCP 47 tags. */
  language?: readonly string[]
  license?: string
  /** Hub ids of the models it was made from. */
  baseModel?: readonly string[]
  /** How it was made from them. */
  baseModelRelation?: 'finetune' | 'adapter' | 'merge' | 'quantized'
  /** transformers unless given; peft for an adapter. */
  libraryName?: string
  /** text-generation unless given. */
  pipelineTag?: string
  tags?: readonly string[]
  /** Hub ids. */
  datasets?: readonly string[]
  /** Names of the metrics it was judged by. */
  metrics?: readonly string[]
  results?: readonly ModelCardResult[]
  /** Markdown below the title. */
  text: string
}

/** One measured number. */
export interface ModelCardResult {
  task: string
  dataset: { name: string; type: string; split?: string }
  metric: { name: string; type: string; value: number }
}

/**
 * The README.md of a model: YAML front matter that the hub and Python's libraries read, and text.
 *
 * @example modelCard({ title: 'Tiny', language: ['sw'], baseModel: ['HuggingFaceTB/SmolLM2-135M-Instruct'], text: 'Trained by ...' })
 */
export function modelCard(card: ModelCard): string {
  const fields: Record<string, Yaml | undefined> = {
    language: card.language,
    license: card.license,
    base_model: card.baseModel,
    base_model_relation: card.baseModelRelation,
    library_name: card.libraryName ?? 'transformers',
    pipeline_tag: card.pipelineTag ?? 'text-generation',
    tags: card.tags,
    datasets: card.datasets,
    metrics: card.metrics,
    'model-index': card.results && [{ name: card.title, results: card.results.map(resultOf) }],
  }
  const lines = Object.entries(fields).flatMap(([key, value]) => (isEmpty(value) ? [] : entryLines(key, value as Yaml)))
  return `---\n${lines.join('\n')}\n---\n\n# ${card.title}\n\n${card.text.trim()}\n`
}

type Yaml = string | number | readonly Yaml[] | { readonly [key: string]: Yaml | undefined }

function resultOf({ task, dataset, metric }: ModelCardResult): Yaml {
  return { task: { type: task }, dataset, metrics: [metric] }
}

function isEmpty(value: Yaml | undefined): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

/** A key with its value, in YAML's block style. */
function entryLines(key: string, value: Yaml): string[] {
  const lines = valueLines(value)
  return typeof value === 'object' ? [`${key}:`, ...lines.map((line) => `  ${line}`)] : [`${key}: ${lines[0]}`]
}

function valueLines(value: Yaml): string[] {
  if (typeof value === 'string') return [scalar(value)]
  if (typeof value === 'number') return [String(value)]
  if (isList(value))
    return value.flatMap((item) => valueLines(item).map((line, i) => `${i === 0 ? '- ' : '  '}${line}`))
  return Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : entryLines(key, one)))
}

function isList(value: Yaml): value is readonly Yaml[] {
  return Array.isArray(value)
}

/** Plain where YAML cannot take it for anything but text (`no` is Norwegian, not false), else quoted as JSON is. */
function scalar(text: string): string {
  const plain =
    /^[A-Za-z][\w./ -]*$/.test(text) && !/\s$/.test(text) && !/^(y|n|yes|no|on|off|true|false|null|nan)$/i.test(text)
  return plain ? text : JSON.stringify(text)
}
