import { type ResultRow, resultOf } from '../../../rows/result-rows.ts';
import type { KeepAnswer, KeptResult, NewResult, ResultQuery } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

export async function resultKeysOf(
  session: Session,
  tasks: readonly number[],
): Promise<readonly (string | undefined)[]> {
  const rows = await session.all<{ task: number; data: string }>('resultKeys', [numbers(tasks)]);
  const keys = new Map(rows.map(({ task, data }) => [task, data]));
  return tasks.map((task) => keys.get(task));
}

export async function findResults(
  session: Session,
  items: readonly ResultQuery[],
): Promise<readonly (KeptResult | undefined)[]> {
  const rows = await session.all<ResultRow & { readonly o: number }>('resultFind', [
    texts(items.map(({ key }) => key)),
    numbers(items.map(({ maxAgeMs }) => maxAgeMs)),
  ]);
  const found = new Map(rows.map((row) => [row.o, row]));
  return items.map((_, i) => {
    const row = found.get(i + 1);
    return row && resultOf(row);
  });
}

/** May be repeated: a result of an earlier try is recognized by its task and attempt. */
export async function keepResults(session: Session, items: readonly NewResult[]): Promise<readonly KeepAnswer[]> {
  const keys = texts(items.map(({ key }) => key));
  const rows = await session.all<{ o: number; stored: number }>('resultKeep', [
    numbers(items.map(({ task }) => task)),
    numbers(items.map(({ attempt }) => attempt)),
    keys,
    texts(items.map(({ value }) => value)),
    numbers(items.map(({ maxAgeMs }) => maxAgeMs)),
  ]);
  if (rows[0]?.stored === items.length) return items.map(() => 'stored');
  const held = new Set(rows.map(({ o }) => o));
  const owners = await session.all<{ key: string; task: number; attempt: number }>('resultOwners', [keys]);
  const byKey = new Map(owners.map((owner) => [owner.key, owner]));
  return items.map(({ key, task, attempt }, i) => {
    if (!held.has(i + 1)) return 'lost';
    const owner = byKey.get(key);
    return owner?.task === task && owner.attempt === attempt ? 'stored' : 'kept';
  });
}
