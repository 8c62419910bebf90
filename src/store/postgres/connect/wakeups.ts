import type { ClientConfig } from 'pg';
import { pause } from '../../../core/pause.ts';
import type { World } from '../../../core/world.ts';
import { Connection } from './connection.ts';
import type { Database } from './database.ts';

/** The least time between two notices of one process. */
const APART_MS = 5;
/** The same for a notice that goes with a push: it comes a little sooner, so that the push takes it along before it is sent apart. */
const ATTACHED_APART_MS = 4;
/** The same for notices of new events only, which no claim waits for. */
const NEWS_APART_MS = 20;
/** What waits is sent this much later than it may be, so that a push can take it along. */
const SLACK_MS = 1;
const LAST_MS = 500;
const PROBE_MS = 10_000;
const PROBE_PATIENCE_MS = 5000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;
/** More lanes and counters than this are sent as "any". */
const MAX_LANES = 200;

export interface WakeupsOptions {
  readonly database: Database;
  readonly config: ClientConfig;
  readonly world: World;
  readonly channel: string;
  /** The number of this store. It ignores its own notices. */
  readonly store: number;
  /** False behind a pooler in transaction mode, which cannot listen. Then only the engine's polls find work. */
  readonly listens: boolean;
}

/** What a statement sends with its own commit. */
export interface AttachedNotice {
  readonly channel: string;
  readonly payload: string;
}

export interface Listener {
  /** A claim or a reader waits for news. */
  readonly wanted: () => boolean;
  readonly onNotice: (notice: Notice) => void;
}

export interface Notice {
  /** Lanes that have ready tasks; undefined: any may. */
  readonly lanes: readonly number[] | undefined;
  /** Counters that have room again. */
  readonly counters: readonly number[];
  /** The holder of the stager has dependents to count down. */
  readonly carried: boolean;
}

/** The last field of a notice. A process of an earlier release does not read it. */
const CARRIED = 'carried';

/**
 * Sends notices of ready lanes to other processes after the commit, and receives theirs. Every notice is only a hint.
 * NOTIFY locks the whole database at its commit, so it is sent at most every 5 ms, and the engine polls once a second
 * anyway.
 *
 * A process in which nothing waits does not listen. Every notice wakes every listener, and eight processes that only
 * pushed spent a third of their time on each other's notices.
 */
export class PostgresWakeups {
  readonly #options: WakeupsOptions;
  readonly #listeners = new Set<Listener>();
  #lanes = new Set<number>();
  #counters = new Set<number>();
  #everything = false;
  #carried = false;
  #news = false;
  #sending: Promise<void> | undefined;
  /** Takes back what is planned to be sent. */
  #planned: (() => void) | undefined;
  /** Somebody waits for what is planned. */
  #urgent = false;
  #sentAt = Number.NEGATIVE_INFINITY;
  #connection: Connection | undefined;
  #listening = false;
  #cancel = (): void => {};
  #closed = false;
  #failures = 0;

  constructor(options: WakeupsOptions) {
    this.#options = options;
  }

  /** These lanes have ready tasks, and these counters have room. Neither: there are only new events. */
  notify(lanes: Iterable<number>, counters: Iterable<number> = []): void {
    for (const lane of lanes) this.#lanes.add(lane);
    for (const counter of counters) this.#counters.add(counter);
    this.#news = true;
    this.#plan();
  }

