import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, type Random } from '../../core/index.js'
import * as value from './index.js'
import { logSoftmax, logSumExp, softmax } from './rows.js'

const close = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance = 1e-9): void => {
  assert.equal(actual.length, expected.length)
  for (let i = 0; i < actual.length; i++)
    assert.ok(Math.abs(actual[i] - expected[i]) <= tolerance, `entry ${i}: ${actual[i]}, expected ${expected[i]}`)
}

const normals = (random: Random, count: number): number[] => Array.from({ length: count }, () => random.normal())

/** Fails where a gradient is not that of central differences. */
function assertGradient(lossOf: (x: number[]) => number, at: readonly number[], gradient: ArrayLike<number>): void {
  const differences = at.map((x, i) => {
    const moved = (to: number): number => lossOf(at.map((other, j) => (j === i ? to : other)))
    return (moved(x + 1e-5) - moved(x - 1e-5)) / 2e-5
  })
  close(gradient, differences, 1e-7)
}

/** A deterministic lake of 4 x 4: start above left, goal below right, four holes. Moves: left, down, right, up. */
const HOLES = new Set([5, 7, 11, 12])
const GOAL = 15
function move(state: number, action: number): number {
  const [row, column] = [state >> 2, state & 3]
  const [down, right] = [
    [0, -1],
    [1, 0],
    [0, 1],
    [-1, 0],
  ][action]
  const clip = (x: number): number => Math.min(3, Math.max(0, x))
  return 4 * clip(row + down) + clip(column + right)
}
const ends = (state: number): boolean => HOLES.has(state) || state === GOAL
const oneHot = (state: number): number[] => Array.from({ length: 16 }, (_, i) => (i === state ? 1 : 0))

function lake(): value.SmallWorld {
  let [state, time] = [0, 0]
  return {
    observation: 16,
    actions: 4,
    reset: (random) => {
      // Any square that is no end, so that all of them are learnt.
      do state = random.integer(0, 15)
      while (ends(state))
      time = 0
      return oneHot(state)
    },
    step: (action) => {
      state = move(state, action)
      time++
      const terminated = ends(state)
      return {
        observation: oneHot(state),
        reward: state === GOAL ? 1 : 0,
        terminated,
        truncated: !terminated && time >= 30,
      }
    },
  }
}

/** Optimal values of the lake by value iteration: [states][actions]. */
function optimal(gamma: number): number[][] {
  let q = Array.from({ length: 16 }, () => [0, 0, 0, 0])
  for (let sweep = 0; sweep < 200; sweep++)
    q = q.map((_, state) =>
      [0, 1, 2, 3].map((action) => {
        const next = move(state, action)
        return value.qTarget(next === GOAL ? 1 : 0, ends(next) ? 0 : gamma, q[next])
      }),
    )
  return q
}

test('DQN learns the values of a frozen lake, with double Q-learning, priorities and several steps as well', () => {
  const gamma = 0.9
  const exact = optimal(gamma)
  const variants: Partial<value.DeepQOptions>[] = [
    { double: false },
    { double: true, replay: { capacity: 2000, scheme: 'proportional' } },
    { n: 2, replay: { capacity: 2000, scheme: 'lap' } },
  ]
  for (const variant of variants) {
    const { q } = value.learnDeepQ({
      world: lake(),
      random: createRandom(11),
      steps: 3000,
      hidden: [24],
      batch: 24,
      learningRate: 0.005,
      rate: 0.03,
      gamma,
      exploration: 0.3,
      ...variant,
    })
    for (let state = 0; state < 16; state++) {
      if (ends(state)) continue
      const learnt = q(oneHot(state))
      const chosen = value.greedyAction(learnt)
      const best = Math.max(...exact[state])
      assert.ok(
        exact[state][chosen] > best - 0.1,
        `${JSON.stringify(variant)}: state ${state} chooses ${chosen} of ${learnt.map((x) => x.toFixed(2)).join()}`,
      )
      // Over several steps off-policy actions count too: their values are lower than the best.
      if (variant.n === undefined) close([Math.max(...learnt)], [best], 0.15)
    }
  }
})

