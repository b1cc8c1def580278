import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkGradient } from './testing/check-gradient.js'
import { gradientCases } from './testing/gradient-cases.js'
import { operations } from './ops/index.js'

/** Operations that make constants, and inputs: nothing flows back through them. */
const sources = ['constant', 'fill', 'length', 'range']
/** Operations whose answer does not change smoothly. `sign` and `argmax` are constant almost everywhere. */
const notDifferentiable = [
  'argmax',
  'sign',
  'equal',
  'less',
  'lessEqual',
  'greater',
  'greaterEqual',
  'logicalAnd',
  'logicalOr',
  'logicalNot',
  'matmulInt8',
  'matmulNBits',
]

const trials = 3
const limit = 2e-2

describe('derivatives agree with central finite differences', () => {
  const errors: number[] = []
  for (const [name, listed] of Object.entries(gradientCases)) {
    it(name, async () => {
      for (const [index, definition] of [listed].flat().entries()) {
        for (let trial = 0; trial < trials; trial++) {
          const report = await checkGradient(`${name} ${index} ${trial}`, definition)
          assert.ok(report.operations.has(name.split(',')[0]), `the case does not use ${name}`)
          for (const [input, error] of Object.entries(report.errors)) {
            assert.ok(error < limit, `case ${index}, trial ${trial}: relative error ${error.toFixed(5)} at ${input}`)
            errors.push(error)
          }
        }
      }
    })
  }

  it('typically to 1e-3', () => {
    errors.sort((a, b) => a - b)
    assert.ok(errors.length > 0)
    assert.ok(
      errors[Math.floor(errors.length * 0.9)] < 1e-3,
      `nine in ten are below ${errors[Math.floor(errors.length * 0.9)]}`,
    )
  })

  it('for every operation of the table', () => {
    const covered = new Set([
      ...Object.keys(gradientCases).map((name) => name.split(',')[0]),
      ...sources,
      ...notDifferentiable,
    ])
    const missing = [...operations().keys()].filter((name) => !covered.has(name))
    assert.deepEqual(missing, [], 'operations without a case in testing/gradient-cases.ts')
  })
})
