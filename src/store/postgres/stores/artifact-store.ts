import { fault } from '../../../core/errors.ts';
import type { ArtifactStore } from '../../store.ts';

const no = async (): Promise<never> => {
  throw fault('UNSUPPORTED', { part: 'artifacts' });
};

/** Comes with the next commits of this branch. */
export function artifactStore(): ArtifactStore {
  return {
    artifactBegin: no,
    artifactEnd: no,
    artifactGet: no,
    artifactPending: no,
    artifactList: no,
    artifactRemove: no,
    artifactSweep: no,
    artifactSwept: no,
    artifactUsage: no,
  };
}
