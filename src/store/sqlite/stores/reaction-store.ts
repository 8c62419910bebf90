import type { ReactionStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  enableReaction,
  findReaction,
  fireReaction,
  listReactions,
  noteReaction,
  putReaction,
  reactionKeys,
  reactionLines,
  reactionLinks,
  removeReaction,
  workerLosses,
} from '../verbs/admin/reaction.ts';
import type { StoreParts } from './store-parts.ts';

export function reactionStore({ calls, writer }: StoreParts): ReactionStore {
  return {
    reactionPut: (put) => writer.write('rest', (tx) => putReaction(tx, put)),
    reactionFind: ({ name }) => writer.read(({ sql }) => findReaction(sql, name)),
    // Its duty asks each second, and mostly nothing has been committed since.
    reactionList: ({ kind } = {}) => calls.again('reactions', kind ?? '', ({ sql }) => listReactions(sql, kind)),
    reactionRemove: ({ name }) => writer.write('rest', (tx) => removeReaction(tx, name)),
    reactionEnable: (params) => writer.write('rest', (tx) => enableReaction(tx, params)),
    // A limit may end other tasks for the new one, and wake what waits for them.
    reactionFire: (firing) =>
      calls.waking('push', (tx) => {
        if (firing.duty !== undefined) requireDuty(tx, firing.duty);
        return fireReaction(tx, firing);
      }),
    reactionNote: (params) => writer.write('rest', (tx) => noteReaction(tx, params)),
    reactionLines: ({ name, before = Number.MAX_SAFE_INTEGER, limit }) =>
      writer.read(({ sql }) => reactionLines(sql, name, before, limit)),
    reactionKeys: (params) => writer.read(({ sql }) => reactionKeys(sql, params)),
    reactionLinks: ({ tasks }) => writer.read(({ sql }) => reactionLinks(sql, tasks)),
    workerLosses: ({ after, limit }) => writer.read(({ sql }) => workerLosses(sql, after, limit)),
  };
}
