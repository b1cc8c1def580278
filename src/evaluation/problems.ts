import { deriveSeed } from '../core/index.js'
import type { Problem, Task } from '../tasks/types.js'
import type { EvaluationTask } from './types.js'

/** Attempts per wanted problem before a cell is taken to have no more of them. */
const ATTEMPTS = 20

/** Withheld problems of one task in one language. */
export interface Cell {
  task: Task
  language: string
  problems: Problem[]
}

/**
 * Different problems of the eval split for every task and language, spread evenly over the task's range of difficulty. The
 * same arguments give the same problems. A cell whose task has fewer withheld problems than asked for holds those it has;
 * what a task throws goes to `onError`.
 */
export function evaluationProblems(
  tasks: readonly EvaluationTask[],
  options: { problemsPerCell: number; seed: number; onError?: (task: Task, error: unknown) => void },
): Cell[] {
  return tasks.flatMap(({ task, languages, difficulty: [low, high] }) =>
    languages.map((language) => {
      const problems = new Map<string, Problem>()
      const { problemsPerCell, seed } = options
      for (let attempt = 0; attempt < problemsPerCell * ATTEMPTS && problems.size < problemsPerCell; attempt++) {
        const difficulty = low + ((high - low) * (problems.size + 0.5)) / problemsPerCell
        const problemSeed = deriveSeed(seed, 'evaluation', task.id, language, attempt)
        try {
          const problem = task.generate(problemSeed, { language, difficulty, split: 'eval' })
          if (!problems.has(problem.key)) problems.set(problem.key, problem)
        } catch (error) {
          options.onError?.(task, error)
        }
      }
      return { task, language, problems: [...problems.values()] }
    }),
  )
}