test('targets: the maximum over legal actions, nothing after the end, the lowest index of equals', () => {
  assert.equal(value.qTarget(1, 0.5, [0, 4, 2]), 3)
  assert.equal(value.qTarget(1, 0.5, [0, 4, 2], [1, 0, 1]), 2)
  assert.equal(value.qTarget(1, 0.5, [4], [0]), 1)
  assert.equal(value.qTarget(1, 0, [Infinity]), 1)
  assert.equal(value.greedyAction([2, 3, 3]), 1)
  assert.throws(() => value.greedyAction([NaN]), { code: 'numeric' })
  assert.equal(value.doubleQTarget(0, 1, [5, 1], [2, 9]), 2)
  assert.equal(value.qTarget(0, 1, [2, 9]), 9)
})

test('the loss of values has the gradient of differences, inside and outside of the Huber range', () => {
  const random = createRandom(1)
  for (const kind of ['huber', 'half-square'] as const) {
    const [predictions, targets, weights] = [0, 1, 2].map(() => normals(random, 6).map((x) => 2 * x))
    const lossOf = (x: number[]): number => value.tdLoss(x, targets, { kind, weights }).value
    assertGradient(lossOf, predictions, value.tdLoss(predictions, targets, { kind, weights }).gradient)
  }
  close(value.tdLoss([0, 3], [1, 0]).gradient, [-0.5, 0.5])
  assert.equal(value.tdLoss([], []).value, 0)
  assert.throws(() => value.tdLoss([1e200], [0], { kind: 'half-square' }), { code: 'numeric' })
  assert.throws(() => value.tdLoss([1], []), { code: 'usage' })
})

test('n steps: discounted sums, shorter at the end, bootstrapped unless the episode truly ended', () => {
  const steps = [1, 2, 4].map((reward, t) => ({ observation: t, action: 0, reward }))
  const told = (terminated: boolean): number[][] =>
    value.nStepTransitions(steps, 9, terminated, 2, 0.5).map(({ reward, next, discount }) => [reward, next, discount])
  assert.deepEqual(told(true), [
    [2, 2, 0.25],
    [4, 9, 0],
    [4, 9, 0],
  ])
  assert.deepEqual(told(false).slice(1), [
    [4, 9, 0.25],
    [4, 9, 0.5],
  ])
  assert.throws(() => value.nStepTransitions(steps, 9, true, 0, 1), { code: 'usage' })
})

test('dueling heads and their gradient, with illegal actions', () => {
  close(value.duelingValues(1, [2, 4]), [0, 2])
  const random = createRandom(2)
  for (const legal of [undefined, [1, 0, 1, 1]]) {
    const [heads, dq] = [normals(random, 5), normals(random, 4)]
    const masked = dq.map((slope, a) => (legal && !legal[a] ? 0 : slope))
    const lossOf = ([v, ...advantages]: number[]): number =>
      value.duelingValues(v, advantages, legal).reduce((sum, q, a) => sum + (q === -Infinity ? 0 : q * masked[a]), 0)
    const { value: dv, advantages } = value.duelingGradient(masked, legal)
    assertGradient(lossOf, heads, [dv, ...advantages])
  }
})

test('target networks follow, and refuse networks of another shape', () => {
  const target = { w: Float32Array.of(0, 4) }
  value.followTarget(target, { w: Float32Array.of(4, 0) }, 0.25)
  close(target.w, [1, 3])
  value.followTarget(target, { w: Float32Array.of(7, 8) }, 1)
  close(target.w, [7, 8])
  assert.throws(() => value.followTarget(target, {}, 0.5), { code: 'usage' })
  assert.throws(() => value.followTarget(target, target, 2), { code: 'usage' })
})

