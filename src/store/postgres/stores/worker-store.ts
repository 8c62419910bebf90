import type { WorkerStore } from '../../store.ts';
import { beatAll, listFleet, listWorkers, reapWorkers, registerWorker } from '../verbs/queue/worker.ts';
import type { StoreParts } from './store-parts.ts';

export function workerStore({ calls }: StoreParts): WorkerStore {
  return {
    workerRegister: (worker) => calls.transaction((session) => registerWorker(session, worker)),
    workerBeat: ({ beats }) => calls.urgently((session) => beatAll(session, beats)),
    workerFleet: () => calls.run(listFleet),
    workerList: ({ state } = {}) => calls.run((session) => listWorkers(session, state)),
    workerReap: ({ duty, staleMs }) => calls.run((session) => reapWorkers(session, duty, staleMs)),
  };
}
