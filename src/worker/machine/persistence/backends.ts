/** What a run with `persistence:` stands on. Each part is small, so that a program can bring its own. */

/** A snapshot as it is stored, or the key that `latest` points to. */
export type Stored = string | Readonly<Record<string, unknown>>;

export interface ExecutionFilter {
  /** Only runs whose latest checkpoint is of this event. */
  readonly event?: string | undefined;
  /** Only runs whose latest checkpoint waits on this channel. */
  readonly waiting_channel?: string | undefined;
}

/** Keys are `{execution_id}/step_{step}_{event}.json` and `{execution_id}/latest`. */
export interface PersistenceBackend {
  /** All of it or nothing: a reader sees the value before or the one after. */
  save(key: string, value: Stored): Promise<void>;
  load(key: string): Promise<Stored | null>;
  delete(key: string): Promise<void>;
  /** Sorted. */
  list(prefix: string): Promise<readonly string[]>;
  listExecutionIds(filter?: ExecutionFilter): Promise<readonly string[]>;
  /** A run that is not there is no error. */
  deleteExecution(executionId: string): Promise<void>;
  /** Keeps the text of a machine under its hash, so that a run can go on without the file. */
  saveConfig?(hash: string, config: StoredConfig): Promise<void>;
  close?(): void;
}

export interface StoredConfig {
  readonly machine_name: string;
  readonly spec_version: string;
  readonly config_raw: string;
}

/** Results by their addresses: `flatagents://{execution_id}/result` and `/checkpoint`. */
export interface ResultBackend {
  /** Wakes everybody who waits for it. */
  write(uri: string, data: unknown): Promise<void>;
  /** Undefined if it is not there. With `block` it is waited for; `timeout`, in milliseconds, ends that with a `TimeoutError`. */
  read(uri: string, options?: ReadOptions): Promise<unknown>;
  exists(uri: string): Promise<boolean>;
  delete(uri: string): Promise<void>;
}

export interface ReadOptions {
  readonly block?: boolean | undefined;
  readonly timeout?: number | undefined;
}

export interface StoredSignal {
  readonly id: string;
  readonly channel: string;
  readonly data: unknown;
  readonly created_at: string;
}

/** Signals by channel, first in, first out. */
export interface SignalBackend {
  /** Resolves to the id of the signal, when no crash can take it away. */
  send(channel: string, data: unknown): Promise<string>;
  /** Takes the first one, once, whoever else asks. */
  consume(channel: string): Promise<StoredSignal | null>;
  /** All that wait there, without taking them. */
  peek(channel: string): Promise<readonly StoredSignal[]>;
  /** Those that have signals. */
  channels(): Promise<readonly string[]>;
  /**
   * Addresses the first signal of the channel to these runs, a copy for each, in one step: nobody else gets one of them, and none is lost or
   * doubled by a crash.
   */
  deliver(channel: string, executionIds: readonly string[]): Promise<StoredSignal | null>;
  /** The runs that a signal of this channel is addressed to and that have not taken it up. */
  addressed(channel: string): Promise<readonly string[]>;
  /** The signal for this run: one that is addressed to it, else the first of the channel, which is so from now on. It stays until `settle`. */
  receive(channel: string, executionId: string): Promise<StoredSignal | null>;
  /** The run has written down what it was told. */
  settle(signalId: string, executionId: string): Promise<void>;
}

/** Tells somebody that there is a signal. Best effort: the signal is kept whatever becomes of this. */
export interface TriggerBackend {
  notify(channel: string): Promise<void>;
}

/** One process runs a run at a time. */
export interface ExecutionLock {
  /** Does not wait. False: somebody else has it. */
  acquire(key: string): Promise<boolean>;
  /** One that is not held is left alone. */
  release(key: string): Promise<void>;
}
