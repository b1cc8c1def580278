import { createRandom, deriveSeed } from '../core/index.js'
import type { Split, Task } from './types.js'

/** Shares of episodes won, in [0, 1]. */
export interface PlayerRates {
  /** Of a player who knows the rules but has no policy: the floor of every comparison. */
  random: number
  /** Of a player who knows the answers; null where the task has none. */
  expert: number | null
  episodes: number
}

/**
 * How often the task's own random and right players succeed.
 *
 * @param options.difficulty in [0, 1]; 0.5 unless given
 * @param options.episodes for each player; 400 unless given
 * @example await playerRates(taskById('nim'), { language: 'en', seed: 1 }) // { random: 0.4, expert: 1, episodes: 400 }
 */
export async function playerRates(
  task: Task,
  options: { language: string; seed: number; difficulty?: number; split?: Split; episodes?: number },
): Promise<PlayerRates> {
  const { language, seed, difficulty = 0.5, split = 'eval', episodes = 400 } = options
  const won = { random: 0, expert: 0 }
  let expert = true
  for (let i = 0; i < episodes; i++) {
    const problem = task.generate(deriveSeed(seed, i), { language, difficulty, split })
    for (const player of ['random', 'expert'] as const) {
      const episode = task.play(problem)
      const random = createRandom(deriveSeed('player', seed, i, player))
      if (player === 'expert' && !episode.expertReply) {
        expert = false
        continue
      }
      for (let turn = 0; turn < task.maxTurns; turn++) {
        const reply = player === 'expert' ? episode.expertReply?.(random) : episode.randomReply(random)
        const answer = await episode.respond(reply ?? '')
        if (!answer.done) continue
        if (answer.outcome?.success) won[player]++
        break
      }
    }
  }
  return { random: won.random / episodes, expert: expert ? won.expert / episodes : null, episodes }
}
