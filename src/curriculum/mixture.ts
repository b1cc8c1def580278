import { z } from 'zod'
import { hasVariance } from '../algorithms/advantages.js'
import { sampledTokens } from '../algorithms/overlong.js'
import type { Group } from '../algorithms/types.js'
import { createRandom, deriveSeed, MyriadError } from '../core/index.js'
import type { Assignment, Curriculum, CurriculumTask } from './types.js'

export interface MixtureOptions {
  tasks: readonly CurriculumTask[]
  groupsPerStep: number
  /**
   * What the weights share out: 0 groups, 1 sampled tokens (a task whose episodes are ten times as long gets a tenth of
   * the groups), anything between is a compromise. 0 unless given.
   */
  tokenBalance?: number
  /**
   * How much tasks whose groups teach nothing, because they are solved or still hopeless, give way to the others: 0 not at
   * all, 1 in proportion to the share of groups with unequal rewards, never below a tenth. 0 unless given.
   */
  learnability?: number
  /** Groups in a row that are one problem in so many languages, or all that its task has. 1 unless given. */
  languagesPerProblem?: number
  /** Moves the hardest difficulty of a task up while it succeeds more often than `target`, down while less often. */
  adaptive?: { target: number; rate: number }
}

/** What is remembered of a task. */
const recordSchema = z.object({
  /** Right to groups not yet used; the task with most goes first. */
  credit: z.number(),
  /** Groups given out so far: chooses the next language. */
  given: z.number(),
  episodes: z.number(),
  /** Running mean of sampled tokens per episode; 0 before the first. */
  tokensPerEpisode: z.number(),
  /** Running share of groups with unequal rewards. */
  informative: z.number(),
  /** Hardest difficulty given out now. */
  level: z.number(),
})
type TaskRecord = z.infer<typeof recordSchema>
const stateSchema = z.record(z.string(), recordSchema)

/** Episodes after which the running mean of tokens forgets the oldest: replies change length as a policy learns. */
const MEMORY_EPISODES = 2000

/** Weight of the newest step in the share of groups that teach, and what is left to a task where none does. */
const INFORMATIVE_RATE = 0.2
const LEAST_INFORMATIVE = 0.1

/**
 * A mixture of tasks and languages by weight. Groups are shared out by credit (smooth weighted round-robin), not by lot:
 * over any stretch of steps each task's share is exact to one group, and languages of a task take turns in an order
 * shuffled anew each round. Only problem seeds and difficulties are drawn at random.
 *
 * @example mixture({ tasks: [{ id: 'sort', languages: ['en', 'sw'], difficulty: [0, 1], weight: 1 }], groupsPerStep: 16 })
 * @throws MyriadError 'usage' when there is nothing to choose from
 */
export function mixture(options: MixtureOptions): Curriculum {
  const { tasks, groupsPerStep, tokenBalance = 0, learnability = 0, languagesPerProblem = 1, adaptive } = options
  const empty = tasks.find((task) => task.languages.length === 0)
  if (empty) throw new MyriadError('usage', `curriculum: task "${empty.id}" has no languages`)
  if (!tasks.some((task) => task.weight > 0)) {
    throw new MyriadError('usage', 'curriculum: no task has a positive weight, so there is nothing to train on')
  }
  let records = initialRecords(tasks, adaptive !== undefined)

  /** Charges a group to the task that has most credit, or to the one given. */
  const takeTask = (shares: ReadonlyMap<string, number>, given?: CurriculumTask): CurriculumTask => {
    const total = [...shares.values()].reduce((sum, share) => sum + share, 0)
    for (const task of tasks) records[task.id].credit += shares.get(task.id)! / total
    const chosen =
      given ?? tasks.reduce((best, task) => (records[task.id].credit > records[best.id].credit ? task : best))
    records[chosen.id].credit -= 1
    return chosen
  }
  const takeLanguages = (task: CurriculumTask, count: number, seed: number): string[] => {
    const taken = new Set<string>()
    while (taken.size < count) taken.add(takeTurn(task, records[task.id].given++, seed))
    return [...taken]
  }

  return {
    next: (step, seed, refill) => {
      const labels = refill ? ['refill', refill.round] : []
      const shares = sharesOf(tasks, records, tokenBalance, learnability)
      const count = refill?.count ?? groupsPerStep
      const assignments: Assignment[] = []
      while (assignments.length < count) {
        const slot = assignments.length
        const task = takeTask(shares)
        const size = Math.min(languagesPerProblem, new Set(task.languages).size, count - slot)
        for (let more = 1; more < size; more++) takeTask(shares, task)
        const random = createRandom(deriveSeed(seed, 'difficulty', step, slot, ...labels))
        const low = task.difficulty[0]
        const problem = {
          task: task.id,
          difficulty: low + (records[task.id].level - low) * random.uniform(),
          seed: deriveSeed(seed, 'problem', step, slot, ...labels),
          ...(languagesPerProblem > 1 && { shared: true }),
        }
        for (const language of takeLanguages(task, size, seed)) assignments.push({ ...problem, language })
      }
      return assignments
    },
    observe: (groups) => {
      for (const task of tasks) {
        const own = groups.filter((group) => group.problem.task === task.id && group.trajectories.length > 0)
        if (own.length > 0) records[task.id] = learnFrom(own, task, records[task.id], adaptive)
      }
    },
    state: () => structuredClone(records),
    restore: (state) => {
      const parsed = stateSchema.safeParse(state)
      if (!parsed.success || tasks.some((task) => !parsed.data[task.id])) {
        throw new MyriadError('checkpoint', 'the curriculum in the checkpoint is damaged or belongs to other tasks')
      }
      records = parsed.data
    },
  }
}

