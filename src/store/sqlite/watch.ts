import { type FSWatcher, watch as watchFile } from 'node:fs';
import type { Timers } from '../../core/world.ts';
import type { Connection } from './connection.ts';
import { isBusy } from './errors.ts';

/** `fs.watch` tells within a millisecond; this poll is the net behind it, for file systems that do not tell. */
const POLL_MS = 50;

export interface WatchOptions {
  readonly file: string;
  readonly connection: () => Connection;
  readonly timers: Timers;
  readonly wanted: () => boolean;
  readonly onChange: () => void;
}

/**
 * Tells when another connection has committed. `data_version` moves only for commits of others, so the writes of this
 * process wake nobody twice; and it is read only while somebody waits, so that a busy process does not pay for it.
 */
export function watchCommits({ file, connection, timers, wanted, onChange }: WatchOptions): () => void {
  let stopped = false;
  let seen = version();
  let watcher: FSWatcher | undefined;

  function version(): number {
    try {
      return (connection().sql.get('dataVersion').get() as { data_version: number }).data_version;
    } catch (error) {
      if (isBusy(error)) return seen;
      throw error;
    }
  }

  function look(): void {
    if (stopped || !wanted()) return;
    const now = version();
    if (now === seen) return;
    seen = now;
    onChange();
  }

  try {
    watcher = watchFile(`${file}-wal`, { persistent: false }, look);
    watcher.on('error', () => watcher?.close());
  } catch {
    // No log yet, or no notifications here: the poll alone will do.
  }
  let cancel = poll();
  function poll(): () => void {
    return timers.after(
      POLL_MS,
      () => {
        look();
        if (!stopped) cancel = poll();
      },
      { unref: true },
    );
  }
  return () => {
    stopped = true;
    cancel();
    watcher?.close();
  };
}
