import type { TreeStore } from '../../store.ts';
import { countTree, listMembers } from '../verbs/trees/tree.ts';
import type { StoreParts } from './store-parts.ts';

export function treeStore({ calls }: StoreParts): TreeStore {
  return {
    treeList: ({ root, after, limit }) => calls.run((session) => listMembers(session, root, after, limit)),
    treeCount: ({ root }) => calls.run((session) => countTree(session, root)),
  };
}
