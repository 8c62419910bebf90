import { type FSWatcher, watch as watchFile } from 'node:fs';
import type { Timers } from '../../../core/world.ts';
import type { Connection } from './connection.ts';

/** The net behind `fs.watch`, for file systems that do not tell. */
const POLL_MS = 50;
/** How often to look while others keep committing. */
const BUSY_MS = 5;
/** Nothing new for this long after a notice: wait for the next one. */
const QUIET_MS = 8;
/**
 * The first notice after a while is followed at every turn of the loop, because a timer cannot come back in less than a
 * millisecond: an idle worker then sees the commit within 0.1 ms. Not while others keep writing, where it would burn the CPU.
 */
const EAGER_TURNS = 60;

export interface WatchOptions {
  readonly file: string;
  readonly connection: () => Connection;
  readonly timers: Timers;
  readonly wanted: () => boolean;
  readonly onChange: () => void;
  /** How often this process itself has committed. */
  readonly commits: () => number;
}

/**
 * Tells when another connection has committed. `data_version` moves only for commits of others, so the writes of this
 * process wake nobody twice; and it is read only while somebody waits, so that a busy process does not pay for it.
 *
 *   armed ──a write to the log──> eager ──nothing new for some turns──> looking ──nothing new after 1, 2, 4, 8 ms──> armed
 *
 * The first write to the log is noticed within a millisecond, but a commit can be seen only after its last one and its
 * fsync: so the look comes a little later and is repeated. While looking nothing is armed: the log is written dozens of
 * times for each commit, and being woken by all of them took half of the CPU of eight racing processes.
 */
export function watchCommits(options: WatchOptions): () => void {
  const { file, connection, timers, wanted, onChange, commits } = options;
  let stopped = false;
  let seen: number | undefined;
  let watcher: FSWatcher | undefined;
  let cancel = (): void => {};

  function version(): number | undefined {
    try {
      return (connection().sql.get('dataVersion').get() as { data_version: number }).data_version;
    } catch {
      // Busy or a fault of the disk: a hint is not worth an error, and whoever reads or writes next will hear of it.
      return seen;
    }
  }

  function look(): boolean {
    if (!wanted()) return false;
    const now = version();
    if (now === seen) return false;
    seen = now;
    onChange();
    return true;
  }

  /** Waits for the next notice. The look in `poll` closes the gap between the last one and the arming. */
  function arm(): void {
    const before = commits();
    // What it wrote itself is no news, and what another wrote at the same time can wait for a millisecond.
    const noticed = (): void => lookEagerly(commits() === before ? EAGER_TURNS : 0);
    try {
      watcher = watchFile(`${file}-wal`, { persistent: false }, noticed);
      watcher.on('error', () => watcher?.close());
    } catch {
      // No log yet, or no notifications here: the poll alone will do.
    }
    poll();
  }

  function poll(): void {
    if (look()) lookAfter(BUSY_MS);
    else plan(POLL_MS, poll);
  }

  function lookEagerly(turns: number): void {
    watcher?.close();
    cancel();
    if (stopped) return;
    if (look()) lookAfter(BUSY_MS);
    else if (turns === 0 || !wanted()) lookAfter(1);
    else timers.soon(() => lookEagerly(turns - 1));
  }

  function lookAfter(ms: number): void {
    watcher?.close();
    plan(ms, () => {
      if (look()) lookAfter(BUSY_MS);
      else if (ms < QUIET_MS) lookAfter(2 * ms);
      else arm();
    });
  }

  function plan(ms: number, then: () => void): void {
    cancel();
    if (!stopped) cancel = timers.after(ms, then, { unref: true });
  }

  seen = version();
  arm();
  return () => {
    stopped = true;
    cancel();
    watcher?.close();
  };
}
