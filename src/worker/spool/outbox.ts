import { CATALOGUE, fault, isEngineError } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { World } from '../../core/world.ts';
import type { LeaseProof, NewRequest } from '../../protocol/frames.ts';
import { keyOf } from '../../protocol/held-leases.ts';
import type { EndRequest, Spool } from './spool.ts';

export type LogRequest = Extract<NewRequest, { type: 'task_progress' }>;

export interface OutboxOptions {
  readonly spool: Spool;
  readonly send: (request: NewRequest) => Promise<unknown>;
  /** The connection is up, as far as is known. */
  readonly connected: () => boolean;
  readonly world: World;
}

/** A log shipment that is not answered for so long goes to disk, so that the next lines have room in memory. */
const ANSWER_MS = 1000;
/** How often the connection is checked meanwhile: when it breaks, the shipment goes to disk at once. */
const LOOK_MS = 50;
const PAUSE_MS = 500;
const MAX_LOST = 1000;

/**
 * Ends and logs of attempts, kept until the node has acknowledged them.
 *
 *   end ──> on disk ──the log before it is stored──> sent ──answered──> off the disk
 *   log ──> sent ──no answer──> on disk ──> sent in order ──> off the disk
 *
 * An end is on disk before it is sent, even while the node is reachable: a killed process leaves it for the next one. A log goes to
 * disk only while the node does not answer; from then on all of it goes that way, until the disk is empty again.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  /** Attempts whose logs are on disk, served in turn. */
  readonly #spilled = new Map<string, { readonly lease: LeaseProof; readonly waiting: DrainWaiter[] }>();
  /** Attempts whose logs the node has refused with `LEASE_LOST`. */
  readonly #lost = new Set<string>();
  #draining = false;
  #closed = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  async log(request: LogRequest): Promise<void> {
    const { lease, logs } = request;
    const key = keyOf(lease);
    if (this.#lost.has(key)) throw lostLease(lease);
    if (this.#closed) throw fault('STORE_CLOSED');
    if (
      !this.#spilled.has(key) &&
      this.#options.connected() &&
      (await this.#isAcknowledged(this.#options.send(request)))
    )
      return;
    if (!this.#options.spool.spill(lease, logs)) {
      throw fault('STORE_UNAVAILABLE', { problem: 'the node does not answer, and no more logs fit on disk' });
    }
    if (!this.#spilled.has(key)) this.#spilled.set(key, { lease, waiting: [] });
    void this.#drain();
  }

  /** Rejects as the request itself does. Without a final answer the end stays on disk. */
  async end(end: EndRequest, id: string): Promise<unknown> {
    const { spool, send, connected } = this.#options;
    spool.put(end, id, !connected());
    try {
      await this.drained(end.lease);
      const value = await send(end);
      spool.drop(end);
      return value;
    } catch (error) {
      if (isFinalRefusal(error)) spool.drop(end);
      throw error;
    } finally {
      this.#lost.delete(keyOf(end.lease));
    }
  }

  /**
   * As `end` for plain ends in one request: `send` answers for each nothing or why it was refused. Rejects when it is not known what became
   * of them; then they stay on disk.
   */
  async endMany(
    ends: readonly { readonly end: EndRequest; readonly id: string }[],
    send: () => Promise<readonly (Error | undefined)[]>,
  ): Promise<readonly (Error | undefined)[]> {
    const { spool, connected } = this.#options;
    spool.putAll(ends, !connected());
    for (const { end } of ends) await (this.#spilled.has(keyOf(end.lease)) ? this.drained(end.lease) : undefined);
    const answers = await send();
    const settled = ends.filter((_, i) => answers[i] === undefined || isFinalRefusal(answers[i]));
    spool.dropAll(settled.map(({ end }) => end));
    for (const { end } of ends) this.#lost.delete(keyOf(end.lease));
    return answers;
  }

  /** Resolves when nothing of this log is on disk; rejects when the node is away. */
  drained(lease: Lease): Promise<void> {
    const box = this.#spilled.get(keyOf(lease));
    if (box === undefined) return Promise.resolve();
    if (this.#closed) return Promise.reject(fault('STORE_CLOSED'));
    return new Promise((resolve, reject) => void box.waiting.push({ resolve, reject }));
  }

  close(): void {
    this.#closed = true;
    this.#refuse(fault('STORE_CLOSED'));
    this.#options.spool.close();
  }

  /** False when there is no answer in time: lines must not wait in memory for a broken connection. */
  async #isAcknowledged(answer: Promise<unknown>): Promise<boolean> {
    const { world, connected } = this.#options;
    const late = Promise.withResolvers<boolean>();
    let cancel = (): void => {};
    const look = (leftMs: number): void => {
      if (leftMs <= 0 || !connected()) late.resolve(false);
      else cancel = world.timers.after(LOOK_MS, () => look(leftMs - LOOK_MS), { unref: true });
    };
    look(ANSWER_MS);
    const acknowledged = answer.then(() => true);
    acknowledged.catch(() => {});
    try {
      return await Promise.race([acknowledged, late.promise]);
    } catch (error) {
      if (!isEngineError(error, 'STORE_UNAVAILABLE')) throw error;
      return false;
    } finally {
      cancel();
    }
  }

  /** Sends one shipment at a time, of each log in turn: only one is in memory, however many logs there are. */
  async #drain(): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    for (let box = this.#next(); box !== undefined && !this.#closed; box = this.#next()) {
      const batch = this.#options.spool.nextLog(box.lease);
      if (batch === undefined) this.#emptied(box.lease);
      else if (
        await this.#isShipped(box.lease, { type: 'task_progress', lease: box.lease, logs: [...batch.entries] })
      ) {
        this.#options.spool.shiftLog(box.lease, batch);
      }
    }
    this.#draining = false;
  }

  #next(): { readonly lease: LeaseProof } | undefined {
    const [first] = this.#spilled;
    if (first === undefined) return undefined;
    const [key, box] = first;
    this.#spilled.delete(key);
    this.#spilled.set(key, box);
    return box;
  }

  async #isShipped(lease: LeaseProof, request: LogRequest): Promise<boolean> {
    try {
      await this.#options.send(request);
      return true;
    } catch (error) {
      if (isFinalRefusal(error)) {
        if (isEngineError(error, 'LEASE_LOST')) this.#noteLost(lease);
        this.#emptied(lease);
        return false;
      }
      this.#refuse(error as Error);
      await pause(this.#options.world.timers, PAUSE_MS, { unref: true });
      return false;
    }
  }

  #refuse(error: Error): void {
    for (const { waiting } of this.#spilled.values()) for (const { reject } of waiting.splice(0)) reject(error);
  }

  /** Makes the next line of the log fail, so that the log stops. The set is bounded, because some logs never write again. */
  #noteLost(lease: Lease): void {
    if (this.#lost.size >= MAX_LOST) this.#lost.clear();
    this.#lost.add(keyOf(lease));
  }

  #emptied(lease: Lease): void {
    const box = this.#spilled.get(keyOf(lease));
    this.#spilled.delete(keyOf(lease));
    this.#options.spool.dropLog(lease);
    for (const { resolve } of box?.waiting ?? []) resolve();
  }
}

interface DrainWaiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The node refuses the request itself, and would refuse it again. A refusal of the credentials says nothing about the request. */
export function isFinalRefusal(error: unknown): boolean {
  if (!isEngineError(error) || error.retryable) return false;
  if (error.code === 'UNAUTHENTICATED' || error.code === 'FORBIDDEN') return false;
  return CATALOGUE[error.code].family !== 'environment';
}

function lostLease({ task, attempt }: Lease): Error {
  return fault('LEASE_LOST', { task, attempt });
}
