/**
 * The chat format of the project's own small models: each message is its role's token, the content and `<|end|>`; the
 * assistant speaks after `<|assistant|>`. `<|text|>` starts a document in pretraining and is never part of a chat.
 */
export const defaultSpecialTokens = [
  '<|pad|>',
  '<|end|>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|tool|>',
  '<|text|>',
] as const

/** Jinja source of that format. */
export const defaultChatTemplate =
  "{% for message in messages %}{{ '<|' + message.role + '|>' + message.content + '<|end|>' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"

/** tokenizer_config.json of that format. */
export const defaultTokenizerConfig = {
  tokenizer_class: 'PreTrainedTokenizerFast',
  eos_token: '<|end|>',
  pad_token: '<|pad|>',
  clean_up_tokenization_spaces: false,
  model_max_length: 1_000_000,
} as const
