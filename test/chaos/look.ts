import { DatabaseSync } from 'node:sqlite';
import {
  EDGES,
  type Schedule,
  type SeenEdge,
  type SeenSlot,
  type SeenUse,
  SLOTS,
  scheduleMisfits,
  slotFaults,
  USES,
} from './look-schedule.ts';

export const STATES = ['ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled'] as const;

export interface SeenTask {
  readonly id: number;
  readonly state: (typeof STATES)[number];
  readonly attempt: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly payload: string | null;
  readonly result: string | null;
}

/** What the file holds, read with plain SQL and none of the store's code. */
export interface Snapshot {
  readonly integrity: string;
  readonly tasks: readonly SeenTask[];
  /** Places where the numbers of the event feed do not follow each other, or where a row does not hold what it counts. */
  readonly gaps: readonly string[];
  /** Counters that differ from the rows. */
  readonly drift: readonly string[];
  /** Tasks of which the feed, replayed, tells something else than the rows, or an attempt or an end twice. */
  readonly misfits: readonly string[];
  /** How often a duty went from one process to another. */
  readonly takeovers: number;
  readonly words: readonly Word[];
}

/** A signal as it lies in the store: with the task that took it, or with nobody (0). */
export interface Word {
  readonly channel: string;
  /** JSON text. */
  readonly body: string;
  readonly task: number;
}

export const WORDS = `SELECT channel, body, 0 AS task FROM signal
  UNION ALL SELECT channel, body, task FROM wait WHERE channel IS NOT NULL AND body IS NOT NULL`;

export function look(file: string): Snapshot {
  const db = new DatabaseSync(file, { timeout: 5000 });
  try {
    const { integrity_check: integrity } = db.prepare('PRAGMA integrity_check').get() as { integrity_check: string };
    const rows = db.prepare('SELECT id, state, attempt, tries, max_tries, payload, result, lane FROM task').all();
    const tasks = rows.map((row) => ({
      id: row.id as number,
      state: STATES[row.state as number] as SeenTask['state'],
      attempt: row.attempt as number,
      tries: row.tries as number,
      maxTries: row.max_tries as number,
      payload: row.payload as string | null,
      result: row.result as string | null,
    }));
    const { takeovers } = db.prepare('SELECT coalesce(sum(epoch - 1), 0) AS takeovers FROM duty').get() as {
      takeovers: number;
    };
    const slots = lookAtSlots(db);
    const schedule: Schedule = {
      slots,
      uses: db.prepare(USES).all() as unknown as SeenUse[],
      edges: db.prepare(EDGES).all() as unknown as SeenEdge[],
      laneOf: new Map(rows.map((row) => [row.id as number, row.lane as number])),
    };
    const events = eventsOf(db);
    return {
      integrity,
      tasks,
      gaps: eventGaps(db),
      drift: [...statDrift(db), ...slotFaults(slots)],
      misfits: [...feedMisfits(events, tasks), ...scheduleMisfits(events, schedule)],
      takeovers,
      words: db.prepare(WORDS).all() as unknown as Word[],
    };
  } finally {
    db.close();
  }
}

function lookAtSlots(db: DatabaseSync): readonly SeenSlot[] {
  return db.prepare(SLOTS).all() as unknown as SeenSlot[];
}

/** The counters of limits as they stand now. */
export function slotsIn(file: string): readonly SeenSlot[] {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  try {
    return lookAtSlots(db);
  } finally {
    db.close();
  }
}

function eventGaps(db: DatabaseSync): readonly string[] {
  const gaps: string[] = [];
  // Row 0 founds the feed and stands for no event; the pruner may have taken it.
  let next = (db.prepare('SELECT seq FROM event WHERE seq <= 1 ORDER BY seq').get()?.seq as number | undefined) ?? 0;
  const rows = db.prepare('SELECT seq, n, ids FROM event ORDER BY seq').all() as {
    seq: number;
    n: number;
    ids: string;
  }[];
  for (const { seq, n, ids } of rows) {
    if (seq !== next) gaps.push(`${next} is followed by ${seq}`);
    if (seq !== 0 && (JSON.parse(ids) as unknown[]).length !== n) gaps.push(`row ${seq} does not hold ${n}`);
    next = seq + n;
  }
  return gaps;
}

function statDrift(db: DatabaseSync): readonly string[] {
  const drift: string[] = [];
  const counted = new Map<string, number>();
  const count = `SELECT l.queue, t.state, count(*) AS n FROM task t JOIN lane l ON l.id = t.lane GROUP BY l.queue, t.state`;
  const groups = db.prepare(count).all() as { queue: number; state: number; n: number }[];
  for (const { queue, state, n } of groups) counted.set(`${queue}/${state}`, n);
  for (const row of db.prepare('SELECT * FROM qstat').all() as Record<string, number>[]) {
    for (const [code, name] of STATES.entries()) {
      const rows = counted.get(`${row.queue}/${code}`) ?? 0;
      if (row[name] !== rows) drift.push(`queue ${row.queue}: ${name} ${row[name]}, counted ${rows}`);
    }
  }
  return drift;
}

const CLAIMED = 1;
const COMPLETED = 2;

/** Kinds from here on tell of workers, which have numbers of their own. */
export const OF_WORKERS = 100;

function eventsOf(db: DatabaseSync): readonly SeenEvents[] {
  const sql = 'SELECT at, kind, state, ids, attempts FROM event WHERE seq > 0 AND kind < ? ORDER BY seq';
  const rows = db.prepare(sql).all(OF_WORKERS);
  return rows.map((row) => ({
    at: row.at as number,
    kind: row.kind as number,
    state: row.state as number,
    ids: JSON.parse(row.ids as string) as number[],
    attempts: JSON.parse(row.attempts as string) as number[],
  }));
}

/** One row of the feed. */
export interface SeenEvents {
  readonly at: number;
  readonly kind: number;
  readonly state: number;
  readonly ids: readonly number[];
  /** One for all of them where they are the same. */
  readonly attempts: readonly number[];
}

/** Replays the feed: what it says of each task in the end is what its row says, and no attempt or end is told twice. */
export function feedMisfits(events: Iterable<SeenEvents>, tasks: readonly SeenTask[]): readonly string[] {
  const misfits: string[] = [];
  const states = new Map<number, number>();
  const once = new Set<string>();
  for (const { kind, state, ids, attempts } of events) {
    for (const [i, id] of ids.entries()) {
      states.set(id, state);
      const what = kind === CLAIMED ? `claimed ${id}/${attempts[i] ?? attempts[0]}` : `completed ${id}`;
      if (kind !== CLAIMED && kind !== COMPLETED) continue;
      if (once.has(what)) misfits.push(`${what} twice`);
      once.add(what);
    }
  }
  for (const { id, state } of tasks) {
    const told = STATES[states.get(id) ?? -1];
    if (told !== state) misfits.push(`task ${id} is ${state}, the feed says ${told}`);
  }
  return misfits;
}
