import { WORKER_STATES, type WorkerState } from '../../../../core/placement/worker.ts';
import { checkTicket } from '../../../../core/pools/ticket.ts';
import { mergeBeats } from '../../../beats.ts';
import { factsOf, type HeldTicketRow } from '../../../rows/pool-rows.ts';
import { LOSSES_KEPT } from '../../../rows/reaction-rows.ts';
import { type WorkerRow, workerKind, workerOf } from '../../../rows/records.ts';
import type {
  DutyTerm,
  FleetSnapshot,
  Forgotten,
  NewTicket,
  NewWorker,
  WorkerBeat,
  WorkerRecord,
} from '../../../store.ts';
import { allTags, takenIncarnation } from '../../../worker-settings.ts';
import { booleans, numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';
import { heldLabels, leaveCredentials, lockCredentials } from '../admin/credential.ts';
import { requireRow } from '../admin/duty.ts';
import { revokeTokensNamed } from '../admin/token.ts';
import { once } from './once.ts';
import { requireName, takeName } from './worker-name.ts';
import { findSetting, lockName } from './worker-setting.ts';

export async function registerWorker(session: Session, worker: NewWorker): Promise<number> {
  const { name, incarnation, slots, tags, host = null, pid = null, handlers = [], queues, version = null } = worker;
  // A change of the setting either finds the new row, or the new row has the change. The row of the setting need not
  // exist yet.
  await lockName(session, name);
  if (worker.takes !== undefined) await requireName(session, name, worker.takes);
  const brought = worker.redeems === undefined ? undefined : await redeem(session, worker.redeems, incarnation);
  const setting = await findSetting(session, name);
  const labels = await heldLabels(session, name, setting.grant.ownCredentials === true);
  const values = [
    name,
    incarnation,
    slots,
    JSON.stringify(tags),
    host,
    pid,
    JSON.stringify(handlers),
    queues === undefined ? null : JSON.stringify(queues),
    version,
    JSON.stringify(allTags(tags, setting.tags, labels)),
    setting.enabled,
    setting.priority ?? worker.priority ?? 0,
    worker.priority ?? 0,
    worker.address ?? null,
    brought?.pool ?? worker.pool ?? null,
    worker.beatMs ?? null,
    worker.staleMs ?? null,
    worker.redeems?.id ?? null,
  ];
  const [row] = await session.all<{ id: number; started_at: number; fresh: boolean }>('workerAdd', values);
  if (row === undefined) throw takenIncarnation(name);
  if (worker.redeems !== undefined && brought?.fresh === true)
    await session.rows('ticketUse', [worker.redeems.id, row.id]);
  if (worker.takes !== undefined) await takeName(session, worker, worker.takes);
  if (worker.told === true && row.fresh) {
    await session.rows('workerTell', [workerKind('registered'), numbers([row.id]), numbers([row.started_at])]);
  }
  return row.id;
}

/**
 * Refuses a ticket that is not good, and locks one that is. The incarnation that has redeemed it may register again: its answer may have
 * been lost, or its connection.
 */
async function redeem(
  session: Session,
  { id, hash }: NewTicket,
  incarnation: string,
): Promise<{ readonly pool: string; readonly fresh: boolean }> {
  const [before] = await session.all<{ pool: string }>('workerBrought', [incarnation, id]);
  if (before !== undefined) return { pool: before.pool, fresh: false };
  const [row] = await session.all<HeldTicketRow & { readonly now: number }>('ticketHeld', [id, hash]);
  checkTicket(row && factsOf(row), row?.now ?? 0);
  return { pool: (row as HeldTicketRow).pool, fresh: true };
}

/** In a transaction. It locks in the order of `setWorker`: the setting, then the live workers. */
export function forgetWorker(session: Session, flushId: FlushId, name: string): Promise<Forgotten> {
  return once(session, 'forget', flushId, async () => {
    await lockCredentials(session);
    await lockName(session, name);
    const tokens = await revokeTokensNamed(session, name);
    const setting = (await session.rows('settingDrop', [name])).length > 0;
    const living = await session.all<{ id: number }>('workersNamed', [name]);
    await session.rows('workersRevise', [numbers(living.map(({ id }) => id))]);
    await session.rows('schemaDrop', [name]);
    await leaveCredentials(session, name);
    return { setting, tokens };
  });
}

export async function listFleet(session: Session): Promise<FleetSnapshot> {
  const rows = await session.all<WorkerRow & { readonly running: number; readonly now: number }>('workerFleet', []);
  const now = rows[0]?.now ?? 0;
  return { now, members: rows.map((row) => ({ ...workerOf(row), running: row.running })) };
}

export async function beatAll(session: Session, beats: readonly WorkerBeat[]): Promise<readonly boolean[]> {
  const all = mergeBeats(beats);
  const rows = await session.rows('workerBeat', [
    numbers(all.map(({ worker }) => worker)),
    numbers(all.map(({ state }) => (state === undefined ? null : WORKER_STATES.indexOf(state)))),
    booleans(all.map(({ status }) => status !== undefined)),
    texts(all.map(({ status }) => status)),
    booleans(all.map(({ metadata }) => metadata !== undefined)),
    texts(all.map(({ metadata }) => metadata)),
    numbers(all.map(({ ended }) => ended ?? 0)),
    booleans(all.map(({ told }) => told === true)),
  ]);
  const known = new Set(rows.map(([id]) => id));
  return beats.map(({ worker }) => known.has(worker));
}

export async function reapWorkers(session: Session, duty: DutyTerm, staleMs: number): Promise<readonly number[]> {
  const rows = await session.all<{ id: number | null }>('workerReap', [duty.name, duty.epoch, staleMs]);
  requireRow(duty, rows[0]);
  const lost = rows.flatMap(({ id }) => (id === null ? [] : [id]));
  if (lost.length > 0) await session.rows('workerLossDrop', [LOSSES_KEPT]);
  return lost;
}

export async function listWorkers(session: Session, state?: WorkerState): Promise<readonly WorkerRecord[]> {
  const rows =
    state === undefined
      ? await session.all<WorkerRow>('workerList', [])
      : await session.all<WorkerRow>('workerIn', [WORKER_STATES.indexOf(state)]);
  return rows.map(workerOf);
}
