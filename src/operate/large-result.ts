import { isArtifactId } from '../core/artifact/blob-key.ts';
import type { Operator } from './operator.ts';

/** A result that was too large for its row, and lies in an artifact of its task. */
interface Reference {
  readonly $artifact: string;
  readonly size: number;
  readonly sha256: string;
}

/** Whether this may stand for a result. Most results do not, and cost nothing more. */
export function isReference(result: unknown): result is Reference {
  if (typeof result !== 'object' || result === null || !('$artifact' in result)) return false;
  return isArtifactId(result.$artifact) && Object.keys(result).sort().join() === '$artifact,sha256,size';
}

/** The result itself. What a handler has returned that only looks like one stays as it is. */
export async function wholeResult(
  operator: Pick<Operator, 'call' | 'bytes'>,
  reference: Reference,
  signal?: AbortSignal,
): Promise<unknown> {
  const artifact = await operator.call('getArtifact', { params: { id: reference.$artifact } });
  if (artifact.kind !== 'result' || artifact.sha256 !== reference.sha256) return reference;
  const chunks: Uint8Array[] = [];
  for await (const chunk of operator.bytes(artifact, { signal })) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
}
