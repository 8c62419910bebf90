import { fault } from '../../core/errors.ts';
import type { NewTask, PostgresTransaction, PushAnswer, PushInParams } from '../store.ts';
import { parseNumbers } from './connect/connection.ts';
import type { Session } from './connect/database.ts';
import { translate } from './connect/errors.ts';
import { Lanes } from './lanes.ts';
import type { PostgresParts } from './parts.ts';
import type { FlushId } from './push-dedup.ts';
import { internLanes, internSpecs } from './verbs/queue/intern.ts';
import { isReady, pushKeyed, pushTasks, waves } from './verbs/queue/push.ts';

/**
 * Pushes through the caller's own client, inside its transaction. The statements name their schema, so that neither the
 * search path nor other settings of the client matter. New lanes and specs are made there too and are not cached here,
 * because the caller may roll back. A savepoint undoes a push that fails, so that the caller can go on.
 */
export async function pushInCallerTransaction(
  { tx, items }: PushInParams,
  parts: PostgresParts,
  nextFlushId: () => FlushId,
): Promise<readonly PushAnswer[]> {
  if (!('query' in tx) || typeof tx.query !== 'function') {
    throw fault('INVALID_INPUT', { field: 'tx', problem: 'a client of Postgres has a method "query"' });
  }
  const session = sessionOf(tx, parts);
  // Outside of a transaction Postgres refuses the savepoint, and nothing was done.
  await session.raw('SAVEPOINT leasehold').catch((error: unknown) => {
    const problem = 'the client is not inside a transaction';
    const { code } = error as { readonly code?: unknown };
    if (code === '25P01') throw fault('INVALID_INPUT', { field: 'tx', problem });
    if (code === '25P02')
      throw fault('CONFLICT', { problem: 'the transaction has failed before, and can only be rolled back' });
    throw translate(error, "the caller's connection");
  });
  try {
    const limited = await limitWaits(session);
    const answers = await push(session, { ...parts, lanes: new Lanes() }, items, nextFlushId);
    if (limited) await session.raw('SET LOCAL lock_timeout = 0');
    await session.raw('RELEASE SAVEPOINT leasehold');
    return answers;
  } catch (error) {
    // This undoes the lock timeout and whatever was pushed.
    await session.raw('ROLLBACK TO SAVEPOINT leasehold').catch(() => {});
    throw translated(error);
  }
}

/** Another open transaction may hold the key, or be making the same queue. The push waits for it no longer than this. */
const LOCK_MS = 5000;

/** Sets a lock timeout unless the caller has set one. True: it must be reset afterwards. */
async function limitWaits(session: Session): Promise<boolean> {
  const [row] = await session.raw<{ was: string }>(
    `WITH x AS MATERIALIZED (SELECT current_setting('lock_timeout') AS was)
      SELECT was, CASE WHEN was = '0' THEN set_config('lock_timeout', '${LOCK_MS}ms', true) END FROM x`,
  );
  return row?.was === '0';
}

function translated(error: unknown): unknown {
  const { code } = error as { readonly code?: unknown };
  if (code === '55P03') {
    const problem = 'another transaction that is still open holds the key, or makes the same queue';
    return fault('STORE_BUSY', { problem }, { cause: error });
  }
  return translate(error, "the caller's connection");
}

async function push(
  session: Session,
  parts: PostgresParts,
  items: PushInParams['items'],
  nextFlushId: () => FlushId,
): Promise<readonly PushAnswer[]> {
  const lanes = await internLanes(session, parts.lanes, items);
  const specs = await internSpecs(
    session,
    items.map(({ specBody }) => specBody),
  );
  const tasks = items.map((item, i): NewTask => {
    return { ...item, lane: lanes[i]?.id as number, spec: specs[i] as number };
  });
  const answers: PushAnswer[] = [];
  const plain = tasks.flatMap(({ op, unique }, i) => (op === undefined && unique === undefined ? [i] : []));
  const keyed = tasks.flatMap((_, i) => (plain.includes(i) ? [] : [i]));
  const put = (places: readonly number[], given: readonly PushAnswer[]): void => {
    for (const [at, i] of places.entries()) answers[i] = given[at] as PushAnswer;
  };
  const some = (places: readonly number[]): readonly NewTask[] => places.map((i) => tasks[i] as NewTask);
  if (plain.length > 0) put(plain, await pushTasks(session, parts, nextFlushId(), some(plain), { again: false }));
  const queueOf = ({ lane }: NewTask): number => parts.lanes.known(lane)?.queueId ?? 0;
  for (const wave of waves(some(keyed), queueOf)) {
    const places = wave.map((at) => keyed[at] as number);
    put(places, await pushKeyed(session, parts, nextFlushId(), some(places)));
  }
  const ready = new Set(tasks.flatMap(({ lane }, i) => (isReady(answers[i] as PushAnswer) ? [lane] : [])));
  // Inside the transaction: only the caller knows when it commits, and this hint is sent at that moment.
  if (ready.size > 0) {
    await session.rows('notify', [`leasehold_${parts.schema.slice(1, -1)}`, `0:${[...ready].slice(0, 200).join(',')}`]);
  }
  return answers;
}

/** A session on the caller's client. Large numbers and arrays are numbers here, whatever the client returns. */
function sessionOf(tx: PostgresTransaction, { texts }: PostgresParts): Session {
  const ask = async (text: string, values: readonly unknown[]): Promise<readonly Record<string, unknown>[]> => {
    const { rows } = await tx.query(text, values as unknown[]);
    return (rows as readonly Record<string, unknown>[]).map(plainRow);
  };
  return {
    rows: async (name, values) => (await ask(texts[name], values)).map((row) => Object.values(row)),
    all: async <T>(name: keyof typeof texts, values: readonly unknown[]) => (await ask(texts[name], values)) as T[],
    raw: async <T>(text: string, values: readonly unknown[] = []) => (await ask(text, values)) as T[],
  };
}

const NUMBERS: ReadonlySet<string> = new Set(['id', 'task', 'created_at', 'run_at', 'hash']);

function plainRow(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([key, value]) => [key, plain(key, value)]));
}

function plain(key: string, value: unknown): unknown {
  if (key === 'ids')
    return Array.isArray(value) ? value.map(Number) : parseNumbers(typeof value === 'string' ? value : '{}');
  const number = NUMBERS.has(key) && (typeof value === 'bigint' || (typeof value === 'string' && /^\d+$/.test(value)));
  return number ? Number(value) : value;
}
