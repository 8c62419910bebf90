import type { DatabaseSync } from 'node:sqlite';
import { DEFAULT_STALE_MS } from '../../core/placement/worker.ts';
import type { Clock } from '../../core/world.ts';
import { DUTIES, type DutyName } from '../../engine/duties/roster.ts';
import { SCHEMA_VERSION } from '../../store/sqlite/upkeep/migrate.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { type AskingRow, type CarrierRow, judgeRequirements } from './requirements.ts';

/** The content of the file, read by a connection that cannot write. */
export interface DataSnapshot {
  readonly db: DatabaseSync;
  readonly clock: Clock;
  readonly boot: string;
}

/** A lease that expired this long ago should have been taken back. */
export const STUCK_MS = 60_000;
/** A larger difference of calendar time and lease time means that somebody has set the clock. */
const JUMP_MS = 5000;

export function checkIntegrity({ db }: DataSnapshot): Finding {
  const rows = db
    .prepare('PRAGMA quick_check(5)')
    .all()
    .map((row) => String(Object.values(row)[0]));
  if (rows.length === 1 && rows[0] === 'ok') return ok('integrity', 'quick_check finds nothing wrong');
  return fail(
    'integrity',
    rows.join('; '),
    'Stop all processes that use the store, keep a copy of its files, and restore the last good backup.',
  );
}

export function checkSchema({ db }: DataSnapshot): Finding {
  const moved = movedTo(db);
  if (moved !== undefined) return fail('schema', `the store was moved to ${moved}`, 'Use that address: --store URL.');
  // Another program's file has no such table, or a different one of that name.
  const columns = db.prepare("SELECT name FROM pragma_table_info('meta')").all();
  if (!columns.some(({ name }) => name === 'value')) return judgeSchema(0, 0, SCHEMA_VERSION);
  return judgeSchema(Number(meta(db, 'schema') ?? 0), Number(meta(db, 'compatible_from') ?? 0), SCHEMA_VERSION);
}

export function judgeSchema(have: number, compatibleFrom: number, known: number): Finding {
  const check = 'schema';
  if (have === 0) return fail(check, 'the file is no store of leasehold', 'Check --store and --data-dir.');
  if (have === known) return ok(check, `version ${have}`);
  if (have < known)
    return warn(
      check,
      `version ${have}, older than this program's ${known}`,
      'Nothing: the next command that opens it brings it up to date.',
    );
  if (compatibleFrom > known)
    return fail(
      check,
      `version ${have}, newer than this program understands (${known})`,
      'Upgrade leasehold on this host.',
    );
  return warn(
    check,
    `version ${have}, newer than this program's ${known}, which can still work on it`,
    'Upgrade leasehold on this host soon.',
  );
}

function movedTo(db: DatabaseSync): string | undefined {
  const columns = db.prepare("SELECT name FROM pragma_table_info('meta')").all();
  return columns.some(({ name }) => name === 'value') ? meta(db, 'moved_to') : undefined;
}

/** Lease time now; undefined when the store was not opened since this host started. */
export function leaseNow({ db, clock, boot }: DataSnapshot): number | undefined {
  return meta(db, 'boot') === boot ? Math.floor(Number(meta(db, 'lease_base')) + clock.monotonic()) : undefined;
}

export function checkClock(snapshot: DataSnapshot): Finding {
  const { db, clock } = snapshot;
  const row = db.prepare('SELECT max(at) AS at FROM (SELECT at FROM event ORDER BY seq DESC LIMIT 10)').get();
  return judgeClock({ wall: clock.wall(), lease: leaseNow(snapshot), newestEventAt: Number(row?.at ?? 0) });
}

export function judgeClock(times: {
  readonly wall: number;
  readonly lease: number | undefined;
  readonly newestEventAt: number;
}): Finding {
  const { wall, lease, newestEventAt } = times;
  const check = 'clock';
  const todo = 'Let the clock be kept by NTP. Leases do not follow it; delays, schedules and retention do.';
  if (newestEventAt > wall + JUMP_MS) {
    return warn(
      check,
      `it is ${seconds(newestEventAt - wall)} behind the newest event: it was set back, or was wrong before`,
      todo,
    );
  }
  if (lease === undefined) return ok(check, 'the store was not opened since this host was started');
  const apart = Math.abs(wall - lease);
  if (apart > JUMP_MS)
    return warn(
      check,
      `it was moved by ${seconds(apart)} since the store was first opened after the start of this host`,
      todo,
    );
  return ok(check, `agrees with the store's to ${Math.round(apart)} ms`);
}

