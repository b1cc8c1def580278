import { createRandom } from '../core/index.js'
import { createTabularPolicy, createTestChat } from '../policy/testing.js'
import type { Policy } from '../policy/types.js'
import type { Episode, Outcome, Problem, Task, Turn } from '../tasks/types.js'
import type { ChatFormat } from '../text/types.js'
import type { TrainConfigInput } from './config.js'

/** Small tasks, a policy and a configuration with which the loop can be tested in a fraction of a second. */
export const TEST_CHARACTERS = 'abcdefgh+?'

const won: Outcome = { reward: 1, success: true, wellFormed: true }
const lost: Outcome = { reward: 0, success: false, wellFormed: true }
const malformed: Outcome = { reward: 0, success: false, wellFormed: false }

/** Single-turn: say the letter that was shown. The eval split holds the letters d and e. */
export const echo: Task = {
  id: 'echo',
  description: 'say the same letter',
  difficulty: { easiest: 'the same', hardest: 'the same' },
  languages: ['en', 'sw'],
  maxTurns: 1,
  maxReplyTokens: 3,
  generate: (seed, { language, difficulty, split }): Problem => {
    const key = createRandom(seed).pick([...(split === 'train' ? 'abc' : 'de')])
    return { task: 'echo', language, difficulty, split, key, data: key }
  },
  play: (problem): Episode => ({
    messages: [{ role: 'user', content: problem.key }],
    respond: (reply): Turn => {
      const outcome = reply === problem.key ? won : reply.length === 1 ? lost : malformed
      return { messages: [], done: true, outcome }
    },
    randomReply: (random) => random.pick([...'abcde']),
    expertReply: () => problem.key,
  }),
}

/** Multi-turn: begin a reply with "+" three times; the world answers with how far you are. */
export const climb: Task = {
  id: 'climb',
  description: 'say something that begins with + three times',
  difficulty: { easiest: 'the same', hardest: 'the same' },
  languages: ['en', 'sw'],
  maxTurns: 3,
  maxReplyTokens: 3,
  generate: (seed, { language, difficulty, split }): Problem => {
    const key = `${split}${createRandom(seed).integer(0, 9)}`
    return { task: 'climb', language, difficulty, split, key, data: null }
  },
  play: (): Episode => {
    let height = 0
    return {
      messages: [{ role: 'user', content: 'f' }],
      respond: (reply): Turn => {
        if (!reply.startsWith('+')) return { messages: [], done: true, outcome: { ...malformed, reward: height / 4 } }
        height++
        if (height === 3) return { messages: [], done: true, outcome: won }
        return { messages: [{ role: 'user', content: 'fgh'[height] }], done: false }
      },
      randomReply: (random) => random.pick(['+', 'a']),
      expertReply: () => '+',
    }
  },
}

export const TEST_TASKS: readonly Task[] = [echo, climb]

export async function openTestPolicy(
  options: { updateDelayMs?: number; contextLength?: number; valueHead?: boolean } = {},
): Promise<{ policy: Policy; chat: ChatFormat }> {
  const chat = createTestChat(TEST_CHARACTERS)
  return { policy: createTabularPolicy({ chat, order: 3, ...options }), chat }
}

export const TEST_CONFIG: TrainConfigInput = {
  name: 'test',
  model: 'none',
  tasks: [{ id: 'echo' }, { id: 'climb' }],
  steps: 12,
  groupsPerStep: 12,
  samplesPerProblem: 8,
  learningRate: 0.3,
  warmupSteps: 2,
  checkpointEvery: 10,
  evaluation: { problemsPerCell: 2, samples: 4, randomPlays: 4 },
}

/** A run that uses everything that must survive a kill: a reference, minibatches, evaluations on the way, sparse checkpoints. */
export const RESUME_CONFIG: TrainConfigInput = {
  ...TEST_CONFIG,
  algorithm: { klCoefficient: 0.01, epochs: 2, minibatches: 2 },
  curriculum: { tokenBalance: 1, adaptive: {} },
  evaluation: { ...TEST_CONFIG.evaluation, every: 5 },
  checkpointEvery: 2,
  steps: 11,
}
