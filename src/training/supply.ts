import { join } from 'node:path'
import type { Group, Lesson, Needs } from '../algorithms/types.js'
import { MyriadError } from '../core/index.js'
import type { Policy, ScoreResult, TrainSequence } from '../policy/types.js'
import type { ChatFormat } from '../text/types.js'
import type { TrainConfig } from './config.js'
import { demonstrateAll, type Demonstration } from './demonstrate.js'
import { privilegedPrompts, shifted, type Hint } from './privileged.js'
import { measureMismatch } from './sampler-mismatch.js'
import type { ConfiguredTask } from './setup.js'
import { teacherFolders } from './teachers.js'

/** Sequences that hold what the algorithm asked for. */
export interface Supplied {
  sequences: TrainSequence[]
  /** Importance weights of a sampler in few bits, to be multiplied into advantages last: [sequence][tokens] */
  samplerWeights?: Float32Array[]
  metrics: Record<string, number>
}

export interface SupplyOptions {
  policy: Policy
  chat: ChatFormat
  needs: Needs
  config: TrainConfig
  tasks: readonly ConfiguredTask[]
  openTeacher: (folder: string) => Promise<{ policy: Policy; chat: ChatFormat }>
}

/**
 * What an algorithm asks for beside the groups of a step (`Needs`): a reference, teachers, demonstrations, and the policy's own
 * scores before the first optimizer step. Copies of the policy share its threads.
 *
 * @throws MyriadError 'usage' when no teacher is configured, or one has another vocabulary
 */
export async function openSupply(options: SupplyOptions): Promise<Supply> {
  const { policy, needs, config } = options
  const base = needs.reference === 'teacher-base' ? config.teacherBase : undefined
  const isCopied = (needs.reference !== undefined && base === undefined) || needs.teacher === 'privileged'
  const copy = isCopied ? await policy.snapshot() : null
  try {
    if (typeof needs.reference === 'object' && !copy?.follow)
      throw new MyriadError(
        'usage',
        'the algorithm needs a reference that follows the policy, which this policy cannot make',
      )
    const teachers = needs.teacher === 'model' ? await openTeachers(options) : new Map<string, Policy>()
    try {
      const reference = base === undefined ? copy : await openLike(options, 'teacherBase', base)
      return new Supply(options, { copy, reference }, teachers)
    } catch (error) {
      for (const teacher of new Set(teachers.values())) await teacher.close()
      throw error
    }
  } catch (error) {
    await copy?.close()
    throw error
  }
}

/** The models and scores that a run's algorithm needs; `close` it in the end. */
export class Supply {
  private readonly options: SupplyOptions
  /** The policy as the run began, or following it: the reference where it is no other model, and the privileged teacher. */
  private readonly copy: Policy | null
  private readonly reference: Policy | null
  /** By language. */
  private readonly teachers: ReadonlyMap<string, Policy>

  constructor(
    options: SupplyOptions,
    models: { copy: Policy | null; reference: Policy | null },
    teachers: ReadonlyMap<string, Policy>,
  ) {
    this.options = options
    this.copy = models.copy
    this.reference = models.reference
    this.teachers = teachers
  }

  /** Solved conversations for the groups of a step, where any are needed. */
  async demonstrate(groups: readonly Group[], step: number): Promise<(Demonstration | null)[] | undefined> {
    const { needs, chat, policy, config, tasks } = this.options
    if (!needs.demonstrations && !needs.continuations && needs.teacher !== 'privileged') return undefined
    return demonstrateAll(groups, (id) => tasks.find(({ task }) => task.id === id)!.task, {
      chat,
      contextLength: policy.contextLength,
      limits: config.limits,
      seedPath: [config.seed, 'demonstration', step],
    })
  }

