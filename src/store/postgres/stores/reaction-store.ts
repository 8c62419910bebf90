import type { ReactionAnswer, ReactionFiring, ReactionStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import {
  deliverAll,
  enableReaction,
  findReaction,
  holdReaction,
  listReactions,
  noteReaction,
  putReaction,
  reactionKeys,
  reactionLines,
  reactionLinks,
  removeReaction,
  workerLosses,
} from '../verbs/admin/reaction.ts';
import { pushWithin } from '../verbs/queue/push-within.ts';
import { needsAdmission } from './push-store.ts';
import type { StoreParts } from './store-parts.ts';

export function reactionStore(parts: StoreParts): ReactionStore {
  const { calls } = parts;
  return {
    reactionPut: (put) => calls.run((session) => putReaction(session, put)),
    reactionFind: ({ name }) => calls.run((session) => findReaction(session, name)),
    reactionList: ({ kind } = {}) => calls.run((session) => listReactions(session, kind)),
    reactionRemove: ({ name }) => calls.transaction((session) => removeReaction(session, name)),
    reactionEnable: (params) => calls.run((session) => enableReaction(session, params)),
    reactionFire: (firing) => fire(parts, firing),
    reactionNote: (params) => calls.run((session) => noteReaction(session, params)),
    reactionLines: ({ name, before = Number.MAX_SAFE_INTEGER, limit }) =>
      calls.run((session) => reactionLines(session, name, before, limit)),
    reactionKeys: (params) => calls.run((session) => reactionKeys(session, params)),
    reactionLinks: ({ tasks }) => calls.run((session) => reactionLinks(session, tasks)),
    workerLosses: ({ after, limit }) => calls.run((session) => workerLosses(session, after, limit)),
  };
}

/** The row of the reaction is locked first: of two that deliver the same key, one finds it known. A repeat after a lost answer does too. */
async function fire(parts: StoreParts, firing: ReactionFiring): Promise<ReactionAnswer> {
  const { calls, hints } = parts;
  const { name, revision, byHand = false, cursor, duty } = firing;
  const items = firing.deliveries.flatMap(({ item }) => item ?? []);
  const asks = items.length === 0 ? () => false : await needsAdmission(parts, items);
  const answer = await calls.transaction(async (session, tried): Promise<ReactionAnswer> => {
    if (duty !== undefined) await requireDuty(session, duty);
    const stand = await holdReaction(session, name);
    if (stand === undefined) return { kind: 'gone' };
    if (stand.revision !== revision || (stand.enabled === 0 && !byHand)) return { kind: 'changed' };
    if (cursor !== undefined && stand.cursor !== cursor.from) return { kind: 'changed' };
    const delivered = await deliverAll(session, firing, stand.now, (some) =>
      pushWithin(session, parts, { items: some, asks, tried }),
    );
    return { kind: 'done', delivered };
  });
  if (answer.kind !== 'done') return answer;
  const made = answer.delivered.flatMap(({ pushed }, i) => {
    const item = firing.deliveries[i]?.item;
    return item === undefined || pushed === undefined ? [] : [{ item, pushed }];
  });
  hints.pushed(
    made.map(({ item }) => item),
    made.map(({ pushed }) => pushed),
  );
  return answer;
}
