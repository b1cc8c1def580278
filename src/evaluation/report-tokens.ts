import type { Tokenizer } from '../text/types.js'

/**
 * The text of each token of a sequence: together they are the text of the whole. Where a character is made of several
 * tokens, the last of them has it and the others are empty. (Decoded one by one they would all be U+FFFD.)
 *
 * @example tokenTexts(tokenizer, tokenizer.encode('整列 い')).join('') // '整列 い'
 */
export function tokenTexts(tokenizer: Pick<Tokenizer, 'decode'>, tokens: readonly number[]): string[] {
  let told = 0
  return tokens.map((_, i) => {
    const text = tokenizer.decode(tokens.slice(0, i + 1))
    // A character that is not whole yet shows as U+FFFD at the end; the next token may make it whole.
    const whole = i === tokens.length - 1 ? text.length : text.replace(/\uFFFD+$/, '').length
    const piece = text.slice(told, whole)
    told = Math.max(told, whole)
    return piece
  })
}