export function checkDuties(snapshot: DataSnapshot): Finding {
  const rows = snapshot.db.prepare('SELECT name, holder, until FROM duty').all() as unknown as DutyRow[];
  // A SQLite store numbers events in the write itself.
  return judgeDuties(
    rows,
    leaseNow(snapshot),
    DUTIES.filter((duty) => duty !== 'feed'),
  );
}

interface DutyRow {
  readonly name: string;
  readonly holder: string;
  readonly until: number;
}

export function judgeDuties(
  rows: readonly DutyRow[],
  now: number | undefined,
  duties: readonly DutyName[] = DUTIES,
): Finding {
  const fresh = rows.filter(({ until }) => now !== undefined && until >= now);
  const missing = duties.filter((duty) => !fresh.some(({ name }) => name === duty));
  if (missing.length > 0) {
    const what =
      missing.length === duties.length ? 'nobody does the housekeeping' : `nobody does: ${missing.join(', ')}`;
    return warn(
      'duties',
      `${what}; due tasks stay scheduled and lost leases are not taken back`,
      'Start a node: leasehold up.',
    );
  }
  // Holders are HOST/PID/random; the first two are for people.
  const holders = new Set(fresh.map(({ holder }) => nameOf(holder)));
  return ok('duties', `all ${duties.length} are held by ${[...holders].join(', ')}`);
}

export function checkLeases(snapshot: DataSnapshot): Finding {
  const now = leaseNow(snapshot);
  if (now === undefined) return ok('leases', 'cannot be checked before the store is opened on this boot');
  const row = snapshot.db
    .prepare('SELECT count(*) AS running, count(*) FILTER (WHERE lease_until < ?) AS stuck FROM task WHERE state = 1')
    .get(now - STUCK_MS) as { running: number; stuck: number };
  return judgeLeases(row);
}

export function judgeLeases(row: { readonly running: number; readonly stuck: number }): Finding {
  if (row.stuck === 0) return ok('leases', `${row.running} tasks run, none of them past its lease`);
  return fail(
    'leases',
    `${row.stuck} of ${row.running} running tasks have a lease that ran out more than ${STUCK_MS / 1000} s ago`,
    'Start a node (leasehold up): its reaper takes them back. If one is up, read its log.',
  );
}

export function checkWorkers(snapshot: DataSnapshot): Finding {
  const now = leaseNow(snapshot);
  // States by their positions in WORKER_STATES: 0 to 2 should send heartbeats, 3 has signed off, 4 is lost.
  const rows = snapshot.db
    .prepare('SELECT name, state, beat_at FROM worker WHERE state <> 3')
    .all() as unknown as WorkerRow[];
  return judgeWorkers(rows, now);
}

export function checkRequirements(snapshot: DataSnapshot): Finding {
  const { db } = snapshot;
  const asking = db.prepare(`SELECT q.name AS queue, l.placement FROM lane l JOIN queue q ON q.id = l.queue
    WHERE l.placement IS NOT NULL AND EXISTS (SELECT 1 FROM task t WHERE t.lane = l.id AND t.state = 0) LIMIT 1000`);
  const carriers = db.prepare('SELECT tags FROM worker WHERE state < 3 AND enabled = 1 AND beat_at >= ?');
  const seen = (leaseNow(snapshot) ?? 0) - DEFAULT_STALE_MS;
  return judgeRequirements(asking.all() as unknown as AskingRow[], carriers.all(seen) as unknown as CarrierRow[]);
}

interface WorkerRow {
  readonly name: string;
  readonly state: number;
  readonly beat_at: number;
}

export function judgeWorkers(rows: readonly WorkerRow[], now: number | undefined): Finding {
  const isLost = ({ state, beat_at: at }: WorkerRow): boolean =>
    state === 4 || now === undefined || at < now - DEFAULT_STALE_MS;
  const lost = rows.filter(isLost);
  const online = rows.length - lost.length;
  if (lost.length === 0) return ok('workers', online === 0 ? 'none is online' : `${online} online`);
  const names = [...new Set(lost.map(({ name }) => name))];
  const some = names.slice(0, 5).join(', ') + (names.length > 5 ? ` and ${names.length - 5} more` : '');
  return warn(
    'workers',
    `${online} online, ${lost.length} silent: ${some}`,
    'Check whether their processes still run; their tasks go to others. See "leasehold workers list".',
  );
}

function meta(db: DatabaseSync, key: string): string | undefined {
  return (db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: string } | undefined)?.value;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000).toLocaleString('en')} s`;
}

/** A node by its id; another process by its host and its process id. */
function nameOf(holder: string): string {
  const [host = '', pid, start] = holder.split('/');
  return start === undefined ? host : `${host} pid ${pid}`;
}