test('the gradients of the network are those of differences', () => {
  const random = createRandom(3)
  const network = value.createMlp([3, 5, 2], random)
  const names = Object.keys(network.parameters)
  // Double precision, so that differences are exact enough.
  const parameters = Object.fromEntries(
    names.map((name) => [name, Float64Array.from(network.parameters[name], (x) => x + 0.1)]),
  )
  const [input, slopes] = [normals(random, 3), normals(random, 2)]
  const lossOf = (): number =>
    value
      .forwardMlp({ sizes: network.sizes, parameters }, input)
      .at(-1)!
      .reduce((sum, y, i) => sum + y * slopes[i], 0)
  const gradients = Object.fromEntries(names.map((name) => [name, new Float64Array(parameters[name].length)]))
  const copy = { sizes: network.sizes, parameters }
  value.backwardMlp(copy, value.forwardMlp(copy, input), slopes, gradients)
  for (const name of names)
    parameters[name].forEach((x, i) => {
      const at = (to: number): number => {
        parameters[name][i] = to
        const result = lossOf()
        parameters[name][i] = x
        return result
      }
      close([gradients[name][i]], [(at(x + 1e-6) - at(x - 1e-6)) / 2e-6], 1e-7)
    })
})

test('prioritized replay draws in proportion, weighs by importance, overwrites the oldest and survives a checkpoint', () => {
  const random = createRandom(4)
  const memory = value.createReplay<string>({ capacity: 3, scheme: 'proportional', alpha: 1, epsilon: 1e-9 })
  for (const item of ['z', 'a', 'b', 'c']) memory.add(item)
  assert.equal(memory.size, 3)
  memory.prioritize([0, 1, 2], [1, 2, 5])
  const share = (drawn: value.Drawn<string>, item: string): number =>
    drawn.items.filter((other) => other === item).length / drawn.items.length
  const drawn = memory.sample(8000, random, 0.5)
  close([share(drawn, 'c'), share(drawn, 'a'), share(drawn, 'b')], [1 / 8, 2 / 8, 5 / 8], 0.01)
  const weightOf = (item: string): number => drawn.weights[drawn.items.indexOf(item)]
  close([weightOf('c'), weightOf('a'), weightOf('b')], [1, Math.sqrt(1 / 2), Math.sqrt(1 / 5)], 1e-6)
  // With beta 1 the weighted mean over the draw is the mean over the memory.
  const full = memory.sample(8000, random, 1)
  const worth: Record<string, number> = { a: 10, b: 20, c: 60 }
  const total = full.weights.reduce((sum, weight) => sum + weight, 0)
  close([full.items.reduce((sum, item, i) => sum + worth[item] * full.weights[i], 0) / total], [30], 0.5)
  const restored = value.createReplay<string>(
    { capacity: 3, scheme: 'proportional', alpha: 1 },
    JSON.parse(JSON.stringify(memory.state())) as value.ReplayState<string>,
  )
  assert.deepEqual(restored.sample(50, createRandom(9)), memory.sample(50, createRandom(9)))
  restored.add('d')
  assert.deepEqual(restored.state().items, ['c', 'd', 'b'])
  close([restored.state().priorities![1]], [5], 1e-8)
})

test('LAP floors priorities at 1 and has no weights; uniform replay ignores errors; misuse is named', () => {
  const lap = value.createReplay<number>({ capacity: 4, scheme: 'lap', alpha: 1 })
  for (const item of [0, 1, 2]) lap.add(item)
  lap.prioritize([0, 1, 2], [0.1, 0.9, -2])
  assert.deepEqual(lap.state().priorities, [1, 1, 2])
  assert.deepEqual(new Set(lap.sample(20, createRandom(1)).weights), new Set([1]))
  const uniform = value.createReplay<number>({ capacity: 2 })
  assert.throws(() => uniform.sample(1, createRandom(1)), { code: 'usage' })
  uniform.add(1)
  uniform.prioritize([0], [NaN])
  assert.deepEqual(uniform.sample(2, createRandom(1)).items, [1, 1])
  assert.throws(() => lap.prioritize([0], [NaN]), { code: 'numeric' })
  assert.throws(() => value.createReplay({ capacity: 0 }), { code: 'usage' })
  assert.throws(() => value.createReplay({ capacity: 1 }, { items: [1, 2], next: 0 }), { code: 'usage' })
})

