/**
 * Launchers: how a worker comes into being. One kind for each place where workers can run; the scaler knows this file only.
 *
 * A launcher says that a worker was started, never that it works: that is known once the worker has presented its ticket. A launcher that
 * hangs, lies or starts nothing costs one ticket until its deadline, and holds up nobody.
 */

/** One worker to start. */
export interface LaunchRequest {
  /** The name of the pool. */
  readonly pool: string;
  /** Names this start: safe in logs, in names of jobs and in argv. Letters, digits, "-" and "_". */
  readonly ticketId: string;
  /** What the worker presents when it registers: a secret, good once. It goes into the environment or a body, never into argv nor a log. */
  readonly ticket: string;
  /** The arguments of `leasehold` for such a worker: `worker --once …`. No secret is among them. */
  readonly args: readonly string[];
  /** What the worker finds in its environment: the ticket (`LEASEHOLD_TICKET`) and the pool (`LEASEHOLD_POOL`). No way to the store is among it. */
  readonly env: Readonly<Record<string, string>>;
  /** When the ticket ends, in milliseconds since 1970: a worker that registers later is refused. */
  readonly expiresAt: number;
  /** Aborts when the scaler no longer waits. What the launcher has under way it must end or let go of then. */
  readonly signal: AbortSignal;
}

export interface Launched {
  /** What was started, as its place calls it: `pid 4711`, `job/default/leasehold-…`, an ARN. For people; at most 200 characters are kept. */
  readonly started: string;
}

/** Starts workers in one place. An error says that nothing was started: its ticket is free at once. */
export interface Launcher {
  launch(request: LaunchRequest): Promise<Launched>;
  /** Lets go of what the launcher holds. Workers that run stay. */
  close?(): Promise<void>;
}

/** What a process gives its launchers, besides their settings. */
export interface LauncherHost {
  /** How a worker on this host reaches the store or node of this process: more environment, for launchers that start on the same host alone. */
  readonly localEnv: Readonly<Record<string, string>>;
  /** The program and first arguments that are `leasehold` here: `[node, bin/leasehold.js]`. */
  readonly leasehold: readonly [string, ...string[]];
  /** Starts a worker within this process, if it may have one. Resolves to the worker's id once it has registered. */
  readonly inProcess?: ((request: LaunchRequest) => Promise<string>) | undefined;
  /** A line for the log of the process. */
  log(level: 'info' | 'warn', message: string): void;
  /** The time in milliseconds since 1970, for what is signed. */
  now(): number;
  /** A secret of this process by its name, for what is signed or authorised; undefined if there is none of this name. */
  secret(name: string): string | undefined;
}

/** A kind of launcher, as the setting `launcher: { kind, … }` of a pool names it. */
export interface LauncherKind {
  readonly kind: string;
  /**
   * Checks the settings beside `kind` and makes a launcher of them: nothing is started or connected yet. What is wrong with them is a
   * fault INVALID_INPUT that names the field.
   */
  make(settings: Readonly<Record<string, unknown>>, host: LauncherHost): Launcher;
}
