import type { TreeStore } from '../../store.ts';
import { countTree, listMembers } from '../verbs/trees/tree.ts';
import type { StoreParts } from './store-parts.ts';

export function treeStore({ writer }: StoreParts): TreeStore {
  return {
    treeList: ({ root, after, limit }) => writer.read(({ sql }) => listMembers(sql, root, after, limit)),
    treeCount: ({ root }) => writer.read(({ sql }) => countTree(sql, root)),
  };
}
