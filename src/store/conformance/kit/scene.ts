import assert from 'node:assert/strict';
import { type ErrorCode, isEngineError } from '../../../core/errors.ts';
import { isTaskEvent, type QueueStats, type TaskEvent } from '../../../core/task/event.ts';
import type { Lease } from '../../../core/task/lease.ts';
import type { FinalState, Reason } from '../../../core/task/task.ts';
import type {
  CallerTransaction,
  ClaimAnswer,
  DutyTenure,
  EventPage,
  Grant,
  LaneName,
  NewTask,
  Overdue,
  PruneAnswer,
  PushAnswer,
  ReturnItem,
  SettleAnswer,
  Store,
  TaskRecord,
} from '../../store.ts';
import { checkBooks, lookAt, numberEvents, type Snapshot } from './snapshot.ts';
import type { VirtualWorld } from './virtual-world.ts';

/** A transaction of the caller, with the methods to begin and end it. */
export interface CallerHandle {
  readonly tx: CallerTransaction;
  readonly begin: () => void | Promise<void>;
  readonly commit: () => void | Promise<void>;
  readonly rollback: () => void | Promise<void>;
  readonly close: () => void | Promise<void>;
}

/** What a scene needs beyond the store itself; the suite fills it in from its options. */
export interface SceneTools {
  readonly reopen: ((store: Store) => Promise<Store>) | undefined;
  readonly caller: ((store: Store) => Promise<CallerHandle>) | undefined;
  readonly pass: (ms: number) => Promise<void>;
  /** Default: the store follows the clock of the world. */
  readonly setBack?: ((ms: number) => Promise<void>) | undefined;
}

export interface ClaimWish {
  readonly max?: number;
  readonly lanes?: readonly number[];
  readonly ttlMs?: number;
  readonly holder?: number;
  readonly task?: number;
  readonly op?: string;
}

type Wish = Partial<NewTask> & Partial<LaneName>;

export const TTL = 30_000;
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** One store in one world, and short words for what most cases do with it. */
export class Scene {
  readonly store: Store;
  readonly world: VirtualWorld;
  readonly #tools: SceneTools;
  readonly #opened: Store[] = [];
  readonly #handles: CallerHandle[] = [];
  #worker: number | undefined;
  #workers = 0;
  /** Old tasks and events may have been pruned, so that the books no longer begin at the beginning. */
  forgets = false;
  /** The case has closed the store itself: there are no books to check. */
  closed = false;

  constructor(store: Store, world: VirtualWorld, tools: SceneTools) {
    this.store = store;
    this.world = world;
    this.#tools = tools;
  }

  /** Time passes, for the store too. */
  pass(ms: number): Promise<void> {
    return this.#tools.pass(ms);
  }

  /** Somebody sets the calendar clock of the store back. */
  async setBack(ms: number): Promise<void> {
    this.world.jump(-ms);
    await this.#tools.setBack?.(ms);
  }

  async lane(queue = 'mail', handler = 'send'): Promise<number> {
    const [lane] = await this.store.laneIntern({ lanes: [{ queue, handler }] });
    return (lane as { id: number }).id;
  }

  async spec(body = '{}'): Promise<number> {
    const [spec] = await this.store.specIntern({ specs: [body] });
    return spec as number;
  }

  async draft({ queue, handler, ...wish }: Wish = {}): Promise<NewTask> {
    const lane = wish.lane ?? (await this.lane(queue, handler));
    return { spec: wish.spec ?? (await this.spec()), priority: 0, maxTries: 3, payload: '{"n":1}', ...wish, lane };
  }

  async pushAnswer(wish: Wish = {}): Promise<PushAnswer> {
    const [answer] = await this.store.taskPush({ items: [await this.draft(wish)] });
    return answer as PushAnswer;
  }

  /** A new task's number. */
  async push(wish: Wish = {}): Promise<number> {
    const answer = await this.pushAnswer(wish);
    assert.ok(answer.ok && answer.fresh, `the push made no new task: ${JSON.stringify(answer)}`);
    return answer.task;
  }

  async pushMany(count: number, wish: Wish = {}): Promise<readonly number[]> {
    const item = await this.draft(wish);
    const answers = await this.store.taskPush({ items: Array.from({ length: count }, () => item) });
    return answers.map((answer) => {
      assert.ok(answer.ok && answer.fresh);
      return answer.task;
    });
  }

  /** The worker that claims when a case does not care who does. */
  async worker(): Promise<number> {
    this.#worker ??= await this.newWorker();
    return this.#worker;
  }

  newWorker(): Promise<number> {
    const n = ++this.#workers;
    return this.store.workerRegister({ name: `worker-${n}`, incarnation: `incarnation-${n}`, slots: 8, tags: [] });
  }

  /** Switches a worker on or off, by its name. */
  async enable(worker: number, enabled: boolean): Promise<void> {
    const record = (await this.store.workerList()).find((one) => one.worker === worker);
    assert.ok(record, 'there is no such worker');
    await this.store.workerSet({ name: record.name, enabled });
  }

  /** What the claim was granted. Nothing if its lanes were not looked at. */
  async claim(wish: ClaimWish = {}): Promise<readonly Grant[]> {
    return (await this.rawClaim(wish))?.grants ?? [];
  }

  /** The store's own answer: undefined when the lanes were not looked at. */
  async rawClaim(wish: ClaimWish = {}): Promise<ClaimAnswer | undefined> {
    const max = wish.max ?? 1;
    const lanes = wish.task === undefined ? (wish.lanes ?? [await this.lane()]) : [];
    const [answer] = await this.store.taskClaim({
      claims: [
        {
          holder: wish.holder ?? (await this.worker()),
          ttlMs: wish.ttlMs ?? TTL,
          max,
          lanes: lanes.map((lane) => ({ lane, max })),
          ...(wish.task === undefined ? {} : { task: wish.task }),
          ...(wish.op === undefined ? {} : { op: wish.op }),
        },
      ],
    });
    return answer;
  }

