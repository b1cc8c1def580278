import { trimEnd, trimStart } from './normalizers.js'
import type { SpecialToken } from './tokenizer.js'

/** A special token, or the text between two. */
export type Section = { special: SpecialToken; text: '' } | { special: null; text: string }

/** Message contents in which nothing reads as a special token any more, and the way back. */
export interface Guard {
  contents: readonly string[]
  restore(text: string): string
}

export interface SpecialSplitter {
  /** Disarms special tokens written in contents. */
  guard(contents: readonly string[]): Guard
  /** Splits a rendering at its special tokens, then gives the guarded contents their letters back. */
  split(rendered: string, guard: Guard): Section[]
}

// A noncharacter: it is valid in a string and means nothing, so templates pass it through (trimming included).
const mark = '\ufdd0'

/** Finds special tokens in template output without being fooled by what the messages say. */
export function createSpecialSplitter(specials: ReadonlyMap<string, SpecialToken>): SpecialSplitter {
  if (specials.size === 0)
    return {
      guard: (contents) => ({ contents, restore: (text) => text }),
      split: (rendered) => (rendered === '' ? [] : [{ special: null, text: rendered }]),
    }
  // Longest first, as one special token may begin another.
  const names = [...specials.keys()].sort((a, b) => b.length - a.length)
  const source = names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|')
  const find = new RegExp(source)
  const findAll = new RegExp(source, 'g')

  return {
    guard(contents) {
      if (!contents.some((content) => find.test(content))) return { contents, restore: (text) => text }
      // Longer than any run of marks that the contents could bring along, even joined.
      const marks = contents.reduce((count, content) => count + content.split(mark).length - 1, 0)
      const fence = mark.repeat(marks + 1)
      const indexOf = new Map(names.map((name, index) => [name, index]))
      // A template may write contents as JSON in ASCII (`tojson(ensure_ascii=true)`).
      const escapedFence = fence.replaceAll(mark, '\\\\ufdd0')
      const back = new RegExp(`${fence}(\\d+)${fence}`, 'g')
      const escapedBack = new RegExp(`${escapedFence}(\\d+)${escapedFence}`, 'g')
      return {
        contents: contents.map((content) => content.replace(findAll, (name) => fence + indexOf.get(name) + fence)),
        restore: (text) =>
          text
            .replace(back, (_, index: string) => names[Number(index)])
            .replace(escapedBack, (_, index: string) => asciiJson(names[Number(index)])),
      }
    },
    split(rendered, guard) {
      const sections: Section[] = []
      let end = 0
      let stripStart = false
      const pushText = (guarded: string, stripEnd: boolean): void => {
        const restored = guard.restore(guarded)
        const started = stripStart ? trimStart(restored) : restored
        const text = stripEnd ? trimEnd(started) : started
        if (text !== '') sections.push({ special: null, text })
      }
      for (const match of rendered.matchAll(findAll)) {
        const special = specials.get(match[0]) as SpecialToken
        pushText(rendered.slice(end, match.index), special.stripLeft)
        sections.push({ special, text: '' })
        end = match.index + match[0].length
        stripStart = special.stripRight
      }
      pushText(rendered.slice(end), false)
      return sections
    },
  }
}

function asciiJson(text: string): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(/[^ -~]/g, escaped)
}
