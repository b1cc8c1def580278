import { MyriadError } from '../core/index.js'
import type { TrainConfig } from './config.js'
import type { ConfiguredTask } from './setup.js'

/**
 * The folder of the teacher for each language that the tasks of a run are in.
 *
 * @throws MyriadError 'usage' when a language has none
 * @example teacherFolders({ teachers: { sw: 'a', default: 'b' } }, tasks) // sw -> a, en -> b
 */
export function teacherFolders(
  { teacher, teachers }: Pick<TrainConfig, 'teacher' | 'teachers'>,
  tasks: readonly Pick<ConfiguredTask, 'languages'>[],
): ReadonlyMap<string, string> {
  const languages = [...new Set(tasks.flatMap((task) => task.languages))]
  return new Map(
    languages.map((language) => {
      const folder = teachers?.[language] ?? teachers?.[language.split('-')[0]] ?? teachers?.default ?? teacher
      if (folder !== undefined) return [language, folder]
      const message = teachers
        ? `teachers: there is none for "${language}"; give one, or a "default"`
        : 'teacher: the algorithm learns from a teacher; give the folder of its model'
      throw new MyriadError('usage', message)
    }),
  )
}
