import type { ClaimStore } from '../../store.ts';
import { claimTasks } from '../verbs/queue/claim.ts';
import type { StoreParts } from './store-parts.ts';

export function claimStore({ writer }: StoreParts): ClaimStore {
  return {
    taskClaim: ({ claims }) => writer.write('claim', (tx) => claims.map((claim) => claimTasks(tx, claim))),
  };
}