test('projections keep sums and means, and clip to the support', () => {
  const random = createRandom(5)
  const support = value.supportOf(-2, 3, 11)
  const inside = Array.from({ length: 20 }, () => -2 + 5 * random.uniform())
  for (const y of [...inside, -2, 3, 0.5]) {
    const target = value.twoHot(y, support)
    close([target.reduce((sum, p) => sum + p, 0), value.expectationOf(target, support)], [1, y])
    assert.ok(target.filter((p) => p > 0).length <= 2)
  }
  close(value.twoHot(99, support), [...new Array(10).fill(0), 1])
  const p = softmax(normals(random, 11))
  const target = value.categoricalTarget(p, support, 0.3, 0.5)
  // Against the published formula, atom by atom.
  const width = support[1] - support[0]
  const published = support.map((z) =>
    support.reduce((sum, from, j) => {
      const moved = Math.min(3, Math.max(-2, 0.3 + 0.5 * from))
      return sum + Math.max(0, 1 - Math.abs(moved - z) / width) * p[j]
    }, 0),
  )
  close(target, published)
  close([value.expectationOf(target, support)], [0.3 + 0.5 * value.expectationOf(p, support)])
  close(value.categoricalTarget(p, support, 1, 0), value.twoHot(1, support))
  assert.throws(() => value.twoHot(NaN, support), { code: 'numeric' })
  assert.throws(() => value.supportOf(1, 1, 3), { code: 'usage' })
})

test('HL-Gauss: masses of a normal distribution between edges (math.erf of Python), mean near the value', () => {
  const erf = [
    [0, 0],
    [0.1, 0.1124629160182849],
    [-0.5, -0.5204998778130465],
    [1, 0.8427007929497149],
    [1.7, 0.9837904585907745],
    [2.9, 0.9999589021219005],
    [3.1, 0.9999883513426328],
    [4.5, 0.9999999998033839],
    [-5.5, -0.9999999999999927],
    [7, 1],
  ]
  for (const [x, y] of erf) close([value.erf(x)], [y], 1e-14)
  const made = value.valueDistribution(value.distributional.options.parse({ low: -5, high: 5, bins: 50 }))
  for (const y of [-3, 0.03, 2.51]) {
    const target = made.target(y, 0, new Float64Array(50))
    close([target.reduce((sum, p) => sum + p, 0)], [1])
    close([made.value(target)], [y], 1e-3)
  }
  const far = value.gaussianHistogram(1e9, value.supportOf(0, 1, 5), 0.1)
  assert.ok(far.every(Number.isFinite) && far[3] > 0.9)
  const kinds = (['c51', 'two-hot', 'hl-gauss'] as const).map((target) => {
    const { target: make, support } = value.valueDistribution(value.distributional.options.parse({ target, bins: 5 }))
    const spreadOut = Float64Array.from(support, () => 1 / support.length)
    return [...make(0.2, 0.5, spreadOut)].map((p) => p.toFixed(4)).join()
  })
  assert.equal(new Set(kinds).size, 3, kinds.join(' | '))
})

test('the loss of a distribution has the gradient softmax - p', () => {
  const random = createRandom(6)
  const [logits, target] = [normals(random, 5), softmax(normals(random, 5))]
  assertGradient(
    (x) => value.distributionLoss(x, target).value,
    logits,
    value.distributionLoss(logits, target).gradient,
  )
})

