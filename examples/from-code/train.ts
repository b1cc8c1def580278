import { baseModel, singleTurn, train, type Reward } from 'myriad-rl'

const verbs: Record<string, string> = { en: 'choose', sw: 'chagua' }

const even = singleTurn<{ numbers: number[] }>({
  id: 'even',
  description: 'choose the even one of two numbers',
  languages: Object.keys(verbs),
  difficulty: { easiest: 'numbers up to 19', hardest: 'numbers up to 59' },
  maxReplyTokens: 6,
  generate(random, { difficulty }) {
    const most = Math.round(9 + 20 * difficulty)
    const pair = [2 * random.integer(0, most), 2 * random.integer(0, most) + 1]
    return { data: { numbers: random.shuffle(pair) }, key: pair.join(' ') }
  },
  prompt: ({ numbers }, language) => `${verbs[language]} ${numbers.join(' ')}`,
  score: (reply, { numbers }) => numbers.some((n) => n % 2 === 0 && String(n) === reply.trim()),
  guess: (random, { numbers }) => String(random.pick(numbers)),
})

/** 1 when the reply is one of the two numbers, right or wrong: it rewards reading the question. */
const fromTheQuestion: Reward = {
  name: 'fromTheQuestion',
  score: ({ messages, replies }) => (messages[0].content.split(' ').slice(1).includes(replies[0].trim()) ? 1 : 0),
}

const summary = await train(
  {
    name: 'even',
    model: baseModel(),
    tasks: [{ id: 'even' }],
    rewards: { task: 1, fromTheQuestion: 0.2 },
    algorithm: { clipHigh: 0.28 },
    steps: Number(process.env.STEPS ?? 30),
    learningRate: 1e-3,
    evaluation: { problemsPerCell: 12, samples: 4 },
  },
  {
    out: process.argv[2] ?? 'runs/even',
    tasks: [even],
    rewards: [fromTheQuestion],
    onEvent(event) {
      if (event.type === 'step') console.log(`step ${event.metrics.step}  success ${event.metrics.success.toFixed(2)}`)
    },
  },
)
const { before, after } = summary.evaluation.aggregates
console.log(`greedy success ${before.overall[0].success.toFixed(2)} -> ${after?.overall[0].success.toFixed(2)}`)
