import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isEngineError } from '../../core/errors.ts';
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
export const MAX_RESULT_BYTES = 64 * 2 ** 20;
/** Its name among the artifacts of the task. */
const NAME = 'result.json';

/**
 * How a run ends whose result was refused with this: well, if the result was too large and is an artifact now. What cannot be stored for other reasons
 * would be refused again, but a place that is out of reach may come back.
 */
export async function largeOutcome(
  result: unknown,
  refusal: unknown,
  artifacts: ArtifactReader | undefined,
): Promise<LargeOutcome> {
  if (artifacts === undefined || !isEngineError(refusal, 'TOO_LARGE')) return { kind: 'giveUp', error: refusal };
  try {
    return { kind: 'done', result: await storeLargeResult(result, artifacts) };
  } catch (error) {
    if (isEngineError(error, 'UNSUPPORTED') || isEngineError(error, 'NODE_TOO_OLD'))
      return { kind: 'giveUp', error: refusal };
    return { kind: isEngineError(error) && error.retryable ? 'failed' : 'giveUp', error };
  }
}

type LargeOutcome =
  | { readonly kind: 'done'; readonly result: ResultReference }
  | { readonly kind: 'giveUp' | 'failed'; readonly error: unknown };

/** Stores a result that is too large for its row as an artifact, and answers what stands for it. */
function storeLargeResult(result: unknown, artifacts: ArtifactReader): Promise<ResultReference> {
  const text = encodePayload(result, { field: 'result', maxBytes: MAX_RESULT_BYTES });
  return storeText(text, NAME, artifacts);
}

/** Stores the text of a value as an artifact of this name, and answers what stands for it. */
export async function storeText(text: string, name: string, artifacts: ArtifactReader): Promise<ResultReference> {
  const { folder } = await artifacts.room();
  const file = await spooled(join(folder, randomUUID()), text, MAX_RESULT_BYTES);
  try {
    const { path, size, sha256 } = file;
    const { id } = await artifacts.put({ name, path, size, sha256, type: 'application/json', kind: 'result' });
    return { $artifact: id, size, sha256 };
  } finally {
    await file.remove();
  }
}