test('soft actor-critic: gradients, and the least of its losses is the soft optimal policy', () => {
  const random = createRandom(7)
  for (const legal of [undefined, [1, 1, 0, 1]]) {
    const [logits, ...critics] = [0, 1, 2].map(() => normals(random, 4))
    const { gradient } = value.actorLoss(logits, critics, 0.3, legal)
    assertGradient((x) => value.actorLoss(x, critics, 0.3, legal).value, logits, gradient)
    // pi = softmax(Q / alpha) is where the gradient vanishes, and there V = alpha logsumexp(Q / alpha) = -J.
    const least = value.leastOf(critics)
    const best = [...least].map((q) => q / 0.3)
    close(value.actorLoss(best, critics, 0.3, legal).gradient, [0, 0, 0, 0])
    const soft = 0.3 * logSumExp(best, legal)
    close([value.softValue(best, critics, 0.3, legal), -value.actorLoss(best, critics, 0.3, legal).value], [soft, soft])
  }
  assert.equal(value.actorLoss([1], [[1]], 1, [0]).value, 0)
  close([value.policyEntropy([0, 0, 5], [1, 1, 0])], [Math.log(2)])
  assert.equal(value.policyEntropy([9]), 0)
  assert.ok(Number.isFinite(value.actorLoss([0, -1e6], [[1, 2]], 0.1).value))
})

test('the temperature falls where entropy is above its target, ignoring states without a choice', () => {
  const states = [
    { entropy: 0.6, actions: 2 },
    { entropy: 0, actions: 1 },
  ]
  const { gradient } = value.temperatureLoss(-1, states, 0.5)
  assertGradient(([x]) => value.temperatureLoss(x, states, 0.5).value, [-1], [gradient])
  assert.ok(gradient > 0)
  assert.equal(value.temperatureLoss(0, states.slice(1)).value, 0)
})

test('discrete SAC by its own losses arrives at soft value iteration', () => {
  // Two states, two actions; action 0 stays, action 1 changes state; rewards by state and action.
  const rewards = [
    [0.1, 0],
    [1, 0.3],
  ]
  const [alpha, gamma] = [0.2, 0.8]
  const nextOf = (state: number, action: number): number => (action === 0 ? state : 1 - state)
  let soft = [0, 0]
  for (let i = 0; i < 300; i++)
    soft = soft.map((_, s) => alpha * logSumExp(rewards[s].map((r, a) => (r + gamma * soft[nextOf(s, a)]) / alpha)))
  const critics = [0, 1].map(() => rewards.map(() => [0, 0]))
  const logits = rewards.map(() => [0, 0])
  for (let i = 0; i < 2000; i++) {
    const values = logits.map((row, s) =>
      value.softValue(
        row,
        critics.map((critic) => critic[s]),
        alpha,
      ),
    )
    rewards.forEach((row, s) => {
      for (const critic of critics) {
        const targets = row.map((r, a) => r + gamma * values[nextOf(s, a)])
        const { gradient } = value.tdLoss(critic[s], targets, { kind: 'half-square' })
        critic[s] = critic[s].map((q, a) => q - 0.5 * gradient[a])
      }
      const actor = value.actorLoss(
        logits[s],
        critics.map((critic) => critic[s]),
        alpha,
      )
      logits[s] = logits[s].map((logit, a) => logit - 2 * actor.gradient[a])
    })
  }
  const learnt = logits.map((row, s) =>
    value.softValue(
      row,
      critics.map((critic) => critic[s]),
      alpha,
    ),
  )
  close(learnt, soft, 1e-3)
})

test('texts as actions: sums favour the short, means do not', () => {
  const tokens = [[-1, -1], [-1.5]]
  const [sum, mean] = [false, true].map((average) => value.textActionLogprobs(tokens, { average }))
  close(sum, logSoftmax([-2, -1.5]))
  close(mean, logSoftmax([-1, -1.5]))
  assert.throws(() => value.textActionLogprobs([[]]), { code: 'usage' })
})

