import { type ClockReading, setBackBy } from '../../../../core/clock-step.ts';
import type { Clock } from '../../../../core/world.ts';
import type { DutyTerm } from '../../../store.ts';
import type { Session } from '../../connect/database.ts';
import { requireDuty } from './duty.ts';

/** What the holder of the stager sees of the server at each of its looks. */
export interface ServerLook {
  readonly now: number;
  /** By how much was moved so far, in all: the cursor of the duty. */
  readonly moved: number;
  /** Which transactions were over, as `pg_current_snapshot()` spells it. */
  readonly mark: string;
}

export interface ClockStep {
  readonly backMs: number;
  /** The last look before the clock was set back. What was written until then was written by the old clock. */
  readonly before: ServerLook;
}

/**
 * Notices that the server's clock was set back. What is due after a while is stored as a time of that clock, and would come as much later.
 * The holder of the stager compares it with the monotonic clock of its own host at each look, and moves all of it by the same time.
 *
 * `now + moved` goes on as if the clock had never been set back. So a correction whose answer was lost is seen to be made, and one that
 * failed is seen to be due. A new term begins anew: what happened between the terms is not known.
 */
export class ClockSteps {
  readonly #clock: Clock;
  #last: { readonly epoch: number; readonly reading: ClockReading; readonly look: ServerLook } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Looks, and answers what was seen and whether the clock was set back since the last look. A step is seen again until it is followed. */
  async follow<T extends ServerLook>(
    { epoch }: DutyTerm,
    ask: () => Promise<T>,
  ): Promise<{ readonly look: T; readonly step: ClockStep | undefined }> {
    const sentAt = this.#clock.monotonic();
    const look = await ask();
    const reading = { shows: look.now + look.moved, sentAt, heardAt: this.#clock.monotonic() };
    const last = this.#last;
    const backMs = last?.epoch === epoch ? setBackBy(last.reading, reading) : 0;
    if (last !== undefined && backMs > 0) return { look, step: { backMs, before: last.look } };
    this.#last = { epoch, reading, look };
    return { look, step: undefined };
  }
}

/** Tasks first and counters after them, as the end of a task locks them. */
const OF_TASKS = ['stepDue', 'stepHeld', 'stepExpiry', 'stepLease'] as const;
const OF_OTHERS = ['stepSlot', 'stepWorker', 'stepNode'] as const;

/**
 * In a transaction: moves what is due after a while with a clock that was set back. The cursor of the duty counts by how much was moved in
 * all, so that a repeat after a lost answer finds the work done.
 */
export async function followClock(session: Session, duty: DutyTerm, { backMs, before }: ClockStep): Promise<void> {
  if ((await requireDuty(session, duty)) !== before.moved) return;
  for (const name of OF_TASKS) await session.rows(name, [backMs, before.mark]);
  for (const name of OF_OTHERS) await session.rows(name, [backMs]);
  await session.rows('stepDuty', [backMs, before.mark, duty.name]);
  await session.rows('dutyCursor', [duty.name, duty.epoch, before.moved + backMs]);
}
