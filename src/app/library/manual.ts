import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { checkWorkerId } from '../../core/names.ts';
import { pause } from '../../core/pause.ts';
import { takeBack } from '../../engine/duties/take-back.ts';
import type { Engine } from '../../engine/engine.ts';
import type { RenewalAddress } from '../../protocol/link.ts';
import type { DutyTenure, OverdueLease, TaskRecord } from '../../store/store.ts';
import { LeaseKeeper } from '../link/lease-keeper.ts';
import { type Node, type NodeOptions, openNode } from '../node.ts';
import { App, renewalOf } from '../open.ts';

/** What `compat` needs of other folders: it imports nothing but this one. */
export { fault, isEngineError } from '../../core/errors.ts';
export { type LimitInput, type LimitUseInput, normalizeLimit, normalizeUses } from '../../core/limits/limit.ts';
export { checkKey, checkName } from '../../core/names.ts';
export { normalizePlacement, type PlacementInput } from '../../core/placement/placement.ts';
export {
  type Capabilities,
  type PlacementConstraints,
  placementFromConstraints,
  tagsFromCapabilities,
} from '../../core/placement/placement-constraints.ts';
export type { TaskState } from '../../core/task/task.ts';
export { checkOptions, MAX_COUNT, whole } from '../../engine/check.ts';
export { idempotencyKey } from '../../engine/settle/idempotency.ts';
export type { AttemptRecord, DutyRecord, Grant, StoreTime, TaskRecord, WorkerRecord } from '../../store/store.ts';

export interface ManualOptions extends NodeOptions {}

/** More than can really be overdue at once. */
const MOST_OVERDUE = 10_000;
const TAKEOVER_MS = 5000;
/** Whoever dies meanwhile holds others up for so long. */
const EXCLUSIVE_MS = 30_000;
const PAGE = 500;

/** Opens a store for a caller that claims and settles by itself instead of giving tasks to a worker. */
export async function openManual(url: string, options: ManualOptions = {}): Promise<Manual> {
  // A name of its own, so that the renewal thread can open the same memory.
  const named = url === 'memory:' ? `memory:${randomUUID()}` : url;
  return new Manual(await openNode(named, options), renewalOf(named, options), named);
}

/** An app, the leases that its caller holds, and what an operator needs to act on the leases of others. */
export class Manual {
  readonly app: App;
  readonly leases: LeaseKeeper;
  readonly #node: Node;
  readonly #holder = `${hostname()}/${process.pid}/${randomUUID()}`;

  constructor(node: Node, renewal: RenewalAddress | undefined, url: string) {
    this.#node = node;
    this.app = new App(node, renewal, { url, rounds: false });
    this.leases = new LeaseKeeper({ engine: node.engine, renewal, log: node.log });
  }

  get engine(): Engine {
    return this.#node.engine;
  }

  /** A new incarnation. Its name may be any that the programs of `compat` use, with capitals and colons. */
  async register(worker: {
    readonly name: string;
    readonly incarnation: string;
    readonly tags?: readonly string[];
    readonly host?: string | undefined;
    readonly pid?: number | undefined;
    readonly handlers?: readonly string[];
    readonly pool?: string | undefined;
    readonly beatMs?: number | undefined;
    readonly staleMs?: number | undefined;
  }): Promise<number> {
    const { name, tags = [] } = worker;
    checkWorkerId('worker id', name);
    return this.engine.store.workerRegister({ ...worker, tags, slots: 1 });
  }

  /** Tasks that run now, of one queue or of all. */
  async running(queue?: string): Promise<readonly TaskRecord[]> {
    const found: TaskRecord[] = [];
    for (let before: number | undefined; ; ) {
      const page = await this.engine.list({
        states: ['running'],
        limit: PAGE,
        ...(queue === undefined ? {} : { queue }),
        ...(before === undefined ? {} : { before }),
      });
      found.push(...page);
      if (page.length < PAGE) return found;
      before = page.at(-1)?.task;
    }
  }

  /** Runs the reaper of this process, if something is overdue and no other process is the reaper. Answers how many leases it took back. */
  async reap(): Promise<number> {
    const { leases } = await this.engine.store.leaseOverdue({ limit: 1 });
    return leases.length === 0 ? 0 : this.#node.roster.tick('reaper');
  }

  /**
   * Takes back this lease if it has expired, without the reaper's pause after an outage: for a caller that asks for what an expired lease
   * holds. True: nobody holds it now, or it has ended. False: it is held.
   */
  async takeOver(task: number): Promise<boolean> {
    return this.takeOverOne((lease) => lease.task === task);
  }

  /** The same for the first of the expired leases that is meant. */
  async takeOverOne(isMeant: (lease: OverdueLease) => boolean): Promise<boolean> {
    for (;;) {
      const { leases } = await this.engine.store.leaseOverdue({ limit: MOST_OVERDUE });
      const lease = leases.find(isMeant);
      if (lease === undefined) return false;
      const { store, world } = this.engine;
      const term = await store.dutyTake({ name: 'takeover', holder: this.#holder, ttlMs: TAKEOVER_MS });
      if (term !== undefined) return this.#reapOne(lease, term);
      // Another process does the same, perhaps for this task.
      await pause(world.timers, 5 + 10 * world.random());
    }
  }

  /** Runs `body` under a lease of this name that one caller has at a time, of all processes on the store. */
  async exclusive<T>(name: string, body: () => Promise<T>): Promise<T> {
    const { store, world } = this.engine;
    for (;;) {
      const duty = await store.dutyTake({ name, holder: `${this.#holder}/${randomUUID()}`, ttlMs: EXCLUSIVE_MS });
      if (duty === undefined) {
        await pause(world.timers, 5 + 10 * world.random());
        continue;
      }
      try {
        return await body();
      } finally {
        await store.dutyRelease({ duty });
      }
    }
  }

  /**
   * Ends the leases of others: the task can be claimed again at once. Its try stays counted, so that a task that kills its workers comes to
   * an end. Answers how many leases were ended.
   */
  async free(records: readonly TaskRecord[], problem: string): Promise<number> {
    const error = JSON.stringify({ message: problem });
    const spent = records.filter(({ tries, maxTries }) => tries >= maxTries);
    const others = records.filter(({ tries, maxTries }) => tries < maxTries);
    const { store } = this.engine;
    // A call without items would still cost a commit.
    const [ended, returned] = await Promise.all([
      spent.length === 0
        ? []
        : store.taskSettle({
            items: spent.map(({ task, attempt }) => ({
              task,
              attempt,
              to: 'failed',
              reason: 'exhausted',
              result: error,
            })),
          }),
      others.length === 0
        ? []
        : store.taskReturn({
            items: others.map(({ task, attempt }) => ({
              task,
              attempt,
              change: 'released',
              delayMs: 0,
              refund: false,
              bounced: false,
              error,
            })),
          }),
    ]);
    this.engine.hint(others.flatMap(({ lane }, i) => (returned[i] === 'done' ? [lane] : [])));
    // `repeated`: another caller ended it in the same way just now, and has counted it.
    return [...ended, ...returned].filter((answer) => answer === 'done' || answer === 'cancelled').length;
  }

  async close(): Promise<void> {
    await this.leases.close();
    await this.app.close();
  }

  async #reapOne(lease: OverdueLease, term: DutyTenure): Promise<boolean> {
    const { store } = this.engine;
    try {
      return (await takeBack(this.engine, term, [lease])) > 0;
    } finally {
      await store.dutyRelease({ duty: term });
    }
  }
}
