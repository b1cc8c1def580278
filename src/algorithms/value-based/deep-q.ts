import type { Random } from '../../core/index.js'
import { adamW } from '../../engine/index.js'
import { backwardMlp, createMlp, forwardMlp, zerosLike, type Mlp } from './mlp.js'
import { createReplay, type ReplayOptions } from './replay.js'
import { greedyAction } from './rows.js'
import { doubleQTarget, followTarget, nStepTransitions, qTarget, tdLoss, type EpisodeStep } from './targets.js'

/** A world of few actions, seen as a short list of numbers. */
export interface SmallWorld {
  /** Numbers in an observation. */
  observation: number
  actions: number
  /** Begins an episode. */
  reset(random: Random): number[]
  /** `terminated`: the episode truly ended; `truncated`: it ran out of time. */
  step(
    action: number,
    random: Random,
  ): { observation: number[]; reward: number; terminated: boolean; truncated: boolean }
}

export interface DeepQOptions {
  world: SmallWorld
  random: Random
  /** Steps in the world. */
  steps: number
  /** ([32]) */
  hidden?: readonly number[]
  /** (0.97) */
  gamma?: number
  /** Double Q-learning (true). */
  double?: boolean
  /** Steps a transition spans (1). */
  n?: number
  /** (0.003) */
  learningRate?: number
  /** Transitions an update is made of (32). */
  batch?: number
  /** How far the target network follows after each update (0.02). */
  rate?: number
  /** Random actions: from 1 down to this over the first half of the steps (0.1). */
  exploration?: number
  /** ({ capacity: 5000 }) */
  replay?: ReplayOptions
}

/**
 * DQN on a small world: a multilayer perceptron with a target network, replay, epsilon-greedy exploration and Adam; one update
 * after each step in the world.
 *
 * @returns the network, and the values it gives an observation
 * @example const { q } = learnDeepQ({ world, random, steps: 3000 })
 */
export function learnDeepQ(options: DeepQOptions): { network: Mlp; q(observation: readonly number[]): number[] } {
  const { world, random, steps, hidden = [32], gamma = 0.97, double = true, n = 1 } = options
  const { learningRate = 0.003, batch = 32, rate = 0.02, exploration = 0.1 } = options
  const network = createMlp([world.observation, ...hidden, world.actions], random)
  const target: Mlp = {
    ...network,
    parameters: Object.fromEntries(Object.entries(network.parameters).map(([name, data]) => [name, data.slice()])),
  }
  const optimizer = adamW()
  const moments = optimizer.init(network.parameters)
  const memory = createReplay<{
    observation: number[]
    action: number
    reward: number
    next: number[]
    discount: number
  }>(options.replay ?? { capacity: 5000 })
  const valuesOf = (of: Mlp, observation: readonly number[]): Float64Array => forwardMlp(of, observation).at(-1)!

  const update = (): void => {
    const { items, indices, weights } = memory.sample(batch, random)
    const targets = items.map(({ reward, discount, next }) =>
      double
        ? doubleQTarget(reward, discount, valuesOf(network, next), valuesOf(target, next))
        : qTarget(reward, discount, valuesOf(target, next)),
    )
    const layers = items.map(({ observation }) => forwardMlp(network, observation))
    const predictions = layers.map((layer, i) => layer.at(-1)![items[i].action])
    const { gradient, errors } = tdLoss(predictions, targets, { weights })
    const gradients = zerosLike(network.parameters)
    items.forEach(({ action }, i) => {
      const row = new Float64Array(world.actions)
      row[action] = gradient[i]
      backwardMlp(network, layers[i], row, gradients)
    })
    optimizer.step(network.parameters, gradients, moments, learningRate)
    memory.prioritize(indices, errors)
    followTarget(target.parameters, network.parameters, rate)
  }

  let observation = world.reset(random)
  let episode: EpisodeStep<number[], number>[] = []
  for (let step = 0; step < steps; step++) {
    const epsilon = Math.max(exploration, 1 - ((1 - exploration) * 2 * step) / steps)
    const action =
      random.uniform() < epsilon ? random.integer(0, world.actions - 1) : greedyAction(valuesOf(network, observation))
    const seen = world.step(action, random)
    episode.push({ observation, action, reward: seen.reward })
    observation = seen.observation
    if (seen.terminated || seen.truncated) {
      for (const transition of nStepTransitions(episode, observation, seen.terminated, n, gamma)) memory.add(transition)
      episode = []
      observation = world.reset(random)
    }
    if (memory.size >= batch) update()
  }
  return { network, q: (given) => [...valuesOf(network, given)] }
}
