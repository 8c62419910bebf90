import { Cron } from 'croner';
import { fault } from '../../core/errors.ts';
import type { NextFireTime } from '../../core/task/schedule.ts';

/** Reads a cron expression. A fire time that a daylight saving change skips becomes the first moment after the gap. */
export function fireTimesOf(expression: string, timezone: string): NextFireTime {
  let cron: Cron;
  try {
    cron = new Cron(expression, { timezone, paused: true });
    cron.nextRun(new Date(0));
  } catch (error) {
    throw fault('INVALID_INPUT', {
      field: 'schedule',
      problem: error instanceof Error ? error.message : String(error),
    });
  }
  return (after) => cron.nextRun(new Date(after))?.getTime();
}
