import type { TrainConfigInput } from '../training/index.js'

/** A configuration that may leave the model to the caller. */
export type Recipe = Omit<TrainConfigInput, 'model'> & Partial<Pick<TrainConfigInput, 'model'>>
