/** A worker of one of the documents, to be killed or to block itself: `item URL blockMs` or `run URL ttlSeconds`. */
import { acquireRunLease, connectRuntimeDb, createWorkBackend, heartbeatRunLease } from '../../../src/compat/index.ts';
import { leave, say } from '../parent.ts';
import { configOf } from './compat-stores.ts';

const [kind, url, number, leaseMs = '1000'] = process.argv.slice(2) as ['item' | 'run', string, string, string?];

if (kind === 'item') {
  const backend = await createWorkBackend(configOf(url), { leaseMs: Number(leaseMs), dutyMs: 1000 });
  const item = await backend.pool('papers').claim('victim');
  say({ word: 'claimed', id: item?.id });
  // A thread that keeps the lease is started by this loop, and takes its time where the host is busy.
  await new Promise((resolve) => void setTimeout(resolve, Number(leaseMs) / 4));
  // The whole loop stands still: neither a timer nor a promise gets a turn.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(number));
  const answer = await backend
    .pool('papers')
    .complete(item?.id as string, 'slow but sure')
    .then(
      () => 'completed',
      (error: Error & { code?: string }) => error.code,
    );
  await backend.close();
  leave({ word: 'done', answer });
} else {
  const ttl = Number(number);
  const conn = await connectRuntimeDb(url);
  say({ word: 'acquired', answer: await acquireRunLease(conn, 'job_1', 'victim', ttl) });
  let beats = 0;
  setInterval(() => {
    void heartbeatRunLease(conn, 'job_1', 'victim', ttl).then((held) => {
      beats++;
      say({ word: `beat ${beats}`, held });
    });
  }, ttl * 250);
}
