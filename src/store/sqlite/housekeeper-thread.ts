/**
 * Runs in a thread of its own, with its own connection, what would hold up the event loop: checkpoints of the log and the
 * auditor's recount. It takes no part in any decision.
 *
 * Checkpoints: PASSIVE after each 4 MB of growth. The writer's own `wal_autocheckpoint` stays as the net that lets the log
 * start over (17 MB at most with one and with eight writers; this thread alone did not bound it: 69–198 MB).
 */
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { connect } from './connection.ts';
import { recount } from './verbs/audit.ts';

const POLL_MS = 20;
const GROWTH = 4 * 1024 * 1024;

const { file } = workerData as { readonly file: string };
const { db, sql } = connect(file, 'full');
let checkpointed = 0;

const poll = setInterval(() => {
  const size = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (size < checkpointed) checkpointed = 0; // the log was started over
  if (size - checkpointed < GROWTH) return;
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    checkpointed = size;
  } catch {
    // Busy or out of space: the next poll tries again.
  }
}, POLL_MS);

parentPort?.on('message', (message: { readonly ask: 'recount' | 'stop'; readonly id: number }) => {
  if (message.ask === 'stop') {
    clearInterval(poll);
    db.close();
    parentPort?.close();
    return;
  }
  try {
    db.exec('BEGIN');
    const drifts = recount(sql);
    db.exec('COMMIT');
    parentPort?.postMessage({ id: message.id, drifts });
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    parentPort?.postMessage({ id: message.id, error: String(error) });
  }
});