test('hindsight relabels with goals of the same or later steps, and earns where they are met', () => {
  const episode = [1, 2, 3].map((position, t) => ({
    observation: t,
    action: 0,
    next: position,
    goal: 9,
    achieved: position,
    reward: 0,
    done: false,
  }))
  const reward = (achieved: number, goal: number): { reward: number; done: boolean } => ({
    reward: Number(achieved === goal),
    done: achieved === goal,
  })
  const final = value.relabelHindsight(episode, { strategy: 'final', goals: 4, reward, random: createRandom(1) })
  assert.deepEqual(
    final.map(({ goal, reward: earned, done }) => [goal, earned, done]),
    [
      [3, 0, false],
      [3, 0, false],
      [3, 1, true],
    ],
  )
  const future = value.relabelHindsight(episode, { strategy: 'future', goals: 40, reward, random: createRandom(1) })
  assert.equal(future.length, 120)
  assert.deepEqual(
    [0, 1, 2].map((t) => [...new Set(future.filter((step) => step.observation === t).map(({ goal }) => goal))].sort()),
    [[1, 2, 3], [2, 3], [3]],
  )
  assert.deepEqual(value.relabelHindsight([], { strategy: 'final', goals: 1, reward, random: createRandom(1) }), [])
})

test('expectiles: gradient, the mean at 0.5, the maximum towards 1', () => {
  const random = createRandom(8)
  const [values, q] = [normals(random, 5), normals(random, 5)]
  assertGradient((x) => value.expectileLoss(x, q, 0.8).value, values, value.expectileLoss(values, q, 0.8).gradient)
  const expectileOf = (tau: number): number => {
    let v = 0
    for (let i = 0; i < 20_000; i++) {
      const { gradient } = value.expectileLoss(
        q.map(() => v),
        q,
        tau,
      )
      v -= 0.3 * gradient.reduce((sum, slope) => sum + slope, 0)
    }
    return v
  }
  close([expectileOf(0.5)], [q.reduce((sum, x) => sum + x / 5, 0)], 1e-6)
  close([expectileOf(0.9999)], [Math.max(...q)], 1e-2)
})

test('advantage-weighted, square, conservative and per-dimension losses have the gradients of differences', () => {
  const random = createRandom(9)
  const [x, y] = [normals(random, 4), normals(random, 4)]
  assertGradient((at) => value.squareLoss(at, y).value, x, value.squareLoss(x, y).gradient)
  assertGradient((at) => value.advantageWeightedLoss(at, y).value, x, value.advantageWeightedLoss(x, y).gradient)
  close(value.advantageWeightedLoss([-1], [1e6]).gradient, [-100])
  for (const legal of [undefined, [1, 0, 1, 1]])
    for (const temperature of [1, 0.3]) {
      const lossOf = (at: number[]): number => value.conservativeLoss(at, 2, { temperature, legal }).value
      assertGradient(lossOf, x, value.conservativeLoss(x, 2, { temperature, legal }).gradient)
    }
  close(value.conservativeLoss([0, 0], 0).gradient, [-0.5, 0.5])
  const options = { alpha: 0.7, minimum: -0.2 }
  assertGradient(
    (at) => value.dimensionLoss(at, 1, 0.5, options).value,
    x,
    value.dimensionLoss(x, 1, 0.5, options).gradient,
  )
})

test('a conservative critic ranks what the data does not do below what it does; plain Q-learning does not', () => {
  const learn = (alpha: number): number[] => {
    const term = value.cql.make(value.cql.options.parse({ alpha })) as (q: value.Row, action: number) => value.ValueLoss
    // One state; the data takes action 0 only, worth 0.5; action 1 begins too high.
    let q = [0, 2]
    for (let i = 0; i < 2000; i++) {
      const td = value.tdLoss([q[0]], [0.5], { kind: 'half-square' }).gradient[0]
      const pressed = term(q, 0).gradient
      q = [q[0] - 0.1 * (td + pressed[0]), q[1] - 0.1 * pressed[1]]
    }
    return q
  }
  assert.equal(value.greedyAction(learn(0)), 1)
  assert.equal(value.greedyAction(learn(1)), 0)
})

