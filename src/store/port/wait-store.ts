import type { OtherWait } from './turn-store.ts';

/** The part of the port for waits and the signals that end them. A turn begins a wait. */
export interface WaitStore {
  /** The present or last wait of a task. */
  waitGet(params: { readonly task: number }): Promise<WaitRecord | undefined>;
  /** Open waits that have a form: approvals. Oldest first. A form of `others` counts only beside one of the wait itself. */
  waitList(params: { readonly limit: number }): Promise<readonly WaitRecord[]>;
  /** How many signals are kept on this channel for tasks that will wait there. */
  signalKept(params: { readonly channel: string }): Promise<number>;
  /** A signal wakes the task that has waited longest on its channel, or is kept for the next one. */
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
  /** What would wake it as well, of an open wait. After a signal on one of them the wait is that one. */
  readonly others?: readonly OtherWait[];
}

export interface NewSignal {
  readonly channel: string;
  /** JSON text. */
  readonly body: string;
  /** Wakes all tasks that wait now, and is not kept. */
  readonly broadcast?: boolean | undefined;
  /** Operation id: a repeat gets the first answer. */
  readonly op?: string | undefined;
}

export interface SignalAnswer {
  /** The tasks that it woke; none: it is kept for the next one that waits. */
  readonly woken: readonly number[];
}
