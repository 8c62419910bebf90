import { type FSWatcher, watch as watchFile } from 'node:fs';
import type { Timers } from '../../core/world.ts';
import type { Connection } from './connection.ts';

/** `fs.watch` tells within a millisecond; this poll is the net behind it, for file systems that do not tell. */
const POLL_MS = 50;

/** Under load every turn of the loop brings a notice: to look at each took half of the CPU of eight racing processes. */
const REST_MS = 5;

/**
 * Tells when another connection has committed. `data_version` moves only for commits of others, so the writes of this
 * process wake nobody twice. The first notice after a quiet while is looked into at once, those that follow together.
 */
export function watchCommits(
  file: string,
  connection: () => Connection,
  timers: Timers,
  onChange: () => void,
): () => void {
  let stopped = false;
  let seen: number | undefined;
  let watcher: FSWatcher | undefined;
  let resting = false;
  let missed = false;
  let cancelRest = (): void => {};

  function version(): number | undefined {
    try {
      return (connection().db.prepare('PRAGMA data_version').get() as { data_version: number }).data_version;
    } catch {
      // Busy or a fault of the disk: a hint is not worth an error, and whoever reads or writes next will hear of it.
      return seen;
    }
  }

  function look(): void {
    const now = version();
    if (now === seen) return;
    seen = now;
    onChange();
  }

  function notice(): void {
    if (stopped) return;
    missed = resting;
    if (resting) return;
    resting = true;
    look();
    cancelRest = timers.after(
      REST_MS,
      () => {
        resting = false;
        if (missed) notice();
      },
      { unref: true },
    );
  }

  seen = version();
  try {
    watcher = watchFile(`${file}-wal`, { persistent: false }, notice);
    watcher.on('error', () => watcher?.close());
  } catch {
    // No log yet, or no notifications here: the poll alone will do.
  }
  let cancelPoll = poll();
  function poll(): () => void {
    return timers.after(
      POLL_MS,
      () => {
        notice();
        if (!stopped) cancelPoll = poll();
      },
      { unref: true },
    );
  }
  return () => {
    stopped = true;
    cancelPoll();
    cancelRest();
    watcher?.close();
  };
}
