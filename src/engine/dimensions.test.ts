import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  addDimensions,
  broadcastShapes,
  canonical,
  divideDimension,
  multiplyDimensions,
  productOf,
} from './dimensions.js'

describe('dimensions', () => {
  it('have one text for equal polynomials', () => {
    assert.equal(canonical('time*batch'), 'batch*time')
    assert.equal(canonical('time+cache'), 'cache+time')
    assert.equal(canonical('time*4'), '4*time')
    assert.equal(canonical('time+2-time'), 2)
    assert.equal(canonical('3'), 3)
    assert.throws(() => canonical('time/2'), /'time\/2' is neither a number nor a name/)
  })

  it('add, multiply and divide', () => {
    assert.equal(addDimensions('time', 'cache', -1), 'cache+time-1')
    assert.equal(addDimensions('time', 'time'), '2*time')
    assert.equal(multiplyDimensions('cache+time', 'batch'), 'batch*cache+batch*time')
    assert.equal(multiplyDimensions(2, 3), 6)
    assert.equal(productOf(['batch', 4, 'time', 2]), '8*batch*time')
    assert.equal(divideDimension('4*batch*time', '2*time'), '2*batch')
    assert.equal(divideDimension('batch*cache+batch*time', 'batch'), 'cache+time')
    assert.equal(divideDimension('batch', 2), undefined)
    assert.equal(divideDimension('cache+time', 'cache+time'), 1)
  })

  it('broadcast by name', () => {
    assert.deepEqual(broadcastShapes(['batch', 1, 3], ['time', 1]), ['batch', 'time', 3])
    assert.equal(broadcastShapes(['batch'], ['time']), undefined)
    assert.equal(broadcastShapes([2], [3]), undefined)
  })
})