  /** Scores the sequences of a lesson by all models that are asked. */
  async score(
    lesson: Lesson,
    groups: readonly Group[],
    demonstrations: readonly (Demonstration | null)[] | undefined,
  ): Promise<Supplied> {
    const { needs, config } = this.options
    const isRounded = config.memory.samplingBits !== undefined
    const metrics: Record<string, number> = {}
    let sequences = [...lesson.sequences]
    let samplerWeights: Float32Array[] | undefined
    if (needs.old || needs.values || needs.alternatives || isRounded) {
      const own = await this.ask(this.options.policy, sequences, needs.values)
      if (isRounded) {
        const { importanceCap } = config.algorithm
        const sampled = lesson.origins.map(({ trajectory }) => trajectory >= 0)
        const logprobs = own.map((score) => score.logprobs)
        const mismatch = measureMismatch(sequences, logprobs, { cap: importanceCap, sampled })
        ;({ sequences, weights: samplerWeights } = mismatch)
        Object.assign(metrics, mismatch.metrics)
      }
      sequences = sequences.map((sequence, i) => ({
        ...sequence,
        ...(needs.old && { oldLogprobs: own[i].logprobs, entropy: own[i].entropy }),
        ...(needs.values && { values: own[i].values }),
        ...(needs.alternatives && { alternatives: own[i].alternatives }),
      }))
    }
    if (needs.reference) {
      requireRoom('teacherBase', this.reference!, sequences)
      const scores = await this.ask(this.reference!, sequences)
      sequences = sequences.map((sequence, i) => ({
        ...sequence,
        referenceLogprobs: scores[i].logprobs,
        ...(needs.alternatives && { referenceAlternatives: scores[i].alternatives!.logprobs }),
      }))
    }
    if (needs.teacher) {
      const scores =
        needs.teacher === 'model'
          ? await this.askTeachers(sequences, lesson, groups)
          : await this.askPrivileged(sequences, lesson, groups, demonstrations ?? [], metrics)
      sequences = sequences.map((sequence, i) => ({
        ...sequence,
        teacherLogprobs: scores[i].logprobs,
        ...(needs.alternatives && { teacherAlternatives: scores[i].alternatives!.logprobs }),
      }))
    }
    return { sequences, samplerWeights, metrics }
  }

  /** To be called once a step, after its updates. */
  async follow(): Promise<void> {
    const { needs, policy } = this.options
    if (typeof needs.reference === 'object') await this.copy!.follow!(policy, needs.reference.rate)
  }

  /** Writes what is no function of the policy the run began with. */
  async save(folder: string): Promise<void> {
    if (this.isMoving) await this.copy!.save(join(folder, 'reference'), { optimizer: true })
  }

  /** Restores what `save` wrote. */
  async load(folder: string): Promise<void> {
    if (this.isMoving) await this.copy!.load(join(folder, 'reference'))
  }

  async close(): Promise<void> {
    await this.copy?.close()
    if (this.reference !== this.copy) await this.reference?.close()
    for (const teacher of new Set(this.teachers.values())) await teacher.close()
  }

  private get isMoving(): boolean {
    return typeof this.options.needs.reference === 'object'
  }

  /** Logprobs of the trainable tokens, and of the alternatives: the model's own, or those that sequences have already. */
  private ask(model: Policy, sequences: readonly TrainSequence[], values = false): Promise<ScoreResult[]> {
    const { needs, config } = this.options
    const given = sequences.flatMap(({ alternatives }) => (alternatives ? [alternatives.ids] : []))
    const isGiven = given.length === sequences.length
    const { alternatives: count } = needs
    return model.score(
      sequences.map(({ tokens }) => tokens),
      {
        temperature: config.temperature,
        masks: sequences.map(({ mask }) => mask),
        values,
        ...(count && { alternatives: isGiven ? { count, ids: given } : count }),
      },
    )
  }

  private async askTeachers(
    sequences: readonly TrainSequence[],
    lesson: Lesson,
    groups: readonly Group[],
  ): Promise<ScoreResult[]> {
    const teacherOf = (i: number): Policy => this.teachers.get(groups[lesson.origins[i].group].problem.language)!
    const scores: ScoreResult[] = []
    for (const teacher of new Set(this.teachers.values())) {
      const taught = sequences.flatMap((_, i) => (teacherOf(i) === teacher ? [i] : []))
      const own = taught.map((i) => sequences[i])
      requireRoom('teacher', teacher, own)
      if (taught.length === 0) continue
      const answers = await this.ask(teacher, own)
      taught.forEach((index, k) => (scores[index] = answers[k]))
    }
    return scores
  }

