import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { ArtifactTransfers } from '../../protocol/artifact-link.ts';
import type { WorkerRequest } from '../../protocol/frames.ts';

export type ArtifactRequest = Extract<WorkerRequest, { type: `artifact_${string}` }>;

/** What a worker asks of artifacts. Their bytes do not come this way. */
export async function answerArtifact(
  transfers: ArtifactTransfers | undefined,
  lease: Lease,
  request: ArtifactRequest,
): Promise<unknown> {
  if (transfers === undefined)
    throw fault(
      'UNSUPPORTED',
      {},
      { hint: 'This node keeps no artifacts: give it a place for them, and start it again.' },
    );
  switch (request.type) {
    case 'artifact_begin': {
      const { name, media: type, size, sha256, again, kind } = request;
      return transfers.begin(lease, { name, type, size, sha256, ...(kind === undefined ? {} : { kind }) }, again);
    }
    case 'artifact_end':
      return transfers.end(lease, request.artifact);
    case 'artifact_find': {
      const { artifact: id, name, task, run } = request;
      return transfers.find(lease, {
        ...(id === undefined ? {} : { id }),
        ...(name === undefined ? {} : { name }),
        ...(task === undefined ? {} : { task }),
        ...(run === undefined ? {} : { run }),
      });
    }
    case 'artifact_list':
      return transfers.list(lease, request.task);
    case 'artifact_fetch':
      return transfers.fetch(lease, request.artifact);
  }
}
