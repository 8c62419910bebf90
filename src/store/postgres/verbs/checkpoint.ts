import type { Checkpoint, CheckpointAnswer, FoundCheckpoint, NewCheckpoint } from '../../store.ts';
import { endOf, inOrderOfKey, inOrderOfTime } from '../../wait-rows.ts';
import { numbers, texts } from '../arrays.ts';
import type { Session } from '../database.ts';

interface Held {
  readonly id: number;
  readonly n: number;
  readonly stored: number;
}

interface First {
  readonly task: number;
  readonly key: string;
  readonly attempt: number;
  readonly value: string;
}

const keyOf = (task: number, key: string): string => `${task}/${key}`;

export async function putCheckpoints(
  session: Session,
  items: readonly NewCheckpoint[],
): Promise<readonly CheckpointAnswer[]> {
  const [tasks, keys] = [numbers(items.map(({ task }) => task)), texts(items.map(({ key }) => key))];
  const attempts = numbers(items.map(({ attempt }) => attempt));
  const rows = await session.all<Held>('checkpointAdd', [
    tasks,
    attempts,
    keys,
    texts(items.map(({ value }) => value)),
  ]);
  if (rows[0]?.stored === items.length) return items.map(() => ({ kind: 'stored' }));
  const held = new Set(rows.map(({ id, n }) => `${id}/${n}`));
  // In a new statement, which sees what the one before has written and what others had.
  const firsts = await session.all<First>('checkpointFind', [tasks, keys]);
  const byKey = new Map(firsts.map((first) => [keyOf(first.task, first.key), first]));
  return items.map(({ task, attempt, key, value }) => {
    const first = byKey.get(keyOf(task, key));
    if (first === undefined || !held.has(`${task}/${attempt}`)) return { kind: 'lost' };
    // The value of this call, or of an earlier sending of it.
    if (first.attempt === attempt && first.value === value) return { kind: 'stored' };
    return { kind: 'kept', value: first.value };
  });
}

export async function scanCheckpoints(
  session: Session,
  tasks: readonly number[],
  prefix: string,
): Promise<readonly FoundCheckpoint[]> {
  const values = [numbers([...new Set(tasks)]), prefix, endOf(prefix)];
  return inOrderOfKey(await session.all<FoundCheckpoint>('checkpointScan', values));
}

export async function listCheckpoints(session: Session, task: number): Promise<readonly Checkpoint[]> {
  return inOrderOfTime(await session.all<Checkpoint>('checkpointList', [task]));
}
