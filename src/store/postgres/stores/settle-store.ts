import type { ReturnItem, SettleAnswer, SettleItem, SettleStore } from '../../store.ts';
import type { Session } from '../connect/database.ts';
import { returnTasks, settleTasks } from '../verbs/queue/settle.ts';
import type { StoreParts } from './store-parts.ts';

export function settleStore(parts: StoreParts): SettleStore {
  return {
    taskSettle: ({ items }) => settle(parts, items),
    taskReturn: ({ items }) => giveBack(parts, items),
  };
}

async function settle(
  { calls, hints, lanes, logs }: StoreParts,
  items: readonly SettleItem[],
): Promise<readonly SettleAnswer[]> {
  await logs.behind(items);
  const answers = await calls.whole(
    items,
    await calls.run((session) => settleTasks(session, lanes, items)),
    (session, some, woken) => settleTasks(session, lanes, some, woken),
  );
  hints.ended(items.map(({ hint }) => hint?.lane));
  return answers;
}

export async function giveBack(
  { calls, hints, lanes: known, logs }: StoreParts,
  items: readonly ReturnItem[],
): Promise<readonly SettleAnswer[]> {
  await logs.behind(items);
  const body = (session: Session): ReturnType<typeof returnTasks> => returnTasks(session, known, items);
  // A pause of a limit commits with the return that asked for it. Its counters are locked by then, because the tasks
  // took from them.
  const pauses = items.some(({ pause }) => pause !== undefined);
  const { answers, lanes, left } = await (pauses ? calls.transaction(body) : calls.run(body));
  hints.ready(lanes, left);
  return calls.whole(items, answers, async (session, some, woken) => {
    return (await returnTasks(session, known, some, woken)).answers;
  });
}
