/** The languages the built-in tasks and the shipped base model speak: five scripts, two low-resource (sw, yo). */
export const languages = ['en', 'es', 'sw', 'yo', 'ru', 'ar', 'hi', 'ja'] as const

/** BCP 47 tag of one of them. */
export type Language = (typeof languages)[number]

/** One value for each language. */
export type ByLanguage<T> = Readonly<Record<Language, T>>

/** Is this tag one of the built-in languages? */
export function isLanguage(tag: string): tag is Language {
  return (languages as readonly string[]).includes(tag)
}
