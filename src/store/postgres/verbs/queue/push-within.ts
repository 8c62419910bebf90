import type { NewTask, PushAnswer } from '../../../store.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import { pick } from '../../places.ts';
import type { PushDedup } from '../../push-dedup.ts';
import { admit } from './admit.ts';
import { pushedBefore, pushKeyed, waves } from './push.ts';

export interface PushWithin {
  readonly items: readonly NewTask[];
  /** Whether a limit of it may refuse it, or end others for it. */
  readonly asks: (item: NewTask) => boolean;
  readonly tried: Try;
}

/** Pushes tasks as a part of a transaction that does more, such as a schedule that moves on. */
export async function pushWithin(
  session: Session,
  parts: PostgresParts & { readonly dedup: PushDedup },
  { items, asks, tried }: PushWithin,
): Promise<readonly PushAnswer[]> {
  const { dedup, lanes } = parts;
  await lanes.need(
    session,
    items.map(({ lane }) => lane),
  );
  const answers: PushAnswer[] = [];
  const plain = items.flatMap((item, i) => (asks(item) ? [] : [i]));
  for (const wave of waves(pick(items, plain), ({ lane }) => lanes.known(lane)?.queueId ?? 0)) {
    const places = wave.map((at) => plain[at] as number);
    const given = await pushKeyed(session, parts, dedup.next(), pick(items, places));
    for (const [at, i] of places.entries()) answers[i] = given[at] as PushAnswer;
  }
  // One after another: each counts for the next.
  for (const [i, item] of items.entries()) if (asks(item)) answers[i] = await pushAsked(session, parts, item, tried);
  return answers;
}

/** The task that has its key or operation id already is found before its limits are asked. */
async function pushAsked(
  session: Session,
  parts: PostgresParts & { readonly dedup: PushDedup },
  item: NewTask,
  tried: Try,
): Promise<PushAnswer> {
  const flushId = parts.dedup.next();
  const before = await pushedBefore(session, parts, flushId, item, { again: false }, []);
  if (before !== undefined) return before;
  const refused = await admit(session, parts.lanes.known(item.lane)?.rules?.uses ?? [], tried);
  if (refused !== undefined) return { ok: false, ...refused };
  const [answer] = await pushKeyed(session, parts, flushId, [item]);
  return answer as PushAnswer;
}
