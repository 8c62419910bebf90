import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Clock } from '../../../core/world.ts';
import type { Prepared } from './connection.ts';

/**
 * Two clocks. Lease time is `base + CLOCK_MONOTONIC`, which all processes of one host share and which cannot be set.
 * The base is written once per boot, so that lease time goes on where it was. Calendar time is the wall clock; setting
 * it moves no lease.
 */
export interface StoreClock {
  readonly lease: () => number;
  readonly calendar: () => number;
}

/** Reads or writes `(boot, base)`; runs inside a write transaction, so that two processes agree on one base. */
export function establishClock(sql: Prepared, clock: Clock, boot: string): StoreClock {
  const read = (key: string): string | undefined =>
    (sql.get('metaGet').get(key) as { value: string } | undefined)?.value;
  let base = Number(read('lease_base'));
  if (read('boot') !== boot) {
    const last = Number(read('lease_last') ?? 0);
    base = Math.floor(Math.max(last, clock.wall()) - clock.monotonic());
    sql.get('metaPut').run('boot', boot);
    sql.get('metaPut').run('lease_base', String(base));
  }
  noteCalendar(sql, Math.floor(clock.wall()) - Math.floor(base + clock.monotonic()));
  return {
    lease: () => Math.floor(base + clock.monotonic()),
    calendar: () => Math.floor(clock.wall()),
  };
}

/** The reaper stores lease time now and then, so that it never goes back over a reboot, whatever the wall clock is then. */
export function noteLeaseTime(sql: Prepared, now: number, calendar: number): void {
  sql.get('metaPut').run('lease_last', String(now));
  noteCalendar(sql, calendar - now);
}

/** Smaller differences are not worth a write. */
const NOTABLE_MS = 100;

/** Stores how far the calendar is ahead of lease time. Only the views use it, to show expiries. */
function noteCalendar(sql: Prepared, ahead: number): void {
  const noted = sql.get('metaGet').get('calendar_ahead') as { value: string } | undefined;
  if (Math.abs(ahead - Number(noted?.value ?? 0)) >= NOTABLE_MS)
    sql.get('metaPut').run('calendar_ahead', String(ahead));
}

/** Names this boot of this host: monotonic times of two boots cannot be compared. */
export function bootId(): string {
  if (process.platform === 'darwin') {
    return execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim();
  }
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