  /**
   * What is to be told, and that this lane has a ready task, for a statement that sends it with its own commit: a task that is pushed alone
   * then starts a round trip and a commit earlier (3.2 instead of 3.9 ms). Undefined: a notice was sent a moment ago, and this one must wait.
   */
  attach(lane: number): AttachedNotice | undefined {
    if (this.#sending !== undefined || this.#closed || this.#wait(ATTACHED_APART_MS) > 0) return undefined;
    this.#lanes.add(lane);
    return { channel: this.#options.channel, payload: this.#take() };
  }

  /** Anything may have changed. */
  notifyAll(): void {
    this.#everything = true;
    this.notify([]);
  }

  /** Ends have left dependents to the stager, which another process may hold. */
  notifyCarried(): void {
    this.#carried = true;
    this.notify([]);
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.look();
    return () => void this.#listeners.delete(listener);
  }

  /** Begins to listen if something waits. A waiter has called the store before, so each call checks. */
  look(): void {
    if (this.#listening || this.#closed || !this.#options.listens || !this.#wanted()) return;
    this.#listening = true;
    void this.#connect();
  }

  #wanted(): boolean {
    for (const { wanted } of this.#listeners) if (wanted()) return true;
    return false;
  }

  /** The last notice may be what another process waits for. A database that is down is not waited for. */
  async close(): Promise<void> {
    this.#closed = true;
    const { world } = this.#options;
    if (this.#planned !== undefined) this.#send();
    if (this.#sending !== undefined) {
      const over = new AbortController();
      await Promise.race([this.#sending, pause(world.timers, LAST_MS, { signal: over.signal })]);
      // A timer that is left keeps the process alive.
      over.abort();
    }
    this.#cancel();
    await this.#connection?.close();
  }

  /** Sends what there is to tell, at once or when the last notice is old enough. A push that comes by then takes it along. */
  #plan(): void {
    if (this.#sending !== undefined) return;
    const awaited = this.#lanes.size + this.#counters.size > 0 || this.#everything || this.#carried;
    const wait = this.#wait(awaited ? APART_MS : NEWS_APART_MS);
    if (wait <= 0) this.#send();
    else if (this.#planned === undefined || (awaited && !this.#urgent)) {
      this.#planned?.();
      this.#urgent = awaited;
      this.#planned = this.#options.world.timers.after(wait + SLACK_MS, () => this.#send());
    }
  }

  /** Until the last notice is that old. */
  #wait(apartMs: number): number {
    return this.#sentAt + apartMs - this.#options.world.clock.monotonic();
  }

  #send(): void {
    const { database, channel } = this.#options;
    const values = [channel, this.#take()];
    // A lost hint is harmless.
    const sent = database.run((session) => session.rows('notify', values)).catch(() => {});
    this.#sending = sent.then(() => {
      this.#sending = undefined;
      if (!this.#closed && this.#news) this.#plan();
    });
  }

  /** The payload of a notice of all that is to be told; it counts as sent. */
  #take(): string {
    const { world, store } = this.#options;
    this.#planned?.();
    this.#planned = undefined;
    this.#sentAt = world.clock.monotonic();
    const any = this.#everything || this.#lanes.size + this.#counters.size > MAX_LANES;
    const told = any ? '*:' : `${[...this.#lanes].join(',')}:${[...this.#counters].join(',')}`;
    const carried = this.#carried ? `:${CARRIED}` : '';
    this.#lanes = new Set();
    this.#counters = new Set();
    this.#everything = false;
    this.#carried = false;
    this.#news = false;
    return `${store}:${told}${carried}`;
  }

  async #connect(): Promise<void> {
    const { config, world, channel } = this.#options;
    try {
      const connection = await Connection.open(config, world, world.clock.monotonic() + PROBE_PATIENCE_MS);
      if (this.#closed) {
        await connection.close();
        return;
      }
      this.#connection = connection;
      connection.onNotification((payload) => this.#receive(payload));
      connection.onEnd(() => this.#again(connection));
      connection.deadline = world.clock.monotonic() + PROBE_PATIENCE_MS;
      await connection.raw(`LISTEN ${channel}`);
      connection.rest();
      this.#failures = 0;
      // Notices may have been sent before it listened.
      this.#pass({ lanes: undefined, counters: [], carried: true });
      this.#probeLater(connection);
    } catch {
      this.#again(this.#connection);
    }
  }

  /** A dead socket gives no sign, so the listener probes it. It stops listening when nothing waits. */
  #probeLater(connection: Connection): void {
    const { world } = this.#options;
    this.#cancel = world.timers.after(
      PROBE_MS,
      () => {
        if (!this.#wanted()) {
          this.#listening = false;
          this.#connection = undefined;
          void connection.close();
          return;
        }
        connection.deadline = world.clock.monotonic() + PROBE_PATIENCE_MS;
        connection.raw('SELECT 1').then(
          () => this.#probeLater(connection),
          () => this.#again(connection),
        );
      },
      { unref: true },
    );
  }

  #again(connection: Connection | undefined): void {
    if (this.#closed || connection !== this.#connection) return;
    this.#cancel();
    this.#connection = undefined;
    void connection?.close();
    const wait = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LONGEST_RETRY_MS);
    this.#cancel = this.#options.world.timers.after(
      wait * (0.5 + this.#options.world.random()),
      () => void this.#connect(),
      {
        unref: true,
      },
    );
  }

  #receive(payload: string): void {
    const [store, lanes = '*', counters = '', carried] = payload.split(':');
    if (Number(store) === this.#options.store) return;
    this.#pass({
      lanes: lanes === '*' ? undefined : numbersOf(lanes),
      counters: numbersOf(counters),
      carried: carried === CARRIED,
    });
  }

  #pass(notice: Notice): void {
    for (const { onNotice } of this.#listeners) onNotice(notice);
  }
}

const numbersOf = (text: string): readonly number[] => text.split(',').filter(Boolean).map(Number);
