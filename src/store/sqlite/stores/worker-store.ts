import type { DutyTerm, WorkerStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import { beatAll, listFleet, listWorkers, reapWorkers, registerWorker, someSilent } from '../verbs/queue/worker.ts';
import type { StoreParts } from './store-parts.ts';

export function workerStore(parts: StoreParts): WorkerStore {
  const { writer } = parts;
  return {
    workerRegister: (worker) => writer.write('rest', (tx) => registerWorker(tx, worker)),
    workerBeat: ({ beats }) => writer.write('rest', (tx) => beatAll(tx, beats), { quiet: true }),
    async workerFleet() {
      const now = writer.clock.lease();
      return writer.read(({ sql }) => ({ now, members: listFleet(sql) }));
    },
    workerList: ({ state } = {}) => writer.read(({ sql }) => listWorkers(sql, state)),
    workerReap: ({ duty, staleMs }) => reap(parts, duty, staleMs),
  };
}

async function reap({ writer }: StoreParts, duty: DutyTerm, staleMs: number): Promise<readonly number[]> {
  const some = await writer.read((connection) => {
    // A deposed holder is refused, whether there is something to mark or not.
    requireDuty(connection, duty);
    return someSilent(connection.sql, writer.clock.lease(), staleMs);
  });
  if (!some) return [];
  return writer.write('rest', (tx) => {
    requireDuty(tx, duty);
    return reapWorkers(tx, staleMs);
  });
}
