/**
 * Programs a model wrote, run and judged: in WebAssembly whose imports are on a list, in a process of their own that has no
 * files, network or environment. `languages` is the registry; adapter.ts tells how to add to it.
 */
export * from './types.js'
export type * from './adapter.js'
export { sandboxCapabilities, type SandboxCapabilities } from './capabilities.js'
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.js'
export { languageOf, languages } from './languages.js'
export { closeSandboxes, compileProgram, runProgram, sharedSandbox, type ProgramToRun } from './run.js'
export { fencedBlocks, languageIn, programIn, type FencedBlock } from './extract.js'
export { COMPARISONS, sameOutput, sameValue, type OutputComparison, type ValueComparison } from './compare.js'
export * from './check.js'
export * from './code-rewards.js'
export {
  cellOf,
  ordersRows,
  plainRows,
  sameRows,
  statementsOf,
  type SqlCell,
  type SqlComparison,
  type SqlRows,
} from './sql-result.js'
export * from './sql-rewards.js'