/**
 * The mixture by sampled tokens: cheap tasks get more groups.
 *
 * @example tokenBalanced({ tasks, groupsPerStep: 16 })
 */
export function tokenBalanced(options: Omit<MixtureOptions, 'tokenBalance'>): Curriculum {
  return mixture({ ...options, tokenBalance: 1 })
}

function initialRecords(tasks: readonly CurriculumTask[], adaptive: boolean): Record<string, TaskRecord> {
  return Object.fromEntries(
    tasks.map(({ id, difficulty: [low, high] }) => {
      const level = adaptive ? low + (high - low) / 4 : high
      return [id, { credit: 0, given: 0, episodes: 0, tokensPerEpisode: 0, informative: 1, level }]
    }),
  )
}

/** Shares of groups; a task not seen yet is taken to be as long as the mean of the others. */
function sharesOf(
  tasks: readonly CurriculumTask[],
  records: Readonly<Record<string, TaskRecord>>,
  tokenBalance: number,
  learnability: number,
): Map<string, number> {
  const known = tasks.map(({ id }) => records[id].tokensPerEpisode).filter((tokens) => tokens > 0)
  const typical = known.length > 0 ? known.reduce((sum, tokens) => sum + tokens, 0) / known.length : 1
  return new Map(
    tasks.map(({ id, weight }) => {
      const tokens = records[id].tokensPerEpisode || typical
      const teaching = Math.max(LEAST_INFORMATIVE, records[id].informative)
      return [id, (weight * teaching ** learnability) / tokens ** tokenBalance]
    }),
  )
}

function takeTurn(task: CurriculumTask, given: number, seed: number): string {
  const round = Math.floor(given / task.languages.length)
  const order = createRandom(deriveSeed(seed, 'languages', task.id, round)).shuffle(task.languages)
  return order[given % order.length]
}

function learnFrom(
  groups: readonly Group[],
  task: CurriculumTask,
  record: TaskRecord,
  adaptive: MixtureOptions['adaptive'],
): TaskRecord {
  const trajectories = groups.flatMap((group) => group.trajectories)
  const count = trajectories.length
  const mean = trajectories.reduce((sum, trajectory) => sum + sampledTokens(trajectory), 0) / count
  const episodes = Math.min(record.episodes + count, MEMORY_EPISODES)
  // At least one token, so that a task whose replies are all empty does not take every group.
  const tokensPerEpisode = Math.max(
    1,
    record.tokensPerEpisode + (mean - record.tokensPerEpisode) * Math.min(1, count / episodes),
  )
  const teaching = groups.filter(hasVariance).length / groups.length
  const informative = record.informative + INFORMATIVE_RATE * (teaching - record.informative)
  if (!adaptive) return { ...record, episodes, tokensPerEpisode, informative }
  const success = trajectories.filter((trajectory) => trajectory.outcome.success).length / count
  const [low, high] = task.difficulty
  const level = Math.min(high, Math.max(low, record.level + adaptive.rate * (success - adaptive.target) * (high - low)))
  return { ...record, episodes, tokensPerEpisode, informative, level }
}
