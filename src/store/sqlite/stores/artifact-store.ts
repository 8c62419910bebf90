import type { ArtifactStore } from '../../store.ts';
import { sweepArtifacts, sweptArtifacts } from '../verbs/admin/artifact-sweep.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  allRoom,
  beginArtifact,
  endArtifact,
  getArtifacts,
  listArtifacts,
  pendingArtifact,
  removeArtifacts,
} from '../verbs/trees/artifact.ts';
import type { StoreParts } from './store-parts.ts';

export function artifactStore({ writer }: StoreParts): ArtifactStore {
  return {
    /** In the rank of settles, which they come before. */
    artifactBegin: (item) => writer.write('settle', (tx) => beginArtifact(tx, item)),
    artifactEnd: (item) => writer.write('settle', (tx) => endArtifact(tx, item)),
    artifactGet: ({ ids }) => writer.read(({ sql }) => getArtifacts(sql, ids)),
    artifactPending: ({ id }) => writer.read(({ sql }) => pendingArtifact(sql, id)),
    artifactList: (query) => writer.read(({ sql }) => listArtifacts(sql, query)),
    artifactRemove: ({ ids }) => writer.write('rest', (tx) => removeArtifacts(tx, ids)),
    artifactSweep: (query) => writer.write('rest', (tx) => sweepArtifacts(tx, query, requireDuty(tx, query.duty))),
    artifactSwept: ({ duty, ids }) =>
      writer.write('rest', (tx) => {
        requireDuty(tx, duty);
        sweptArtifacts(tx, ids);
      }),
    artifactUsage: () => writer.read(({ sql }) => allRoom(sql)),
  };
}
