/**
 * A thread with its own connection for work that would block the event loop: checkpoints of the WAL and the auditor's
 * recount. It decides nothing.
 *
 * A PASSIVE checkpoint runs whenever 4 MB of the WAL are not yet in the file. The writer's own `wal_autocheckpoint`
 * lets the WAL start over (17 MB at most with one and with eight writers; this thread alone did not bound it: 69–198
 * MB). SQLite says how much is left; the size of the file does not, because a WAL that starts over keeps its size. The
 * thread ends when the WAL has not moved for a while, and the next busy time starts another one.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { recountApart } from '../verbs/admin/audit.ts';
import { type Connection, connect, existing } from './connection.ts';

const POLL_MS = 20;
/** Pages of 4 KB. */
const BACKLOG = 1000;
const IDLE_POLLS = 10_000 / POLL_MS;
/** A quiet process writes only renewals of its duties. */
const IDLE_PAGES = 200;

const { file } = workerData as { readonly file: string };
let kept: Connection | undefined;
let seen = -1;
let idle = 0;

const poll = setInterval(() => {
  try {
    const { db } = connection();
    const { log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(NOOP)').get() as {
      log: number;
      checkpointed: number;
    };
    if (log - checkpointed >= BACKLOG) db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    idle = Math.abs(log - seen) > IDLE_PAGES ? 0 : idle + 1;
    if (idle === 0) seen = log;
    if (idle > IDLE_POLLS) end();
  } catch {
    forget(); // Busy, out of space, or a mount that is gone: the next poll tries again.
  }
}, POLL_MS);

parentPort?.on('message', (message: { readonly ask: 'recount' | 'stop'; readonly id: number }) => {
  if (message.ask === 'stop') {
    end();
    return;
  }
  idle = 0;
  try {
    parentPort?.postMessage({ id: message.id, drifts: recountApart(connection()) });
  } catch (error) {
    forget();
    parentPort?.postMessage({ id: message.id, error: String(error) });
  }
});

function end(): void {
  clearInterval(poll);
  forget();
  parentPort?.close();
}

function connection(): Connection {
  kept ??= connect(existing(file), 'full');
  return kept;
}

/** A new connection notices that the fault is gone; an old one may not. */
function forget(): void {
  kept?.db.close();
  kept = undefined;
}
