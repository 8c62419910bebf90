import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../core/world.ts';

/**
 * How far calendar time is ahead of the store's lease time now. Expiries and beats are told in lease time, which nobody
 * can set; people read calendars. The port hands out no clock, so it is read beside it, and only for display.
 */
export function calendarAhead(file: string, clock: Clock): number {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
  try {
    const row = db.prepare("SELECT value FROM meta WHERE key = 'lease_base'").get() as { value: string } | undefined;
    return row === undefined ? 0 : clock.wall() - (Number(row.value) + clock.monotonic());
  } finally {
    db.close();
  }
}
