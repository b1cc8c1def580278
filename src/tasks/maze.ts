import type { Random } from '../core/index.js'
import { languages, type ByLanguage, type Language } from '../data/index.js'
import { sameAnswer } from './answers.js'
import { defineTask, end, malformed, say, scale } from './define-task.js'

type Direction = 'up' | 'down' | 'left' | 'right'

const steps: Readonly<Record<Direction, readonly [row: number, column: number]>> = {
  up: [-1, 0],
  down: [1, 0],
  left: [0, -1],
  right: [0, 1],
}
const directions = Object.keys(steps) as Direction[]

const words: ByLanguage<Readonly<Record<Direction | 'goal' | 'free', string>>> = {
  en: { goal: 'goal', free: 'free', up: 'up', down: 'down', left: 'left', right: 'right' },
  es: { goal: 'meta', free: 'libre', up: 'arriba', down: 'abajo', left: 'izquierda', right: 'derecha' },
  sw: { goal: 'lengo', free: 'wazi', up: 'juu', down: 'chini', left: 'kushoto', right: 'kulia' },
  yo: { goal: 'góńgó', free: 'òfo', up: 'òkè', down: 'ìsàlẹ̀', left: 'òsì', right: 'ọ̀tún' },
  ru: { goal: 'цель', free: 'свободно', up: 'вверх', down: 'вниз', left: 'влево', right: 'вправо' },
  ar: { goal: 'الهدف', free: 'مفتوح', up: 'أعلى', down: 'أسفل', left: 'يسار', right: 'يمين' },
  hi: { goal: 'लक्ष्य', free: 'खुला', up: 'ऊपर', down: 'नीचे', left: 'बाएँ', right: 'दाएँ' },
  ja: { goal: '目標', free: '通路', up: '上', down: '下', left: '左', right: '右' },
}

const size = 4
const maxTurns = 8

type Data = { walls: number[]; start: number; goal: number }

/**
 * A small maze walked by what the walker senses: where the goal lies and which neighbouring cells are free. Both lists
 * use the words the walker moves by, so "a direction that is in both, else another free one" is a policy a small model
 * can find. A walk that arrives is worth 1 less a little for every needless step; one that does not, up to 0.4 for how
 * much nearer it came. The key is the whole maze, in whichever language.
 */
export const maze = defineTask<Data>({
  id: 'maze',
  description: 'walk a 4x4 maze to the goal, sensing its direction and the free neighbours',
  difficulty: { easiest: '1 wall, goal 2 or 3 steps away', hardest: '5 walls, goal up to 6 steps away' },
  languages,
  maxTurns,
  maxReplyTokens: 6,
  get lexicon() {
    return Object.fromEntries(languages.map((tag) => [tag, directions.map((direction) => words[tag][direction])]))
  },
  generate(random, { difficulty }) {
    const most = scale(difficulty, 3, 6)
    for (;;) {
      const cells = random.shuffle(Array.from({ length: size * size }, (_, cell) => cell))
      const [start, goal, ...rest] = cells
      const walls = rest.slice(0, random.integer(1, scale(difficulty, 1, 5))).sort((a, b) => a - b)
      const away = distances(walls, goal)[start]
      if (away >= 2 && away <= most) return { data: { walls, start, goal }, key: `${walls.join(',')} ${start} ${goal}` }
    }
  },
  play({ walls, start, goal }, { language }) {
    const word = words[language as Language]
    const toGoal = distances(walls, goal)
    let cell = start
    let turns = 0
    /** What it is worth to stand in a cell where the turns have run out. */
    const nearness = (at: number) => 0.3 * Math.max(0, 1 - toGoal[at] / toGoal[start])
    const free = () => directions.filter((direction) => neighbour(walls, cell, direction) !== null)
    const sense = () => {
      const list = (found: Direction[]) => found.map((direction) => word[direction]).join(' ')
      return `${word.goal} ${list(towards(cell, goal))} ${word.free} ${list(free())}`
    }
    return {
      messages: [{ role: 'user', content: sense() }],
      respond(reply) {
        const direction = directions.find((candidate) => sameAnswer(reply, word[candidate]))
        if (direction === undefined) return malformed
        const before = nearness(cell)
        cell = neighbour(walls, cell, direction) ?? cell // a step against a wall is a turn lost
        turns++
        const reward = nearness(cell) - before
        if (cell === goal) return end({ reward: 1 - 0.04 * (turns - toGoal[start]), success: true, wellFormed: true })
        if (turns < maxTurns) return { ...say(sense()), reward }
        return end({ reward: 0.1 + nearness(cell), success: false, wellFormed: true })
      },
      randomReply: (random: Random) => word[random.pick(free())],
      expertReply: () => {
        const next = (direction: Direction) => toGoal[neighbour(walls, cell, direction) ?? cell]
        return word[free().reduce((best, direction) => (next(direction) < next(best) ? direction : best))]
      },
    }
  },
})

/** The cell one step on, or null at a wall or the rim. */
function neighbour(walls: readonly number[], cell: number, direction: Direction): number | null {
  const row = Math.floor(cell / size) + steps[direction][0]
  const column = (cell % size) + steps[direction][1]
  if (row < 0 || column < 0 || row >= size || column >= size) return null
  return walls.includes(row * size + column) ? null : row * size + column
}

/** Directions the goal lies in, the farther axis first. */
function towards(cell: number, goal: number): Direction[] {
  const rows = Math.floor(goal / size) - Math.floor(cell / size)
  const columns = (goal % size) - (cell % size)
  const found: [number, Direction][] = [
    [Math.abs(rows), rows < 0 ? 'up' : 'down'],
    [Math.abs(columns), columns < 0 ? 'left' : 'right'],
  ]
  return found
    .filter(([distance]) => distance > 0)
    .sort((a, b) => b[0] - a[0])
    .map(([, direction]) => direction)
}

/** Steps from every cell to the goal; Infinity where there is no way. [16] */
function distances(walls: readonly number[], goal: number): number[] {
  const away = Array.from({ length: size * size }, () => Infinity)
  away[goal] = 0
  const queue = [goal]
  for (const cell of queue)
    for (const direction of directions) {
      const next = neighbour(walls, cell, direction)
      if (next !== null && away[next] === Infinity) {
        away[next] = away[cell] + 1
        queue.push(next)
      }
    }
  return away
}
