import { messageOf } from '../../core/index.js'
import type { Reward, RewardValue, Transcript } from '../types.js'

/** A reward that opens something large once, when first asked, and scores many at once. */
export interface BatchedReward<Resource extends { close(): Promise<void> }, Item> {
  name: string
  /** Called when first needed, and again only after it failed or was closed. */
  open(): Promise<Resource>
  /** What is to be scored of a transcript; null where the reward does not apply, a value where nothing is needed for it. */
  item(transcript: Transcript): { item: Item } | { value: RewardValue }
  /** [items] */
  score(resource: Resource, items: readonly Item[]): Promise<RewardValue[]>
}

/** A reward out of a batched one: an error of one transcript stands in its place alone. */
export function batchedReward<Resource extends { close(): Promise<void> }, Item>(
  given: BatchedReward<Resource, Item>,
): Reward {
  let opened: Promise<Resource> | undefined
  const resource = (): Promise<Resource> => {
    opened ??= given.open().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  const scoreAll = async (transcripts: readonly Transcript[]): Promise<(RewardValue | Error)[]> => {
    const prepared = transcripts.map((transcript) => {
      try {
        return given.item(transcript)
      } catch (error) {
        return error instanceof Error ? error : new Error(messageOf(error))
      }
    })
    const items = prepared.flatMap((each) => (!(each instanceof Error) && 'item' in each ? [each.item] : []))
    const values = items.length > 0 ? await given.score(await resource(), items) : []
    let next = 0
    return prepared.map((each) => (each instanceof Error ? each : 'item' in each ? values[next++] : each.value))
  }
  return {
    name: given.name,
    scoreAll,
    async score(transcript) {
      const [value] = await scoreAll([transcript])
      if (value instanceof Error) throw value
      return value
    },
    async close() {
      const open = opened
      opened = undefined
      await (await open)?.close()
    },
  }
}
