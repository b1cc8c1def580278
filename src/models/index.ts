/** Architectures and checkpoints: the decoder as a graph, its weights by Hugging Face name, safetensors files. */
export * from './checkpoint.js'
export * from './config.js'
export * from './decoder.js'
export * from './gguf.js'
export * from './parameters.js'
export * from './safetensors.js'
