export interface FailOptions {
  /** No retry, whatever the budget says. */
  readonly giveUp?: boolean;
  /** Come back this much later; the try is given back (a 429, for instance). */
  readonly retryAfterMs?: number;
  /** Which of its limits shall wait with it; without a name those that have a rate or a cost. */
  readonly limit?: string;
}

export interface ReleaseOptions {
  /** The task was claimed in order to run it, and never started. Twenty in a row end it as undeliverable. */
  readonly bounced?: boolean;
  readonly delayMs?: number;
}
