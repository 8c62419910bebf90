import { type FSWatcher, watch as watchFile } from 'node:fs';
import type { Timers } from '../../../core/world.ts';
import type { Bell } from './bell.ts';
import type { Connection } from './connection.ts';

/** A poll behind `fs.watch`, for file systems without notifications. */
const POLL_MS = 50;
/** How often to check while others keep committing. */
const BUSY_MS = 5;
/** A write to the WAL that no ring followed within this time was of a program without a bell. */
const UNRUNG_MS = 8;
/** After this long without a commit it waits for the next notice. */
const QUIET_MS = 8;
/**
 * After the first notice in a while it checks at every turn of the loop, because a timer takes at least a millisecond:
 * an idle worker then sees the commit within 0.1 ms. Not while others keep writing, where it would burn CPU.
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
  readonly bell: Bell;
}

/**
 * Calls back when another connection has committed. `data_version` moves only for commits of others, so writes of this
 * process cause no second wake-up. It is read only while something waits, so that a busy process does not pay for it.
 *
 * The bell rings after each commit that somebody waits for, and is answered at once. Commits without a bell (an older version, a caller's
 * own transaction, another user of the file) are noticed from the WAL:
 *
 *   armed ──a write to the WAL──> eager ──nothing new for some turns──> looking ──nothing new after 1, 2, 4, 8 ms──> armed
 *
 * The first write to the WAL is noticed within a millisecond, but a commit is visible only after its last write and its
 * fsync: so the check comes a little later and is repeated. While looking nothing is armed: the WAL is written dozens of
 * times for each commit, and a wake-up for each of them took half of the CPU of eight racing processes.
 */
export function watchCommits(options: WatchOptions): () => void {
  const { file, connection, timers, wanted, onChange, commits, bell } = options;
  let stopped = false;
  let seen: number | undefined;
  let watcher: FSWatcher | undefined;
  let cancel = (): void => {};
  /** There is a bell, and this process has a place at it. */
  let listens = false;

  function version(): number | undefined {
    try {
      return (connection().sql.get('dataVersion').get() as { data_version: number }).data_version;
    } catch {
      // Busy or a disk error: a hint is not worth an error, and the next read or write reports it.
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

  function rung(): void {
    if (stopped) return;
    if (wanted()) look();
    else if (listens) {
      // Busy: the others need not ring. It looks again soon, and then takes a place again.
      listens = false;
      bell.rest();
      lookAfter(BUSY_MS);
    }
  }

  /** Waits for the next notice. The check in `poll` closes the gap between the last one and the arming. */
  function arm(): void {
    const before = commits();
    const noticed = (): void => {
      // A write of this process is no news. Another one at the same time can wait for a millisecond.
      if (listens) lookAfter(UNRUNG_MS);
      else lookEagerly(commits() === before ? EAGER_TURNS : 0);
    };
    try {
      watcher = watchFile(`${file}-wal`, { persistent: false }, noticed);
      watcher.on('error', () => watcher?.close());
    } catch {
      // No WAL yet, or no notifications here: the poll is enough.
    }
    poll();
  }

  function poll(): void {
    if (wanted()) listens = bell.wait();
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
  const unlisten = bell.listen(rung);
  arm();
  return () => {
    stopped = true;
    unlisten();
    cancel();
    watcher?.close();
  };
}
