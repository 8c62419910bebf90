import { WORKER_STATES, type WorkerState } from '../../../core/worker.ts';
import type { DutyTerm, NewWorker, WorkerBeat, WorkerRecord } from '../../store.ts';
import { booleans, numbers, texts } from '../arrays.ts';
import type { Session } from '../database.ts';
import { requireRow } from './duty.ts';

interface WorkerRow {
  readonly id: number;
  readonly name: string;
  readonly incarnation: string;
  readonly state: number;
  readonly enabled: boolean;
  readonly slots: number;
  readonly tags: string;
  readonly beat_at: number;
  readonly host: string | null;
  readonly pid: number | null;
  readonly started_at: number | null;
  readonly handlers: string | null;
  readonly status: string | null;
  readonly metadata: string | null;
}

export async function registerWorker(session: Session, worker: NewWorker): Promise<number> {
  const { name, incarnation, slots, tags, host = null, pid = null, handlers = [] } = worker;
  const values = [name, incarnation, slots, JSON.stringify(tags), host, pid, JSON.stringify(handlers)];
  const [row] = await session.all<{ id: number }>('workerAdd', values);
  return (row as { id: number }).id;
}

/** One row a worker: of several beats of one worker the last word counts. */
export async function beatAll(session: Session, beats: readonly WorkerBeat[]): Promise<readonly boolean[]> {
  const merged = new Map<number, WorkerBeat>();
  for (const beat of beats) merged.set(beat.worker, { ...merged.get(beat.worker), ...said(beat), worker: beat.worker });
  const all = [...merged.values()].toSorted((a, b) => a.worker - b.worker);
  const rows = await session.rows('workerBeat', [
    numbers(all.map(({ worker }) => worker)),
    numbers(all.map(({ state }) => (state === undefined ? null : WORKER_STATES.indexOf(state)))),
    booleans(all.map(({ status }) => status !== undefined)),
    texts(all.map(({ status }) => status)),
    booleans(all.map(({ metadata }) => metadata !== undefined)),
    texts(all.map(({ metadata }) => metadata)),
  ]);
  const known = new Set(rows.map(([id]) => id));
  return beats.map(({ worker }) => known.has(worker));
}

function said(beat: WorkerBeat): Partial<WorkerBeat> {
  return Object.fromEntries(Object.entries(beat).filter(([, value]) => value !== undefined)) as Partial<WorkerBeat>;
}

export async function reapWorkers(session: Session, duty: DutyTerm, staleMs: number): Promise<readonly number[]> {
  const rows = await session.all<{ id: number | null }>('workerReap', [duty.name, duty.epoch, staleMs]);
  requireRow(duty, rows[0]);
  return rows.flatMap(({ id }) => (id === null ? [] : [id]));
}

export async function listWorkers(session: Session): Promise<readonly WorkerRecord[]> {
  const rows = await session.all<WorkerRow>('workerList', []);
  return rows.map((row) => ({
    worker: row.id,
    name: row.name,
    incarnation: row.incarnation,
    state: WORKER_STATES[row.state] as WorkerState,
    slots: row.slots,
    tags: JSON.parse(row.tags) as string[],
    enabled: row.enabled,
    seenAt: row.beat_at,
    startedAt: row.started_at ?? undefined,
    host: row.host ?? undefined,
    pid: row.pid ?? undefined,
    handlers: row.handlers === null ? [] : (JSON.parse(row.handlers) as string[]),
    status: row.status ?? undefined,
    metadata: row.metadata ?? undefined,
  }));
}
