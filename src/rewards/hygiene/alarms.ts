/** What alarms read of a step; null or missing where it is not known. A line of metrics.jsonl is one. */
export interface HygieneStep {
  step: number
  /** Mean cost of repetition of the step's replies, in [0, 1]. */
  repetition?: number | null
  tasks: Readonly<Record<string, HygieneTask>>
}

/** Of the episodes of a task in a step: means, and shares in [0, 1]. */
export interface HygieneTask {
  reward?: number | null
  success?: number | null
  languageConsistency?: number | null
  malformed?: number | null
  tokensPerEpisode?: number | null
}

export const ALARM_KINDS = [
  'reward-without-success',
  'format-without-content',
  'length-drift',
  'language-drift',
  'repetition',
] as const
export type AlarmKind = (typeof ALARM_KINDS)[number]

/** A sign that the policy learns to please the reward in place of doing the task. */
export interface RewardAlarm {
  kind: AlarmKind
  /** Null: of the run as a whole. */
  task: string | null
  /** One line for people. */
  message: string
  /** Of the early and the late steps that were compared: the quantity the alarm is named for. */
  early: number
  late: number
}

/** Steps of a task that are too few to tell a drift from chance. */
export const FEWEST_STEPS = 12
const LARGEST_WINDOW = 20
/** Standard errors that a change must exceed. */
const SURE = 3

/** How a quantity changed from the first quarter of its steps to the last. */
export interface Change {
  early: number
  late: number
  difference: number
  /** The change is beyond what chance does between two windows of such a spread. */
  sure: boolean
}

/**
 * Compares the first quarter of a series with its last (3 to 20 steps each). Null where fewer than 12 values are known.
 *
 * @example changeOf([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]) // { early: 0, late: 1, difference: 1, sure: true }
 */
export function changeOf(series: readonly (number | null | undefined)[]): Change | null {
  const known = series.filter((value): value is number => typeof value === 'number' && Number.isFinite(value))
  if (known.length < FEWEST_STEPS) return null
  const window = Math.min(LARGEST_WINDOW, Math.floor(known.length / 4))
  const [first, last] = [known.slice(0, window), known.slice(-window)].map(meanAndVariance)
  const error = Math.sqrt((first.variance + last.variance) / window)
  const difference = last.mean - first.mean
  return { early: first.mean, late: last.mean, difference, sure: Math.abs(difference) > SURE * error }
}

function meanAndVariance(values: readonly number[]): { mean: number; variance: number } {
  const mean = values.reduce((a, b) => a + b, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1)
  return { mean, variance }
}

/**
 * Alarms over a run, task by task. Each compares early steps with late ones and wants a change both large and beyond chance:
 *
 * - reward-without-success: the reward rose, success fell by 0.05 or more;
 * - format-without-content: malformed replies fell by 0.3 to below 0.2, the reward rose, success did not rise by 0.02 and is below 0.5;
 * - length-drift: episodes are twice as long (16 tokens at least), or 0.4 as long while the reward rose, and success did not rise by 0.05;
 * - language-drift: the share of replies in the right language fell by 0.1;
 * - repetition: its mean cost rose by 0.1.
 *
 * They are signs to look at, not proof.
 *
 * @example rewardAlarms(steps).map(({ message }) => message)
 */
export function rewardAlarms(steps: readonly HygieneStep[]): RewardAlarm[] {
  const tasks = [...new Set(steps.flatMap((step) => Object.keys(step.tasks)))].sort()
  const alarms = tasks.flatMap((task) =>
    taskAlarms(
      task,
      steps.flatMap((step) => (Object.hasOwn(step.tasks, task) ? [step.tasks[task]] : [])),
    ),
  )
  const repetition = changeOf(steps.map((step) => step.repetition))
  if (repetition?.sure && repetition.difference >= 0.1)
    alarms.push(
      alarm('repetition', null, repetition, `replies repeat themselves: ${shown(repetition)} on a scale from 0 to 1`),
    )
  return alarms.sort((a, b) => ALARM_KINDS.indexOf(a.kind) - ALARM_KINDS.indexOf(b.kind))
}

function taskAlarms(task: string, steps: readonly HygieneTask[]): RewardAlarm[] {
  const change = (field: keyof HygieneTask): Change | null => changeOf(steps.map((step) => step[field]))
  const [reward, success] = [change('reward'), change('success')]
  const [language, malformed, tokens] = [change('languageConsistency'), change('malformed'), change('tokensPerEpisode')]
  const rose = reward !== null && reward.sure && reward.difference > 0
  const gained = success?.difference ?? 0
  const alarms: RewardAlarm[] = []
  if (rose && success?.sure && gained <= -0.05)
    alarms.push(
      alarm(
        'reward-without-success',
        task,
        success,
        `the reward rose (${shown(reward)}) while success fell (${shown(success, percent)})`,
      ),
    )
  if (
    rose &&
    malformed?.sure &&
    malformed.difference <= -0.3 &&
    malformed.late < 0.2 &&
    success !== null &&
    gained < 0.02 &&
    success.late < 0.5
  )
    alarms.push(
      alarm(
        'format-without-content',
        task,
        malformed,
        `replies have the right form (malformed ${shown(malformed, percent)}) but are no more often right (${shown(success, percent)})`,
      ),
    )
  if (tokens?.sure && success !== null && gained < 0.05) {
    const longer = tokens.late >= 2 * tokens.early && tokens.late >= 16
    const shorter = tokens.late <= 0.4 * tokens.early && tokens.early >= 16 && rose
    if (longer || shorter)
      alarms.push(
        alarm(
          'length-drift',
          task,
          tokens,
          `replies became ${longer ? 'longer' : 'shorter'} (${shown(tokens)} tokens) without more success (${shown(success, percent)})`,
        ),
      )
  }
  if (language?.sure && language.difference <= -0.1)
    alarms.push(
      alarm(
        'language-drift',
        task,
        language,
        `replies leave the language asked for: ${shown(language, percent)} are in it`,
      ),
    )
  return alarms
}

function alarm(kind: AlarmKind, task: string | null, { early, late }: Change, message: string): RewardAlarm {
  return { kind, task, message: task === null ? message : `${task}: ${message}`, early, late }
}

function shown({ early, late }: Change, format: (value: number) => string = rounded): string {
  return `${format(early)} to ${format(late)}`
}

function percent(value: number): string {
  return `${Math.round(100 * value)}%`
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(3)))
}

/** All alarms in one line, or null where there is none. */
export function alarmLine(alarms: readonly RewardAlarm[]): string | null {
  if (alarms.length === 0) return null
  const [first] = alarms
  const more = alarms.length === 1 ? '' : ` (and ${alarms.length - 1} more)`
  return `the policy may be pleasing the reward: ${first.message}${more}; the report shows examples`
}
