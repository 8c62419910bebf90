import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { encodePayload } from '../../core/task/payload.ts';
import type { ArtifactReader } from './attempt-artifacts.ts';
import { spooled } from './spooled.ts';

/** What stands in the row of a task whose result was too large for it. */
export interface ResultReference {
  readonly $artifact: string;
  readonly size: number;
  readonly sha256: string;
}

/** A larger result is refused as every large result was before: it would have to fit into the memory of whoever reads it. */
const MAX_RESULT_BYTES = 64 * 2 ** 20;
/** Its name among the artifacts of the task. */
const NAME = 'result.json';

/** Stores a result that is too large for its row as an artifact, and answers what stands for it. */
export async function storeLargeResult(result: unknown, artifacts: ArtifactReader): Promise<ResultReference> {
  const text = encodePayload(result, { field: 'result', maxBytes: MAX_RESULT_BYTES });
  const { folder } = await artifacts.room();
  const file = await spooled(join(folder, randomUUID()), text, MAX_RESULT_BYTES);
  try {
    const { path, size, sha256 } = file;
    const { id } = await artifacts.put({ name: NAME, path, size, sha256, type: 'application/json', kind: 'result' });
    return { $artifact: id, size, sha256 };
  } finally {
    await file.remove();
  }
}
