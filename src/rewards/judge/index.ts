/**
 * Language models as judges: a mark, a likelihood, a rubric, pairs in both orders, lists, principles. What is judged is hostile and is
 * fenced by a boundary that it cannot know; what the judge answers is checked, and a judge that fails costs the sample, never
 * its reward. Between a judge and its endpoint stand a cache, a rate limit, retries and a budget.
 */
export * from './cache.js'
export * from './client.js'
export * from './endpoint-model.js'
export * from './groups.js'
export * from './judge-rewards.js'
export * from './listwise.js'
export * from './pairwise.js'
export * from './pointwise.js'
export * from './policy-model.js'
export * from './prompts.js'
export * from './quote.js'
export * from './rate-limit.js'
export * from './rubric.js'
export * from './types.js'
export * from './verdict.js'
