/**
 * Value-based objectives as pure functions with their gradients: targets and losses of Q-learning, distributions of values,
 * soft actor-critic, offline learning, hindsight and replay; and DQN on small worlds, which puts them together.
 */
import type { Objective } from '../objective.js'
import { distributional } from './categorical.js'
import { hindsight } from './hindsight.js'
import { cql, ilql, iql, qTransformer } from './offline.js'
import { replay } from './replay.js'
import { discreteSac } from './sac.js'
import { dqn, dueling, nStep } from './targets.js'

export * from './categorical.js'
export * from './deep-q.js'
export * from './hindsight.js'
export { backwardMlp, createMlp, forwardMlp, type Mlp } from './mlp.js'
export * from './offline.js'
export * from './replay.js'
export { greedyAction, greedyValue, type Legal, type Row, type ValueLoss } from './rows.js'
export * from './sac.js'
export * from './targets.js'

export const valueBasedObjectives: readonly Objective[] = [
  dqn,
  dueling,
  nStep,
  replay,
  distributional,
  discreteSac,
  hindsight,
  iql,
  cql,
  qTransformer,
  ilql,
]
