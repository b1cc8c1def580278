/**
 * Makes the base model of the quickstart again from scratch: a tokenizer, pretraining on real text, instruction tuning.
 * `npm run base-model`; killed and started again, it goes on from its last checkpoint with the same numbers.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createRandom, deriveSeed, MyriadError } from '../../core/index.js'
import { pretrainingDocuments } from '../../data/index.js'
import { cosine, warmup } from '../../engine/index.js'
import {
  initializeWeights,
  parameterCount,
  parseDecoderConfig,
  readCheckpoint,
  writeCheckpoint,
} from '../../models/index.js'
import { localPolicyFromWeights, type TrainSequence } from '../../policy/index.js'
import { crossEntropy } from '../../algorithms/index.js'
import { demonstration, demonstrationLanguages, taskById, vocabularyTexts } from '../../tasks/index.js'
import {
  createChatFormat,
  defaultSpecialTokens,
  loadTokenizer,
  tokenizerFilesOf,
  saveTokenizer,
  trainBpe,
  type ChatFormat,
} from '../../text/index.js'
import { conversationSequence, documentSequences, normalizeWeights, passes } from './sequences.js'
import { settings, type Phase } from './settings.js'

const { values: flags } = parseArgs({
  options: {
    work: { type: 'string', default: 'runs/base-model' },
    out: { type: 'string', default: 'models/base' },
    workers: { type: 'string', default: '2' },
    scale: { type: 'string', default: '1' },
  },
})
const scale = Number(flags.scale)
const phases = settings.phases.map((phase) => ({ ...phase, steps: Math.round(phase.steps * scale) }))
const totalSteps = phases.reduce((sum, phase) => sum + phase.steps, 0)

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Trains the tokenizer, once. */
async function makeTokenizer(folder: string): Promise<void> {
  if (existsSync(join(folder, 'tokenizer.json'))) return
  const started = Date.now()
  const texts = Array.from(vocabularyTexts(settings.seed), (text) => ({ text }))
  const json = trainBpe(texts, { vocabularySize: settings.vocabularySize, specialTokens: defaultSpecialTokens })
  await saveTokenizer(folder, json)
  say(`tokenizer: ${settings.vocabularySize} tokens from ${texts.length} texts in ${seconds(started)}`)
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`
}

interface Sources {
  /** The next piece of text; moves the place on. */
  text: (place: Place['texts']) => TrainSequence
  conversation: (index: number, shares: Phase['demonstrations']) => TrainSequence
}

function openSources(chat: ChatFormat): Sources {
  const [end] = chat.tokenizer.stopTokens
  const start = defaultSpecialTokens.indexOf('<|text|>')
  return {
    text: passes((pass) => {
      const documents: TrainSequence[] = []
      for (const { text } of pretrainingDocuments(deriveSeed(settings.seed, 'text', pass)))
        documents.push(...documentSequences(text, chat, { start, end }, settings.documentTokens))
      return documents
    }),
    conversation: (index, shares) => {
      const language = demonstrationLanguages[index % demonstrationLanguages.length]
      const seed = deriveSeed(settings.seed, 'demonstration', index)
      const kinds = Object.entries(shares).flatMap(([kind, share]) =>
        kind === 'arithmetic' && !taskById(kind).languages.includes(language)
          ? []
          : new Array<string>(share).fill(kind),
      )
      const { messages } = demonstration(seed, { language, task: createRandom(seed).pick(kinds) })
      return conversationSequence(messages, chat, end, settings.contextWeight)
    },
  }
}

/** How far into its sources the training has read: part of the checkpoint. */
interface Place {
  step: number
  texts: { pass: number; index: number }
  conversations: number
}

/** The phase a step belongs to, and the step's number within it. */
function phaseAt(step: number): { phase: Phase; local: number } {
  let local = step
  for (const phase of phases) {
    if (local < phase.steps) return { phase, local }
    local -= phase.steps
  }
  throw new MyriadError('runtime', `step ${step} is past the end of the last phase`)
}

/** Is a step the last of its phase? */
function endsPhase(step: number): boolean {
  return step === totalSteps || phaseAt(step).local === 0
}

/** The batch of the step at a place, and the place after it. */
function nextPortion(from: Place, sources: Sources): { batch: TrainSequence[]; place: Place } {
  const { demonstrationShare: share, demonstrations } = phaseAt(from.step).phase
  const place = structuredClone(from)
  const batch: TrainSequence[] = []
  let tokens = 0
  let spoken = 0
  while (tokens < settings.tokensPerStep) {
    const talk = spoken < share * tokens || (share > 0 && tokens === 0)
    const item = talk ? sources.conversation(place.conversations++, demonstrations) : sources.text(place.texts)
    batch.push(item)
    tokens += item.tokens.length
    if (talk) spoken += item.tokens.length
  }
  place.step++
  return { batch: normalizeWeights(batch), place }
}

async function main(): Promise<void> {
  const tokenizerFolder = join(flags.work, 'tokenizer')
  mkdirSync(tokenizerFolder, { recursive: true })
  await makeTokenizer(tokenizerFolder)
  const tokenizer = await loadTokenizer(tokenizerFolder)
  const chat = createChatFormat(tokenizer)
  const config = parseDecoderConfig({ ...settings.decoder, vocab_size: tokenizer.vocabularySize })
  say(`model: ${(parameterCount(config) / 1e6).toFixed(2)}M parameters`)
  const policy = localPolicyFromWeights(config, initializeWeights(config, settings.seed), {
    workers: Number(flags.workers),
    weightDecay: settings.weightDecay,
    tokenizerFolder,
    stopTokens: tokenizer.stopTokens,
  })
  const sources = openSources(chat)
  const checkpoint = join(flags.work, 'checkpoint')
  const placeFile = join(flags.work, 'place.json')
  let place: Place = { step: 0, texts: { pass: 0, index: 0 }, conversations: 0 }
  if (existsSync(placeFile)) {
    const stored = JSON.parse(readFileSync(placeFile, 'utf8')) as Place
    await policy.load(`${checkpoint}-${stored.step}`)
    place = stored
    say(`going on from step ${place.step}`)
  }
  const started = Date.now()
  const firstStep = place.step
  let lossSum = 0
  let lossCount = 0
  let portion = place.step < totalSteps ? nextPortion(place, sources) : null
  while (portion) {
    const { phase, local } = phaseAt(place.step)
    const schedule = warmup(phase.warmupSteps, cosine(phase.learningRate, phase.steps, phase.learningRate * 0.02))
    const updating = policy.update(portion.batch, {
      loss: crossEntropy(),
      learningRate: schedule(local),
      clipNorm: settings.clipNorm,
    })
    place = portion.place
    // The next batch is read while this one is learned.
    portion = place.step < totalSteps ? nextPortion(place, sources) : null
    const result = await updating
    lossSum += result.loss
    lossCount++
    if (place.step % 50 === 0 || place.step === totalSteps) {
      const elapsed = (Date.now() - started) / 1000
      const left = ((totalSteps - place.step) * elapsed) / (place.step - firstStep)
      say(
        `${phase.name} step ${place.step}/${totalSteps}  loss ${(lossSum / lossCount).toFixed(3)}  ` +
          `${Math.round(((place.step - firstStep) * settings.tokensPerStep) / elapsed)} tokens/s  ` +
          `${Math.round(elapsed)} s gone, about ${Math.round(left)} s to go`,
      )
      lossSum = 0
      lossCount = 0
    }
    if (place.step % 250 === 0 || endsPhase(place.step)) {
      await policy.save(`${checkpoint}-${place.step}`, { optimizer: true })
      writeFileSync(`${placeFile}.partial`, JSON.stringify(place))
      renameSync(`${placeFile}.partial`, placeFile)
    }
  }
  await policy.close()
  const { weights } = await readCheckpoint(`${checkpoint}-${totalSteps}`)
  writeCheckpoint(flags.out, config, weights, { dtype: 'F16', files: await tokenizerFilesOf(tokenizerFolder) })
  say(`wrote ${flags.out}`)
}

await main()
