import type { RewardValue, Transcript } from '../types.js'

/**
 * What makes transcripts attempts at one problem: the problem itself, not what was said. Lines of `myriad score` share a task
 * and a key, so what was asked and what the problem carries count too.
 */
export function problemKey({ problem, messages }: Transcript): string {
  const { task, language, key, data } = problem
  const asked = messages.findIndex(({ role }) => role === 'assistant')
  const before = messages.slice(0, asked < 0 ? messages.length : asked)
  return JSON.stringify([task, language, key, before.map(({ role, content }) => [role, content]), data])
}

/**
 * Scores transcripts problem by problem; what `score` throws stands in the place of the whole group.
 *
 * @param score answers one value a transcript of the group, or an error in its place
 */
export async function scoreGroups(
  transcripts: readonly Transcript[],
  score: (group: readonly Transcript[]) => Promise<(RewardValue | Error)[]>,
): Promise<(RewardValue | Error)[]> {
  const groups = new Map<string, number[]>()
  transcripts.forEach((transcript, i) => {
    const key = problemKey(transcript)
    groups.set(key, [...(groups.get(key) ?? []), i])
  })
  const values: (RewardValue | Error)[] = transcripts.map(() => null)
  await Promise.all(
    [...groups.values()].map(async (members) => {
      const own = members.map((i) => transcripts[i])
      try {
        const scored = await score(own)
        members.forEach((i, k) => (values[i] = scored[k]))
      } catch (error) {
        for (const i of members) values[i] = error instanceof Error ? error : new Error(String(error))
      }
    }),
  )
  return values
}
