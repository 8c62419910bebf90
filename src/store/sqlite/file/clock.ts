import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Clock } from '../../../core/world.ts';
import { ClockSteps, followBoot, followStep, noteAhead } from './clock-steps.ts';
import type { Prepared } from './connection.ts';

/**
 * Two clocks. Lease time is `base + CLOCK_MONOTONIC`, which all processes of one host share and which cannot be set.
 * The base is written once per boot, so that lease time goes on where it was. Calendar time is the wall clock; setting
 * it moves no lease. `steps` keeps durations right when it is set back.
 */
export interface StoreClock {
  readonly lease: () => number;
  readonly calendar: () => number;
  readonly steps: Pick<ClockSteps, 'wasSet' | 'follow' | 'forget'>;
}

/** Reads or writes `(boot, base)`; runs inside a write transaction, so that two processes agree on one base. */
export function establishClock(sql: Prepared, clock: Clock, boot: string): StoreClock {
  const read = (key: string): string | undefined =>
    (sql.get('metaGet').get(key) as { value: string } | undefined)?.value;
  let base = Number(read('lease_base'));
  const isNew = read('boot') !== boot;
  const last = read('lease_last');
  if (isNew) {
    base = Math.floor(Math.max(Number(last ?? 0), clock.wall()) - clock.monotonic());
    sql.get('metaPut').run('boot', boot);
    sql.get('metaPut').run('lease_base', String(base));
  }
  const now = Math.floor(clock.wall());
  const ahead = now - Math.floor(base + clock.monotonic());
  if (isNew) followBoot(sql, last === undefined ? undefined : Number(last), now, ahead);
  else followStep(sql, ahead);
  return {
    lease: () => Math.floor(base + clock.monotonic()),
    calendar: () => Math.floor(clock.wall()),
    steps: new ClockSteps(),
  };
}

/** The reaper stores lease time now and then, so that it never goes back over a reboot, whatever the wall clock is then. */
export function noteLeaseTime(sql: Prepared, now: number, calendar: number): void {
  sql.get('metaPut').run('lease_last', String(now));
  noteAhead(sql, calendar - now);
}

/** Names this boot of this host: monotonic times of two boots cannot be compared. */
export function bootId(): string {
  if (process.platform === 'darwin') {
    return execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim();
  }
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
