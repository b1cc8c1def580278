import { InvalidArgumentError } from 'commander'

/** Parses the value of an option that takes a whole number of at least 0. */
export function integerOption(text: string): number {
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
    throw new InvalidArgumentError('It must be a whole number of at least 0.')
  }
  return Number(text)
}

/** What `--chat-template` does. */
export const chatTemplateHelp = `Jinja file of a chat template, in place of the model's; "default" is Myriad's own`

/** Collects a repeatable option. */
export function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value]
}
