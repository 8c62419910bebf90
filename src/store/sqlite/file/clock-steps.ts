import type { Prepared } from './connection.ts';

/** A clock that is disciplined moves by less against the other one; whoever sets it moves it by more. */
const STEP_MS = 1000;
/** Smaller differences are not worth a write. */
const NOTABLE_MS = 100;

/**
 * Keeps durations right when the calendar clock is set back. What is due after a while (the next try, the end of a wait, a timeout) is
 * stored as a calendar time, and would come as much later as the clock was set back. So the first transaction after that moves
 * all of it by the same time, before it writes anything by the new clock. What was asked for at a calendar time stays.
 *
 * How far the calendar is ahead of lease time is stored, so that of all processes one makes the correction, also after a restart.
 * A clock that is set ahead is only noted: it cannot be told from a host that has slept, and sleep counts for a duration.
 */
export class ClockSteps {
  /** The difference that was noted last; undefined: look it up. */
  #ahead: number | undefined;

  /**
   * Whether the calendar has moved since it was noted. Reads nothing. A small move is only noted: with a later step it would be taken for a
   * part of that, and what was stored between the two would come too early.
   */
  wasSet(leaseNow: number, now: number): boolean {
    return this.#ahead === undefined || Math.abs(now - leaseNow - this.#ahead) >= NOTABLE_MS;
  }

  /** In a write transaction. Answers whether anything was moved. */
  follow(sql: Prepared, leaseNow: number, now: number): boolean {
    const back = followStep(sql, now - leaseNow);
    this.#ahead = now - leaseNow;
    return back > 0;
  }

  /** The transaction that followed was rolled back. */
  forget(): void {
    this.#ahead = undefined;
  }
}

/** Moves what is due, if the calendar has gone back since it was noted last. Answers by how much. */
export function followStep(sql: Prepared, ahead: number): number {
  const noted = notedAhead(sql);
  const back = noted - ahead < STEP_MS ? 0 : noted - ahead;
  if (back > 0) moveBack(sql, back);
  noteAhead(sql, ahead);
  return back;
}

/** After a new start of the host: lease time may have jumped, so the calendar is compared with the latest one that was noted. */
export function followBoot(sql: Prepared, leaseLast: number | undefined, now: number, ahead: number): void {
  const back = leaseLast === undefined ? 0 : leaseLast + notedAhead(sql) - now;
  if (back >= STEP_MS) moveBack(sql, back);
  noteAhead(sql, ahead);
}

function moveBack(sql: Prepared, byMs: number): void {
  for (const name of ['stepDue', 'stepHeld', 'stepExpiry', 'stepWait'] as const) sql.get(name).run(byMs);
}

function notedAhead(sql: Prepared): number {
  const row = sql.get('metaGet').get('calendar_ahead') as { value: string } | undefined;
  return Number(row?.value ?? 0);
}

/** Stores how far the calendar is ahead of lease time. The views use it too, to show expiries. */
export function noteAhead(sql: Prepared, ahead: number): void {
  if (Math.abs(ahead - notedAhead(sql)) >= NOTABLE_MS) sql.get('metaPut').run('calendar_ahead', String(ahead));
}
