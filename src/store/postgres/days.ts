import type { Session } from './connect/database.ts';

/**
 * `done` is partitioned by day (UTC), so that old tasks go as a table and not row by row. Partitions are made ahead. A
 * task that ends on a day without a partition is in `done_rest`.
 */
const DAY_MS = 24 * 3_600_000;
const AHEAD = 3;

const nameOf = (day: number): string => `done_${new Date(day).toISOString().slice(0, 10).replaceAll('-', '')}`;
const dayOf = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

type Raw = Pick<Session, 'raw'>;

interface TableRow {
  readonly name: string;
  readonly attached: boolean;
}

async function tables(session: Raw, schema: string): Promise<readonly TableRow[]> {
  const rows = await session.raw<TableRow>(
    `SELECT c.relname AS name, c.relispartition AS attached FROM pg_class c
      WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' AND c.relname ~ '^done_[0-9]{8}$' ORDER BY 1`,
    [schema],
  );
  return rows;
}

export async function hasDays(session: Raw, schema: string): Promise<boolean> {
  return (await tables(session, schema)).length > 0;
}

/** Makes the missing tables of today and the next days. */
export function makeDays(session: Raw, schema: string, now: number): Promise<void> {
  return makeDaysOf(
    session,
    schema,
    Array.from({ length: AHEAD }, (_, i) => now + i * DAY_MS),
  );
}

/** Makes the tables of the days of these times. */
export async function makeDaysOf(session: Raw, schema: string, times: readonly number[]): Promise<void> {
  const there = new Set((await tables(session, schema)).map(({ name }) => name));
  for (const day of new Set(times.map(dayOf))) {
    const name = nameOf(day);
    if (there.has(name)) continue;
    // Tasks have ended on that day already: they and later ones stay in `done_rest`.
    const [ended] = await session.raw(
      `SELECT 1 FROM ${schema}.done_rest WHERE ended_at >= ${day} AND ended_at < ${day + DAY_MS} LIMIT 1`,
    );
    if (ended !== undefined) continue;
    // Made apart and then attached: that takes no lock on `done` that a write would wait for.
    await session.raw(`CREATE TABLE ${schema}.${name} (LIKE ${schema}.done INCLUDING INDEXES INCLUDING DEFAULTS)`);
    await session.raw(
      `ALTER TABLE ${schema}.done ATTACH PARTITION ${schema}.${name} FOR VALUES FROM (${day}) TO (${day + DAY_MS})`,
    );
  }
}

/** Days that were detached and are not cleared yet. */
export async function setAside(session: Session, schema: string): Promise<readonly string[]> {
  return (await tables(session, schema)).filter(({ attached }) => !attached).map(({ name }) => name);
}

/** The oldest day of which every task ended before `before`. */
export async function expiredDay(session: Session, schema: string, before: number): Promise<string | undefined> {
  const [first] = (await tables(session, schema)).filter(({ attached }) => attached);
  return first !== undefined && first.name < nameOf(before) ? first.name : undefined;
}

export async function detachDay(session: Session, schema: string, table: string): Promise<void> {
  await session.raw(`ALTER TABLE ${schema}.done DETACH PARTITION ${schema}.${table}`);
}

export async function dropDay(session: Session, schema: string, table: string): Promise<void> {
  await session.raw(`DROP TABLE ${schema}.${table}`);
}