  private async askPrivileged(
    sequences: readonly TrainSequence[],
    lesson: Lesson,
    groups: readonly Group[],
    demonstrations: readonly (Demonstration | null)[],
    metrics: Record<string, number>,
  ): Promise<ScoreResult[]> {
    const { chat, config } = this.options
    const solutions = demonstrations.map((shown) => shown && { opening: shown.opening, solution: shown.replies })
    const hints = lesson.origins.map((origin, i) => {
      const solution = solutions[origin.group] ?? null
      const named = lesson.siblings?.[i]
      return hintOf(groups[origin.group], origin.trajectory, solution, named, config.teacherPrompt)
    })
    const told = privilegedPrompts(sequences, hints, {
      chat,
      contextLength: this.copy!.contextLength,
      template: config.teacherPrompt,
    })
    metrics.privileged = told.filter(({ shift }) => shift !== null).length / Math.max(1, told.length)
    const scores = await this.ask(
      this.copy!,
      told.map(({ sequence }) => sequence),
    )
    return scores.map((score, i) => shifted(score, sequences[i].tokens.length, told[i].shift ?? 0))
  }
}

/**
 * What the privileged teacher of a sequence is told: the solution, and where the template asks for one a right reply of the
 * same group. A sibling that the method names (null: it names none) is the solution where the template has no place of its own.
 */
function hintOf(
  { trajectories }: Group,
  own: number,
  shown: Hint | null,
  named: number | null | undefined,
  template: string,
): Hint | null {
  const hasPlace = template.includes('{sibling}')
  if (named === undefined && !hasPlace) return shown
  const index = named === undefined ? trajectories.findIndex(({ outcome }, i) => outcome.success && i !== own) : named
  const sibling = trajectories[index ?? -1]
  if (!sibling) return null
  const said = sibling.messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []))
  const opening = sibling.messages.slice(
    0,
    sibling.messages.findIndex(({ role }) => role === 'assistant'),
  )
  if (!hasPlace) return { opening, solution: said }
  if (template.includes('{solution}') && !shown) return null
  return { opening, solution: shown?.solution ?? [], sibling: said }
}

async function openTeachers(options: SupplyOptions): Promise<ReadonlyMap<string, Policy>> {
  const { config, tasks } = options
  const folders = teacherFolders(config, tasks)
  const opened = new Map<string, Policy>()
  try {
    for (const folder of new Set(folders.values())) {
      opened.set(folder, await openLike(options, 'teacher', folder))
    }
  } catch (error) {
    for (const teacher of opened.values()) await teacher.close()
    throw error
  }
  return new Map([...folders].map(([language, folder]) => [language, opened.get(folder)!]))
}

/** Another model that is to score what the policy says. */
async function openLike({ policy, chat, openTeacher }: SupplyOptions, field: string, folder: string): Promise<Policy> {
  const opened = await openTeacher(folder)
  try {
    requireSameVocabulary(`${field}: ${folder}`, { policy, chat }, opened)
    return opened.policy
  } catch (error) {
    await opened.policy.close()
    throw error
  }
}

function requireRoom(field: string, model: Policy, sequences: readonly TrainSequence[]): void {
  const longest = sequences.reduce((most, { tokens }) => Math.max(most, tokens.length), 0)
  if (longest > model.contextLength)
    throw new MyriadError(
      'usage',
      `${field}: an episode has ${longest} tokens, more than the context of that model (${model.contextLength})`,
    )
}

type Opened = { policy: Policy; chat: ChatFormat }

function requireSameVocabulary(which: string, student: Opened, teacher: Opened): void {
  const [own, other] = [student, teacher].map(({ chat, policy }) => ({
    ...chat.tokenizer,
    outputs: policy.vocabularySize,
  }))
  const refuse = (what: string): never => {
    throw new MyriadError(
      'usage',
      `${which} has another vocabulary than the model that is trained (${what}); a teacher scores the tokens of ` +
        'its student, so it must have the same tokenizer',
    )
  }
  if (own.vocabularySize !== other.vocabularySize)
    refuse(`${other.vocabularySize} tokens instead of ${own.vocabularySize}`)
  for (let id = 0; id < own.vocabularySize; id++)
    if (own.decode([id]) !== other.decode([id]))
      refuse(`token ${id} is ${JSON.stringify(other.decode([id]))} instead of ${JSON.stringify(own.decode([id]))}`)
}
