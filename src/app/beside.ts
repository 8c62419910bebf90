import { DatabaseSync } from 'node:sqlite';
import type { World } from '../core/world.ts';
import { calendarAhead } from './lease-time.ts';

/**
 * Two questions that the port does not answer yet, read beside it: who has a unique key, and what the store's clock says.
 * Nothing is decided by them: whatever is done with the answer goes through the port, with its fence.
 */
export class Beside {
  readonly #file: string;
  readonly #world: World;

  constructor(url: string, world: World) {
    this.#file = fileOf(url);
    this.#world = world;
  }

  /** The task that has this key in this queue, finished or not. */
  taskOf(queue: string, key: string): number | undefined {
    const db = new DatabaseSync(this.#file, { readOnly: true, timeout: 1000 });
    try {
      const sql = 'SELECT u.task FROM uniq u JOIN queue q ON q.id = u.queue WHERE q.name = ? AND u.key = ?';
      return (db.prepare(sql).get(queue, key) as { task: number } | undefined)?.task;
    } finally {
      db.close();
    }
  }

  /** Lease time now, and how far the calendar is ahead of it. */
  clock(): { readonly leaseNow: number; readonly ahead: number } {
    const { clock } = this.#world;
    const ahead = calendarAhead(this.#file, clock);
    return { leaseNow: clock.wall() - ahead, ahead };
  }
}

/** As store/sqlite/open.ts names them. */
function fileOf(url: string): string {
  if (!url.startsWith('memory:')) return url.slice('sqlite:'.length);
  return `file:/leasehold-${encodeURIComponent(url.slice('memory:'.length))}?vfs=memdb`;
}
