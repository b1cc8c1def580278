/**
 * The few messages of onnx.proto that a model needs, written with protobufjs' writer.
 * Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */
import protobuf from 'protobufjs/minimal.js'
import type { Dimension, DataType, Shape, TypedArray } from './types.js'

type Writer = protobuf.Writer

/** An attribute of a node; the kind is explicit because 1 may be an integer or a float. */
export type OnnxAttribute =
  { int: number } | { float: number } | { text: string } | { ints: readonly number[] } | { tensor: OnnxTensor }

export interface OnnxTensor {
  name: string
  dtype: DataType
  shape: readonly number[]
  data: TypedArray
}

export interface OnnxNode {
  type: string
  /** '' is the standard domain. */
  domain: string
  inputs: readonly string[]
  outputs: readonly string[]
  attributes: Readonly<Record<string, OnnxAttribute>>
}

export interface OnnxValueInfo {
  name: string
  dtype: DataType
  shape: Shape
}

export interface OnnxModel {
  nodes: readonly OnnxNode[]
  initializers: readonly OnnxTensor[]
  inputs: readonly OnnxValueInfo[]
  outputs: readonly OnnxValueInfo[]
}

/** Operator set versions the engine writes for. */
export const opsetVersion = 23
const irVersion = 10

const dataTypeCodes: Record<DataType, number> = { float32: 1, uint8: 2, int32: 6, int64: 7, bool: 9 }

const tag = (field: number, wire: 0 | 2 | 5): number => ((field << 3) | wire) >>> 0

function message(writer: Writer, field: number, write: (writer: Writer) => void): void {
  writer.uint32(tag(field, 2)).fork()
  write(writer)
  writer.ldelim()
}

const text = (writer: Writer, field: number, value: string): void => void writer.uint32(tag(field, 2)).string(value)
const integer = (writer: Writer, field: number, value: number): void => void writer.uint32(tag(field, 0)).int64(value)

/** Whether a tensor's bytes stand beside the model: messages are limited to 2 GiB, and copied on their way. */
function standsBeside({ data }: OnnxTensor): boolean {
  return data.byteLength >= besideBytes
}

const besideBytes = 2 ** 16

/** The arrays that an {@link encodeModel} with `beside` refers to, by the path it names. */
export function arraysBeside(model: OnnxModel): { path: string; data: Uint8Array }[] {
  return model.initializers.filter(standsBeside).map(({ name, data }) => ({ path: name, data: bytesOf(data) }))
}

function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
}

function writeEntry(writer: Writer, key: string, value: string): void {
  message(writer, 13, (w) => {
    text(w, 1, key)
    text(w, 2, value)
  })
}

function writeTensor(writer: Writer, tensor: OnnxTensor, beside = false): void {
  for (const length of tensor.shape) integer(writer, 1, length)
  integer(writer, 2, dataTypeCodes[tensor.dtype])
  text(writer, 8, tensor.name)
  if (beside && standsBeside(tensor)) {
    writeEntry(writer, 'location', tensor.name)
    writeEntry(writer, 'offset', '0')
    writeEntry(writer, 'length', String(tensor.data.byteLength))
    integer(writer, 14, 1)
  } else writer.uint32(tag(9, 2)).bytes(bytesOf(tensor.data))
}

function writeAttribute(writer: Writer, name: string, attribute: OnnxAttribute): void {
  text(writer, 1, name)
  if ('int' in attribute) {
    integer(writer, 3, attribute.int)
    integer(writer, 20, 2)
  } else if ('float' in attribute) {
    writer.uint32(tag(2, 5)).float(attribute.float)
    integer(writer, 20, 1)
  } else if ('text' in attribute) {
    text(writer, 4, attribute.text)
    integer(writer, 20, 3)
  } else if ('ints' in attribute) {
    for (const value of attribute.ints) integer(writer, 8, value)
    integer(writer, 20, 7)
  } else {
    message(writer, 5, (w) => writeTensor(w, attribute.tensor))
    integer(writer, 20, 4)
  }
}

function writeNode(writer: Writer, node: OnnxNode, index: number): void {
  for (const name of node.inputs) text(writer, 1, name)
  for (const name of node.outputs) text(writer, 2, name)
  text(writer, 3, `${node.type}_${index}`)
  text(writer, 4, node.type)
  for (const [name, attribute] of Object.entries(node.attributes)) {
    message(writer, 5, (w) => writeAttribute(w, name, attribute))
  }
  if (node.domain !== '') text(writer, 7, node.domain)
}

function writeDimension(writer: Writer, dimension: Dimension): void {
  if (typeof dimension === 'number') integer(writer, 1, dimension)
  else text(writer, 2, dimension)
}

function writeValueInfo(writer: Writer, info: OnnxValueInfo): void {
  text(writer, 1, info.name)
  message(writer, 2, (type) =>
    message(type, 1, (tensor) => {
      integer(tensor, 1, dataTypeCodes[info.dtype])
      message(tensor, 2, (shape) => {
        for (const dimension of info.shape) message(shape, 1, (w) => writeDimension(w, dimension))
      })
    }),
  )
}

/** The bytes of a ModelProto; `beside`: without those of large initializers, see {@link arraysBeside}. */
export function encodeModel(model: OnnxModel, options: { beside?: boolean } = {}): Uint8Array {
  const writer = protobuf.Writer.create()
  integer(writer, 1, irVersion)
  text(writer, 2, 'myriad')
  message(writer, 7, (graph) => {
    model.nodes.forEach((node, index) => message(graph, 1, (w) => writeNode(w, node, index)))
    text(graph, 2, 'program')
    for (const tensor of model.initializers) message(graph, 5, (w) => writeTensor(w, tensor, options.beside))
    for (const info of model.inputs) message(graph, 11, (w) => writeValueInfo(w, info))
    for (const info of model.outputs) message(graph, 12, (w) => writeValueInfo(w, info))
  })
  for (const [domain, version] of [
    ['', opsetVersion],
    ['com.microsoft', 1],
  ] as const) {
    message(writer, 8, (w) => {
      text(w, 1, domain)
      integer(w, 2, version)
    })
  }
  return writer.finish()
}
