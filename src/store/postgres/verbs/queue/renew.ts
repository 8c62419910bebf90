import type { RenewAnswer, RenewItem } from '../../../store.ts';
import { inOrder, numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

/** Expiry is not checked: a lease lives until the reaper has taken it. */
export async function renewLeases(session: Session, items: readonly RenewItem[]): Promise<readonly RenewAnswer[]> {
  const ordered = inOrder(items);
  const rows = (await session.rows('renew', [
    numbers(ordered.map(({ task }) => task)),
    numbers(ordered.map(({ attempt }) => attempt)),
    numbers(ordered.map(({ ttlMs }) => ttlMs)),
  ])) as readonly (readonly [number, number, boolean])[];
  const held = new Map(rows.map(([id, leaseUntil, cancelRequested]) => [id, { leaseUntil, cancelRequested }]));
  if (held.size === items.length) return items.map(({ task }) => ({ held: true, ...(held.get(task) as RenewedLease) }));
  return uneven(session, items, held);
}

interface RenewedLease {
  readonly leaseUntil: number;
  readonly cancelRequested: boolean;
}

/** Some leases were lost, or one task was named with two attempts: each such item is renewed by itself. */
async function uneven(
  session: Session,
  items: readonly RenewItem[],
  held: ReadonlyMap<number, RenewedLease>,
): Promise<readonly RenewAnswer[]> {
  const named = Map.groupBy(items, ({ task }) => task);
  const answers: RenewAnswer[] = [];
  for (const item of items) {
    const answer = held.get(item.task);
    const doubtful = answer !== undefined && (named.get(item.task)?.length ?? 0) > 1;
    if (doubtful) {
      const one = numbers([item.task]);
      const [row] = await session.rows('renew', [one, numbers([item.attempt]), numbers([item.ttlMs])]);
      answers.push(
        row === undefined
          ? { held: false }
          : { held: true, leaseUntil: row[1] as number, cancelRequested: row[2] as boolean },
      );
    } else answers.push(answer === undefined ? { held: false } : { held: true, ...answer });
  }
  return answers;
}
