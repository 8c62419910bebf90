/** What another machine's clock showed, somewhere between the sending of the question and the answer by our own monotonic clock. */
export interface ClockReading {
  readonly shows: number;
  readonly sentAt: number;
  readonly heardAt: number;
}

/** A clock that is disciplined moves by less; whoever sets it moves it by more. */
const STEP_MS = 2000;

/**
 * By how much the other clock was certainly set back between two readings; 0 if it may not have been. It must show less than before: a
 * clock that only stood still belongs to a machine that slept. The time that has passed for us is added, as far as the journeys of question
 * and answer leave it certain.
 */
export function setBackBy(before: ClockReading, after: ClockReading): number {
  if (after.shows >= before.shows) return 0;
  const passed = Math.max(0, after.sentAt - before.heardAt);
  const back = Math.floor(before.shows + passed - after.shows);
  return back < STEP_MS ? 0 : back;
}
