import { DatabaseSync } from 'node:sqlite';
import { existing } from '../../store/sqlite/file/connection.ts';
import { translate } from '../../store/sqlite/file/errors.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

const ROUNDS = 5;
const SLOW_MS = 100;

/** Commits a few times like an acknowledged write, with an fsync, and leaves nothing behind. */
export function probeWrites(file: string, now: () => number): Finding {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(existing(file), { timeout: 5000 });
    db.exec('PRAGMA synchronous = FULL');
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const startedAt = now();
      // Inserted and deleted in one transaction: the page is written and synced, and nothing is kept.
      db.exec(`BEGIN IMMEDIATE; INSERT OR REPLACE INTO meta (key, value) VALUES ('probe', '${round}');
        DELETE FROM meta WHERE key = 'probe'; COMMIT`);
      times.push(now() - startedAt);
    }
    return judgeWrites(times);
  } catch (error) {
    const { message, hint = '' } = translate(error, file);
    return fail('writes', message, hint);
  } finally {
    db?.close();
  }
}

const SLOW_DISK = 'The disk is slow or busy. Move the store to a quicker one, or choose --durability normal.';

export function judgeWrites(times: readonly number[], todo = SLOW_DISK): Finding {
  const middle = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] as number;
  const says = `a durable commit takes ${middle.toFixed(1)} ms`;
  if (middle < SLOW_MS) return ok('writes', says);
  return warn('writes', says, todo);
}
