// Loaded into Myriad's side, worker threads included, by --import: every session writes ONNX Runtime's profile when it ends.
import { mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const { InferenceSession } = createRequire(new URL('../dist/engine/session.js', import.meta.url))('onnxruntime-node')
const folder = process.env.MYRIAD_PROFILE
const create = InferenceSession.create.bind(InferenceSession)
InferenceSession.create = async (model, options) => {
  const profileFilePrefix = join(mkdtempSync(join(folder, 'session-')), 'profile')
  const session = await create(model, { ...options, enableProfiling: true, profileFilePrefix })
  const release = session.release.bind(session)
  session.release = async () => {
    session.endProfiling()
    await release()
  }
  return session
}