  async claimOne(wish: ClaimWish = {}): Promise<Grant> {
    const [grant] = await this.claim({ ...wish, max: 1 });
    assert.ok(grant, 'there was nothing to claim');
    return grant;
  }

  /** A task that runs, alone in a lane of its own kind. */
  async running(wish: Wish = {}, claim: ClaimWish = {}): Promise<Grant> {
    const item = await this.draft(wish);
    const task = await this.push(item);
    const grant = await this.claimOne({ lanes: [item.lane], ...claim });
    assert.equal(grant.task, task, 'another task was claimed');
    return grant;
  }

  async settle(lease: Lease, to: FinalState, more: { reason?: Reason; result?: string } = {}): Promise<SettleAnswer> {
    const { task, attempt } = lease;
    const [answer] = await this.store.taskSettle({
      items: [{ task, attempt, to, reason: 'none', ...more }],
    });
    return answer as SettleAnswer;
  }

  async giveBack(lease: Lease, more: Partial<ReturnItem> = {}): Promise<SettleAnswer> {
    const { task, attempt } = lease;
    const [answer] = await this.store.taskReturn({
      items: [{ change: 'retried', delayMs: 0, refund: false, bounced: false, ...more, task, attempt }],
    });
    return answer as SettleAnswer;
  }

  async get(task: number): Promise<TaskRecord> {
    const [record] = await this.store.taskGet({ tasks: [task] });
    assert.ok(record, `task ${task} is not there`);
    return record;
  }

  async stats(queue = 'mail'): Promise<QueueStats> {
    const stats = await this.store.queueStats({ queue });
    assert.ok(stats, `queue ${queue} is not known`);
    return stats;
  }

  /** A page of the feed, with all that has happened. Events of tasks only: no case here announces a worker. */
  async eventPage(query: {
    readonly after: number;
    readonly limit: number;
  }): Promise<Omit<EventPage, 'events'> & { readonly events: readonly TaskEvent[] }> {
    await numberEvents(this.store);
    const page = await this.store.eventRead(query);
    const events = page.events.filter(isTaskEvent);
    assert.equal(events.length, page.events.length);
    return { ...page, events };
  }

  async duty(name = 'reaper', ttlMs = HOUR): Promise<DutyTenure> {
    const term = await this.store.dutyTake({ name, holder: 'this process', ttlMs });
    assert.ok(term, `the duty ${name} is taken`);
    return term;
  }

  /** Takes over everything that is overdue, as `to` says; returns how many. */
  async reap(duty: DutyTenure, to: 'again' | 'failed' | 'cancelled' = 'again', delayMs = 0): Promise<number> {
    const { leases } = await this.store.leaseOverdue({ limit: 1000 });
    const reason = to === 'again' ? 'none' : to === 'failed' ? 'exhausted' : 'requested';
    const items = leases.map(({ task, attempt }) => ({ task, attempt, to, reason, delayMs }) as const);
    return (await this.store.leaseReap({ duty, items })).reaped;
  }

  /** What is overdue, and when the next lease will be, without the fields that only some stores have. */
  async overdue(limit: number): Promise<Pick<Overdue, 'leases' | 'nextInMs'>> {
    const { leases, nextInMs } = await this.store.leaseOverdue({ limit });
    return { leases: leases.map(({ heldForMs: _held, ...lease }) => lease), nextInMs };
  }

  /** Prunes until the walk has come round. */
  async prune(duty: DutyTenure, retentionMs: number, limit = 500): Promise<{ tasks: number; events: number }> {
    this.forgets = true;
    await numberEvents(this.store);
    const sum = { tasks: 0, events: 0 };
    for (let step = 0; step < 1000; step++) {
      const answer: PruneAnswer = await this.store.taskPrune({ duty, retentionMs, limit });
      sum.tasks += answer.tasks;
      sum.events += answer.events;
      if (answer.done) return sum;
    }
    return assert.fail('the pruner never comes round');
  }

  look(): Promise<Snapshot> {
    return lookAt(this.store);
  }

  /** Runs something that must change nothing, and returns its answer. */
  async unchanged<T>(act: () => Promise<T>): Promise<T> {
    const before = await this.look();
    const answer = await act();
    assert.deepEqual(await this.look(), before, 'something changed that must not');
    return answer;
  }

  /** Opens the same data again, as another process would. */
  async reopen(): Promise<Store> {
    assert.ok(this.#tools.reopen, 'this case needs `reopen`');
    const other = await this.#tools.reopen(this.store);
    this.#opened.push(other);
    return other;
  }

  async caller(): Promise<CallerHandle> {
    assert.ok(this.#tools.caller, 'this case needs `caller`');
    const handle = await this.#tools.caller(this.store);
    this.#handles.push(handle);
    return handle;
  }

  async checkBooks(): Promise<void> {
    checkBooks(await this.look(), { forgets: this.forgets });
  }

  async close(): Promise<void> {
    for (const handle of this.#handles) await handle.close();
    for (const store of this.#opened) await store.close();
    await this.store.close();
  }
}

/** The code of the error that a promise is rejected with. */
export async function refusal(promise: Promise<unknown>): Promise<ErrorCode> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isEngineError(error), `not an error of ours: ${String(error)}`);
    return error.code;
  }
  return assert.fail('it was not refused');
}
