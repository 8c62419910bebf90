import type { ArtifactStore } from '../../store.ts';
import { sweepArtifacts, sweptArtifacts } from '../verbs/admin/artifact-sweep.ts';
import { once } from '../verbs/queue/once.ts';
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

export function artifactStore({ calls, dedup }: StoreParts): ArtifactStore {
  return {
    artifactBegin: (item) => calls.transaction((session) => beginArtifact(session, item)),
    artifactEnd: (item) => calls.transaction((session) => endArtifact(session, item)),
    artifactGet: ({ ids }) => calls.run((session) => getArtifacts(session, ids)),
    artifactPending: ({ id }) => calls.run((session) => pendingArtifact(session, id)),
    artifactList: (query) => calls.run((session) => listArtifacts(session, query)),
    artifactRemove({ ids }) {
      const flushId = dedup.next();
      return calls.transaction((session) =>
        once(session, 'artifactRemove', flushId, () => removeArtifacts(session, ids)),
      );
    },
    artifactSweep: (query) => calls.transaction((session) => sweepArtifacts(session, query)),
    artifactSwept: ({ duty, ids }) => calls.transaction((session) => sweptArtifacts(session, duty, ids)),
    artifactUsage: () => calls.run((session) => allRoom(session)),
  };
}
