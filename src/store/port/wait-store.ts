/** The part of the port for what tasks wait for: waits as they stand, and the signals that end them. A turn begins a wait. */
export interface WaitStore {
  /** What a task waits for now, or waited for last. */
  waitGet(params: { readonly task: number }): Promise<WaitRecord | undefined>;
  /** Open waits that have a form: approvals. Oldest first. */
  waitList(params: { readonly limit: number }): Promise<readonly WaitRecord[]>;
  /** Wakes the task that has waited longest on the channel, or is kept until one comes. */
  signalSend(params: { readonly items: readonly NewSignal[] }): Promise<readonly SignalAnswer[]>;
}

export interface WaitRecord {
  readonly task: number;
  readonly key: string;
  readonly channel: string | undefined;
  readonly form: string | undefined;
  readonly since: number;
  readonly deadline: number | undefined;
  readonly outcome: 'open' | 'woken' | 'timed_out';
  readonly body: string | undefined;
}

export interface NewSignal {
  readonly channel: string;
  /** JSON text. */
  readonly body: string;
  /** Everybody who waits now, and nobody later. */
  readonly broadcast?: boolean | undefined;
  /** Operation id: a repeat gets the first answer. */
  readonly op?: string | undefined;
}

export interface SignalAnswer {
  /** The tasks that it woke; none: it is kept for the next one that waits. */
  readonly woken: readonly number[];
}
