/** What a schedule says of itself, in words. */

import type { Fire, Schedule } from '../../api.ts';

/** `daily 03:00 in Europe/Berlin`, `every 15m`. */
export function timesText({ times, timezone }: Pick<Schedule, 'times' | 'timezone'>): string {
  const { every, from, ...clock } = times;
  if (every !== undefined) return `every ${every}${from === undefined ? '' : ` from ${from}`}`;
  const [kind = '', value = ''] = Object.entries(clock)[0] ?? [];
  return kind === 'at' ? `at ${value}` : `${kind} ${value} in ${timezone}`;
}

export function outcomeText({ outcome, before }: Fire): string {
  return outcome === 'run' ? 'run by hand' : before === undefined ? outcome : `${outcome} until`;
}
