export interface CompleteOptions {
  /** Ids of artifacts that the result refers to: each is whole and of this tree, or the completion is refused. At most a thousand. */
  readonly artifacts?: readonly string[] | undefined;
}

export interface FailOptions {
  /** No retry, whatever budget is left. */
  readonly giveUp?: boolean;
  /** Run again this much later; the try is given back (for a 429, for instance). A limit is paused for an hour at most. */
  readonly retryAfterMs?: number;
  /** Which of its limits pauses with it. Without a name: those that have a rate or a cost. */
  readonly limit?: string;
  /** Who asks, for the history of the limit that is paused. */
  readonly by?: string;
}

export interface ReleaseOptions {
  /** The task was claimed to run it, and never started. Twenty in a row end it as undeliverable. */
  readonly bounced?: boolean;
  readonly delayMs?: number;
}
