/** The actions of checker, workers and reaper, on the table of papers: all of them are those of leasehold, only the pool is ours. */
import { createRegistrationBackend, DistributedWorkerHooks } from 'leasehold/compat';
import { PaperQueue } from './paper-queue.ts';

const { PAPERS_DB = 'papers.sqlite', WORKERS_DB = 'workers.sqlite', PAPER_LEASE_SECONDS = '60' } = process.env;

export default new DistributedWorkerHooks({
  work_backend: new PaperQueue(PAPERS_DB, { leaseSeconds: Number(PAPER_LEASE_SECONDS) }),
  registration_backend: await createRegistrationBackend({ type: 'sqlite', sqlite_path: WORKERS_DB }),
  worker_config_path: 'worker.yml',
  folder: import.meta.dirname,
});
