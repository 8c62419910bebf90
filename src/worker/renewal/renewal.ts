import { extname } from 'node:path';
import { Worker as Thread } from 'node:worker_threads';
import type { Lease } from '../../core/task/lease.ts';
import type { World } from '../../core/world.ts';
import type { RenewalAnswer, Session } from '../../protocol/link.ts';
import { type LeaseNotice, RenewalRounds, roundMs } from './renewal-rounds.ts';
import { RenewalTable } from './renewal-table.ts';
import type { ThreadData } from './renewal-thread.ts';

export interface RenewalOptions {
  readonly session: Pick<Session, 'leaseMs' | 'renewMs' | 'renewal' | 'renew'>;
  readonly world: World;
  /** The most leases that are held at once. */
  readonly capacity: number;
  readonly maxBlockMs: number;
  readonly onNotice: (notice: LeaseNotice) => void;
  /** The thread could not start, or died: the loop renews from now on, which a handler can block. */
  readonly onTrouble: (error: unknown) => void;
}

/** How often the loop beats. */
const BEAT_MS = 250;
/** A worker that has held no lease for so long ends its thread, which takes 20 MB. */
const IDLE_BEATS = 30_000 / BEAT_MS;

/**
 * Keeps the leases of a worker: from a thread of its own where the link has an address for one, otherwise from the loop. The
 * thread is started with the first lease at the latest, before a handler can block anything; it needs nothing of the loop to
 * start. It opens the store when a renewal is near or the loop is blocked, and the loop renews until the thread is ready.
 */
export class Renewal {
  readonly #options: RenewalOptions;
  readonly #table: RenewalTable;
  readonly #free: number[];
  #cancelBeat = (): void => {};
  #cancelRound = (): void => {};
  #thread: Thread | undefined;
  /** The thread renews, on a connection of its own. */
  #ready = false;
  /** The thread has failed, or the link has none. */
  #fromLoop = false;
  #idleBeats = 0;
  #closed = false;

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#table = new RenewalTable(options.capacity);
    this.#free = Array.from({ length: options.capacity }, (_, i) => options.capacity - 1 - i);
  }

  start(): void {
    if (this.#options.session.renewal !== undefined) return;
    this.#fromLoop = true;
    this.#renewFromLoop();
  }

  /** A lease is expected: the thread starts now, so that it does not start in the middle of the first tasks. */
  prepare(): void {
    if (this.#thread === undefined && !this.#fromLoop) this.#startThread();
  }

  /** Renews the lease from now on. Returns its place in the table, for `bound` and `drop`. */
  hold({ task, attempt }: Lease): number {
    const place = this.#free.pop();
    if (place === undefined) throw new Error('more leases are held than were asked for');
    this.#table.put(place, { task, attempt, since: this.#options.world.clock.monotonic(), deadline: 0 });
    this.prepare();
    return place;
  }

  /** The run starts now and must end within this time; the thread enforces it too, should the loop be blocked. */
  bound(place: number, { task, attempt }: Lease, timeoutMs: number): void {
    const held = this.#table.read(place);
    const now = this.#options.world.clock.monotonic();
    this.#table.put(place, { task, attempt, since: held?.since ?? now, deadline: now + timeoutMs });
  }

  drop(place: number): void {
    this.#table.clear(place);
    this.#free.push(place);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRound();
    await this.#endThread();
  }

  async #endThread(): Promise<void> {
    this.#cancelBeat();
    const thread = this.#thread;
    if (thread === undefined) return;
    this.#thread = undefined;
    const gone = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    // The thread does not keep the process alive, but its end is waited for.
    thread.ref();
    if (this.#ready) thread.postMessage('close');
    // It has nothing to close yet, and would read messages only once it has loaded, a tenth of a second later.
    else void thread.terminate();
    await gone;
  }

  #beat(): void {
    const { clock, timers } = this.#options.world;
    this.#table.beat(clock.monotonic());
    this.#idleBeats = this.#free.length === this.#table.capacity ? this.#idleBeats + 1 : 0;
    if (this.#idleBeats > IDLE_BEATS) {
      this.#cancelRound();
      void this.#endThread();
    } else this.#cancelBeat = timers.after(BEAT_MS, () => this.#beat(), { unref: true });
  }

  #renewFromLoop(): void {
    const { session, world, maxBlockMs, onNotice } = this.#options;
    this.#cancelRound();
    const rounds = new RenewalRounds({
      table: this.#table,
      renewals: { renew: (leases) => this.#renewHere(leases), blocked: async () => {}, close: async () => {} },
      leaseMs: session.leaseMs,
      renewMs: session.renewMs,
      maxBlockMs,
      now: world.clock.monotonic,
      // While there is a thread, this side only bridges its start: after a blocked loop its times may be old.
      notify: (notice) => {
        if (this.#thread === undefined || notice.kind === 'cancel' || notice.kind === 'lost') onNotice(notice);
      },
    });
    const next = (): void => {
      const round = (): void => {
        // This timer proves that the loop is not blocked, even if the next beat comes after it.
        this.#table.beat(world.clock.monotonic());
        void rounds.tick();
        next();
      };
      // Like the thread that it stands in for, it does not keep the process alive.
      this.#cancelRound = world.timers.after(roundMs(session.leaseMs), round, { unref: this.#thread !== undefined });
    };
    next();
  }

  async #renewHere(leases: readonly Lease[]): Promise<readonly RenewalAnswer[]> {
    const { session, world } = this.#options;
    const sentAt = world.clock.monotonic();
    const answers = await session.renew(leases);
    // The thread takes its times from the table.
    if (this.#thread !== undefined) leases.forEach((lease, i) => answers[i] !== 'lost' && this.#renewed(lease, sentAt));
    return answers;
  }

  #renewed({ task, attempt }: Lease, since: number): void {
    for (let place = 0; place < this.#table.capacity; place++) {
      const held = this.#table.read(place);
      if (held?.task === task && held.attempt === attempt) this.#table.put(place, { ...held, since });
    }
  }

  #startThread(): void {
    const { session, maxBlockMs } = this.#options;
    const program = new URL(`./renewal-thread${extname(import.meta.url)}`, import.meta.url);
    const workerData = {
      address: session.renewal as NonNullable<typeof session.renewal>,
      capacity: this.#table.capacity,
      buffer: this.#table.buffer,
      leaseMs: session.leaseMs,
      maxBlockMs,
    } satisfies ThreadData;
    let thread: Thread;
    try {
      thread = new Thread(program, { workerData, resourceLimits: { maxYoungGenerationSizeMb: 2 } });
    } catch (error) {
      this.#giveUpThread(error);
      return;
    }
    this.#thread = thread;
    this.#ready = false;
    this.#idleBeats = 0;
    this.#beat();
    this.#renewFromLoop();
    thread.on('message', (notice: LeaseNotice | 'ready') => {
      if (notice !== 'ready') this.#options.onNotice(notice);
      else if (this.#thread === thread) {
        this.#ready = true;
        this.#cancelRound();
      }
    });
    thread.on('error', (error) => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#cancelBeat();
      if (!this.#closed) this.#giveUpThread(error);
    });
    // After the listeners, because a listener keeps the process alive.
    thread.unref();
  }

  #giveUpThread(error: unknown): void {
    this.#fromLoop = true;
    this.#options.onTrouble(error);
    this.#renewFromLoop();
  }
}
