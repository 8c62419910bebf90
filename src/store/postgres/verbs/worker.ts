import { WORKER_STATES } from '../../../core/worker.ts';
import { type WorkerRow, workerOf } from '../../records.ts';
import type { DutyTerm, NewWorker, WorkerBeat, WorkerRecord } from '../../store.ts';
import { booleans, numbers, texts } from '../arrays.ts';
import type { Session } from '../database.ts';
import { requireRow } from './duty.ts';

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
  return (await session.all<WorkerRow>('workerList', [])).map(workerOf);
}