test('backing up dimension by dimension gives the value of the best joint action', () => {
  // One state that leads to itself; three dimensions of two bins; the reward of a joint action.
  const random = createRandom(10)
  const joint = Array.from({ length: 8 }, () => random.uniform())
  const gamma = 0.7
  let tables = [[0, 0], [0, 0, 0, 0], new Array<number>(8).fill(0)]
  for (let sweep = 0; sweep < 200; sweep++) {
    const updated = tables.map((table) => [...table])
    for (let action = 0; action < 8; action++) {
      const prefixes = [action >> 2, action >> 1, action]
      const rows = [
        tables[0],
        tables[1].slice(2 * prefixes[0], 2 * prefixes[0] + 2),
        tables[2].slice(2 * prefixes[1], 2 * prefixes[1] + 2),
      ]
      value
        .dimensionTargets(rows, joint[action], gamma, tables[0])
        .forEach((target, d) => (updated[d][prefixes[d]] = target))
    }
    tables = updated
  }
  const best = Math.max(...joint)
  close([Math.max(...tables[0])], [best / (1 - gamma)], 1e-9)
  assert.equal(tables[0][joint.indexOf(best) >> 2], Math.max(...tables[0]))
  close(
    value.dimensionTargets(
      [
        [0, 1],
        [0, 2],
      ],
      0.5,
      0,
      [9],
      1.5,
    ),
    [2, 1.5],
  )
})

test('ILQL: gradients, and values of the best of the data on a chain', () => {
  const random = createRandom(12)
  const [tokens, rewards, targetQ] = [[2, 0, 1], normals(random, 3), [normals(random, 3), normals(random, 3)]]
  const given = { tokens, rewards, targetQ, lastValue: 0.4 }
  const options = { tau: 0.8, conservative: 0.3, temperature: 0.7 }
  const headsOf = (flat: readonly number[]): number[][][] =>
    [0, 1].map((h) => [0, 1, 2].map((t) => flat.slice(9 * h + 3 * t, 9 * h + 3 * t + 3)))
  const [heads, values] = [normals(random, 18), normals(random, 3)]
  const result = value.ilqlLoss({ ...given, q: headsOf(heads), values }, options)
  assertGradient(
    (x) => value.ilqlLoss({ ...given, q: headsOf(x), values }, options).value,
    heads,
    result.q.flat().flatMap((row) => [...row]),
  )
  // V' in the target is a constant, so only the expectile part is differentiated.
  const least = values.map((_, t) => Math.min(...targetQ.map((row) => row[t])))
  assertGradient((x) => value.expectileLoss(x, least, 0.8).value, values, result.values)

  // Two first tokens, then an end: what follows token 1 earns 1. Values before the first token become those of the best.
  const q = [
    [0, 0],
    [0, 0],
  ]
  const v = [0, 0, 0]
  for (let i = 0; i < 6000; i++)
    for (const first of [0, 1]) {
      const state = 1 + first
      const loss = value.ilqlLoss(
        {
          tokens: [first, 0],
          rewards: [0, first],
          q: [[q[0], [q[1][first], -50]]],
          targetQ: [[q[0][first], q[1][first]]],
          values: [v[0], v[state]],
        },
        { gamma: 0.9, tau: 0.99, conservative: 0 },
      )
      q[0] = q[0].map((x, a) => x - 0.2 * loss.q[0][0][a])
      q[1][first] -= 0.2 * loss.q[0][1][0]
      v[0] -= 0.2 * loss.values[0]
      v[state] -= 0.2 * loss.values[1]
    }
  close(q[1], [0, 1], 0.02)
  close(q[0], [0, 0.9], 0.03)
  close([v[0]], [0.9], 0.05)
  assert.equal(value.greedyAction(value.steerLogits([0.1, 0], q[0], v[0], 16)), 1)
  close(value.steerLogits([0.1, 0], q[0], v[0], 0), [0.1, 0])
})

test('every declaration of the folder is made with its defaults', () => {
  for (const { name, options, make } of value.valueBasedObjectives) assert.ok(make(options.parse({}) as never), name)
})
