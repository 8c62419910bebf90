import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isEngineError } from '../../src/core/errors.ts';
import { isTaskEvent, type TaskEvent } from '../../src/core/task/event.ts';
import type { TaskState } from '../../src/core/task/task.ts';
import type { World } from '../../src/core/world.ts';
import { Roster } from '../../src/engine/duties/roster.ts';
import { Engine } from '../../src/engine/engine.ts';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import type { StatementTexts } from '../../src/store/sqlite/statements.ts';
import type { AttemptRecord, CallerTransaction, DutyTerm, Grant, Store } from '../../src/store/store.ts';
import { Model } from './model.ts';
import { ANY_TEXT, isFinal, isLegalMove, leaseName, type ModelTask, must } from './model-parts.ts';
import { compareTask, sameNote, tell } from './records.ts';
import { settle, VirtualHost } from './world.ts';

export type StoreKind = 'memory' | 'file' | 'postgres';

/** The caller's own transaction on the same data. */
export interface Caller {
  readonly tx: CallerTransaction;
  readonly begin: () => void | Promise<void>;
  readonly commit: () => void | Promise<void>;
  readonly rollback: () => void | Promise<void>;
}

/** How often each rare path was reached, over all runs. */
export class Gates {
  readonly counts = new Map<string, number>();

  reach(name: string, times = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + times);
  }
}

/** One process of the host: its own connection, engine and duties on the shared data. */
export interface Process {
  readonly store: Store;
  readonly engine: Engine;
  readonly roster: Roster;
  readonly kill: () => void;
}

export const START_WALL = Date.UTC(2027, 2, 1, 12);
const START_MONOTONIC = 5_000_000;
const READ_PAGE = 1000;
const FOR_EVER_MS = 1e12;
/** How long a write waits for others; short, because the waiting is tried out. */
export const BUSY_MS = 300;

/**
 * Two processes on one store, the model beside them, and the comparison of the two. A run's data is gone when it ends.
 */
export class Rig {
  readonly gates: Gates;
  readonly host: VirtualHost;
  readonly model: Model;
  readonly workers: readonly number[];
  /** Every lease that the engine handed out, as it was handed out. */
  readonly leases: Grant[] = [];
  /** The whole feed as it was read, one operation after the other. */
  readonly feed: TaskEvent[] = [];
  /** Tasks as the feed alone tells of them. */
  readonly told = new Map<number, { state: TaskState; attempt: number }>();
  /** The process that reads for the comparisons: by its own writes its cache is warm. */
  reader = 0;
  /** The number of the oldest event that is still kept. */
  firstKept = 1;
  /** The last call of a worker that took effect, for an exact repeat. */
  lastCall: (() => Promise<void>) | undefined;
  readonly #ground: Ground;
  readonly #place: string;
  readonly #left: Store[] = [];
  readonly #checked = new Set<number>();
  #processes: [Process, Process];
  #raw: DatabaseSync | undefined;
  #boots = 1;
  #feedTerm: DutyTerm | undefined;

  private constructor(setup: {
    ground: Ground;
    gates: Gates;
    place: string;
    host: VirtualHost;
    workers: readonly number[];
    processes: [Process, Process];
    raw: DatabaseSync | undefined;
  }) {
    this.#ground = setup.ground;
    this.gates = setup.gates;
    this.host = setup.host;
    this.workers = setup.workers;
    this.#place = setup.place;
    this.#processes = setup.processes;
    this.#raw = setup.raw;
    const { wall, monotonic } = this.host;
    this.model = new Model({ wall, monotonic, workers: this.workers });
  }

  static async open(ground: Ground, gates: Gates): Promise<Rig> {
    const host = new VirtualHost(START_WALL, START_MONOTONIC);
    const { place, workers, raw } = await ground.lay();
    const open = (): Promise<Process> => ground.start(place, host, 1);
    const processes: [Process, Process] = [await open(), await open()];
    const known = workers.length > 0 ? workers : await registerWorkers(processes[0].store);
    return new Rig({ ground, gates, place, host, workers: known, processes, raw });
  }

  process(n: number): Process {
    return this.#processes[n] as Process;
  }

  engine(n: number): Engine {
    return this.process(n).engine;
  }

  store(n: number): Store {
    return this.process(n).store;
  }

  nameOf(worker: number): string {
    return WORKER_NAMES[this.workers.indexOf(worker)] as string;
  }

  /** A connection of somebody else to the same data. */
  raw(): DatabaseSync {
    this.#raw ??= new DatabaseSync(this.#place, { timeout: 0 });
    return this.#raw;
  }

  /** Somebody else who pushes inside a transaction of their own. */
  async caller(): Promise<Caller> {
    if (this.kind === 'postgres') return this.#ground.caller();
    const tx = this.raw();
    const ask = (sql: string) => (): void => tx.exec(sql);
    return { tx, begin: ask('BEGIN IMMEDIATE'), commit: ask('COMMIT'), rollback: ask('ROLLBACK') };
  }

  get kind(): StoreKind {
    return this.#ground.kind;
  }

  get inFile(): boolean {
    return this.kind === 'file';
  }

  // Time

  async advance(ms: number): Promise<void> {
    if (this.kind === 'postgres') {
      // What is on its way still belongs to the time before.
      await this.settle();
      await this.#ground.setClock(this.#place, this.model.wall + ms);
    }
    this.host.advance(ms);
    this.model.advance(ms);
  }

  async setWall(by: number): Promise<void> {
    this.host.setWall(by);
    // A server has a clock of its own.
    if (this.kind === 'postgres') return this.model.setHost(by);
    // A process notices with its next write, so both write something that the model does not know of.
    for (const n of [0, 1]) await this.store(n).workerBeat({ beats: this.workers.map((worker) => ({ worker })) });
    this.model.setWall(by);
  }

  /** Lets everything that is under way go on as far as it can without the clock. */
  settle(): Promise<void> {
    return this.#ground.settle();
  }

  // Processes come and go

  /** Ends a process in order, or by dropping it where it stands, and starts another one in its place. */
  async restart(n: number, how: 'closed' | 'crashed'): Promise<void> {
    const { store, engine, kill } = this.process(n);
    if (how === 'closed') {
      await store.close();
      const refused = await outcome(engine.push({ queue: 'alpha', handler: 'run' }));
      must('error' in refused && refused.error === 'STORE_CLOSED', 'a closed store took a push');
    } else this.#left.push(store);
    kill();
    this.#processes[n] = await this.#start();
    this.model.processes[n] = this.model.newProcess();
  }

  /** The host goes down with everything on it, and comes back later by the calendar. */
  async reboot(wallMs: number): Promise<void> {
    for (const { store, kill } of this.#processes) {
      this.#left.push(store);
      kill();
    }
    this.host.reboot();
    this.host.setWall(wallMs);
    this.model.reboot(this.host.monotonic, wallMs);
    this.#boots++;
    this.#processes = [await this.#start(), await this.#start()];
  }

  #start(): Promise<Process> {
    return this.#ground.start(this.#place, this.host, this.#boots);
  }

  async close(): Promise<void> {
    for (const store of [...this.#left, ...this.#processes.map(({ store }) => store)]) await store.close();
    this.#raw?.close();
    if (this.inFile) for (const suffix of ['', '-wal', '-shm']) rmSync(this.#place + suffix, { force: true });
  }

  // Comparing

  /** Reads what the operation put into the feed, and holds it against what the model says it should have. */
  async compareFeed(): Promise<readonly TaskEvent[]> {
    const fresh = await this.readNew();
    this.judgeNotes(fresh);
    return fresh;
  }

  async readNew(): Promise<readonly TaskEvent[]> {
    await this.#number();
    const fresh: TaskEvent[] = [];
    for (;;) {
      const after = this.feed.length + fresh.length;
      const page = await this.store(this.reader).eventRead({ after, limit: READ_PAGE });
      must(!page.reset, `the feed was reset at its end, after ${after}`);
      must(page.events.every(isTaskEvent), 'the feed tells of a worker');
      fresh.push(...page.events.filter(isTaskEvent));
      if (page.events.length < READ_PAGE) return fresh;
    }
  }

  /** Where that is somebody's duty. In batches of every size, by either process. */
  async #number(): Promise<void> {
    const store = this.store(this.reader);
    if (store.capabilities.numbersEvents) return;
    this.#feedTerm ??= await store.dutyTake({ name: 'feed', holder: 'rig', ttlMs: FOR_EVER_MS });
    const duty = this.#feedTerm;
    must(duty !== undefined, 'somebody else numbers the events');
    const limit = [500, 1, 3, 17][this.feed.length % 4] as number;
    while ((await store.eventNumber({ duty, limit })).more);
  }

  judgeNotes(fresh: readonly TaskEvent[]): void {
    const { notes } = this.model;
    for (const [i, event] of fresh.entries()) {
      const seq = this.feed.length + 1;
      must(event.seq === seq, `event ${seq} is missing: after ${seq - 1} came ${event.seq}`);
      this.feed.push(event);
      this.#replay(event);
      // Only the order within a task is promised.
      const at = notes.findIndex(({ task }) => task === event.task);
      const note = notes[at];
      must(
        note !== undefined && sameNote(note, event),
        `event ${i + 1} of the operation is ${tell(event)}, not ${note === undefined ? 'any that should be' : tell(note)}`,
      );
      notes.splice(at, 1);
      this.#checked.delete(event.task);
    }
    const missing = notes[0];
    must(missing === undefined, `the feed lacks ${missing && tell(missing)}`);
  }

  /** The feed alone must tell where every task stands, by legal steps only, and each attempt must be granted once. */
  #replay(event: TaskEvent): void {
    const before = this.told.get(event.task);
    must(
      isLegalMove(event.change, before?.state, event.state),
      `the feed moves task ${event.task} from ${before?.state} to ${event.state} by ${event.change}`,
    );
    const grown = event.change === 'claimed' ? 1 : 0;
    must(
      event.attempt === (before?.attempt ?? 0) + grown,
      `the feed tells of attempt ${leaseName(event.task, event.attempt)} after ${before?.attempt}`,
    );
    const task = this.model.tasks.get(event.task);
    must(task !== undefined, `the feed tells of task ${event.task}, which should not exist`);
    must(event.queue === task.queue, `the feed puts task ${event.task} into ${event.queue}`);
    must(event.createdAt === task.createdAt, `the feed says that task ${event.task} was created at ${event.createdAt}`);
    this.told.set(event.task, { state: event.state, attempt: event.attempt });
  }

  requireIntegrity(): void {
    const rows = this.raw().prepare('PRAGMA integrity_check').all() as { integrity_check: string }[];
    must(rows[0]?.integrity_check === 'ok', `the file is damaged: ${rows[0]?.integrity_check}`);
  }

  /** Every record, every counter, every duty and trigger. */
  async compareAll(): Promise<void> {
    const { model } = this;
    const store = this.store(this.feed.length % 2);
    const records = await store.taskList({ limit: 10_000 });
    must(records.length === model.tasks.size, `there are ${records.length} tasks, not ${model.tasks.size}`);
    for (const record of records) {
      const task = model.tasks.get(record.task);
      must(task !== undefined, `task ${record.task} should not exist`);
      compareTask(record, task, model.keys.get(`${task.queue} ${task.key}`)?.task === task.id ? task.key : undefined);
      const told = this.told.get(task.id);
      must(
        told?.state === record.state && told.attempt === record.attempt,
        `the feed leaves task ${task.id} ${told?.state}, and it is ${record.state}`,
      );
    }
    for (const [task, { state }] of this.told) {
      must(model.tasks.has(task) || isFinal(state), `task ${task} is gone, and the feed left it ${state}`);
    }
    for (const task of model.tasks.values()) {
      if (task.attempt > 0 && !this.#checked.has(task.id)) await this.#compareAttempts(store, task);
    }
    await this.#compareQueues(store);
    await this.#compareTriggers(store);
    for (const { worker, enabled } of await store.workerList()) {
      must(enabled === model.workers.get(worker)?.enabled, `worker ${worker} is ${enabled ? 'enabled' : 'disabled'}`);
    }
  }

  /** Attempts change only with their task, so each is looked at once after each change. */
  async #compareAttempts(store: Store, task: ModelTask): Promise<void> {
    this.#checked.add(task.id);
    const rows = await store.attemptList({ task: task.id });
    must(rows.length === task.attempts.length, `task ${task.id} has ${rows.length} ended attempts`);
    for (const [i, want] of task.attempts.entries()) {
      const row = rows[i] as AttemptRecord;
      const error = want.error === ANY_TEXT ? ANY_TEXT : row.error;
      const have = JSON.stringify([row.attempt, row.holder, row.startedAt, row.endedAt, row.outcome, error]);
      const due = JSON.stringify([want.attempt, want.worker, want.startedAt, want.endedAt, want.outcome, want.error]);
      must(have === due, `an attempt of task ${task.id} is told as ${have}, not ${due}`);
    }
  }

  async #compareQueues(store: Store): Promise<void> {
    const rows = await store.queueList();
    for (const [name, queue] of this.model.queues) {
      const row = rows.find((other) => other.name === name);
      must(row !== undefined, `queue ${name} is missing`);
      must(row.paused === (queue.paused !== undefined), `queue ${name} is ${row.paused ? 'paused' : 'open'}`);
      const [have, want] = [JSON.stringify(row.stats), JSON.stringify(queue.stats)];
      must(have === want, `the counters of ${name} are ${have}, not ${want}`);
    }
  }

  async #compareTriggers(store: Store): Promise<void> {
    const rows = (await store.triggerList()).map((row) => `${row.name} at ${row.nextAt}`);
    const want = [...this.model.triggers.values()].map((trigger) => `${trigger.name} at ${trigger.nextAt}`).sort();
    must(rows.join() === want.join(), `the triggers are ${rows.join()}, not ${want.join()}`);
  }
}

// The ground that runs stand on

/** Where the data of a run comes from: a new memory, or a copy of one fresh file, which saves two thousand migrations. */
export class Ground {
  readonly kind: StoreKind;
  readonly folder: string;
  /** Other texts for some statements: defects, to see that they are found. */
  readonly statements: Partial<StatementTexts>;
  #workers: readonly number[] = [];
  #laid = 0;

  constructor(kind: StoreKind, statements: Partial<StatementTexts> = {}) {
    this.kind = kind;
    this.statements = statements;
    this.folder = mkdtempSync(join(tmpdir(), 'leasehold-properties-'));
  }

  async lay(): Promise<{ place: string; workers: readonly number[]; raw: DatabaseSync | undefined }> {
    const name = `${++this.#laid}-${this.folder.slice(-6)}`;
    if (this.kind === 'memory') {
      // A memory goes when its last connection does; this one keeps it over the processes' restarts.
      const raw = new DatabaseSync(`file:/leasehold-${name}?vfs=memdb`, { timeout: 0 });
      return { place: `memory:${name}`, workers: [], raw };
    }
    const fresh = join(this.folder, 'fresh.db');
    if (this.#workers.length === 0) {
      const host = new VirtualHost(START_WALL, START_MONOTONIC);
      const { store } = await start(fresh, host, 1, {});
      this.#workers = await registerWorkers(store);
      await store.close();
    }
    const place = join(this.folder, `${name}.db`);
    copyFileSync(fresh, place);
    return { place, workers: this.#workers, raw: undefined };
  }

  remove(): void | Promise<void> {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** One more process on the data. */
  start(place: string, host: VirtualHost, boot: number): Promise<Process> {
    return start(place, host, boot, this.statements);
  }

  // What only a server needs

  settle(): Promise<void> {
    return settle();
  }

  async setClock(_place: string, _now: number): Promise<void> {}

  async caller(): Promise<Caller> {
    throw new Error('a store on a file or in memory has a handle');
  }
}

async function start(
  file: string,
  host: VirtualHost,
  boot: number,
  statements: Partial<StatementTexts>,
): Promise<Process> {
  const { world, kill } = host.process();
  const store = await openSqlite({
    file,
    world,
    statements,
    housekeeping: false,
    busyDeadlineMs: BUSY_MS,
    boot: `boot ${boot}`,
  });
  return processOf(store, world, kill);
}

export function processOf(store: Store, world: World, kill: () => void): Process {
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: `process ${++started}` });
  return { store, engine, roster, kill };
}

let started = 0;

const WORKER_NAMES = ['first', 'second'];

function registerWorkers(store: Store): Promise<readonly number[]> {
  return Promise.all(WORKER_NAMES.map((name) => store.workerRegister({ name, incarnation: name, slots: 8, tags: [] })));
}

// Answers

export type Answer<T> = { readonly value: T } | { readonly error: string };

/** The value or the code of the refusal; whatever is no refusal of the engine's own is a defect. */
export async function outcome<T>(promise: Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await promise };
  } catch (error) {
    if (isEngineError(error) && error.code !== 'INTERNAL') return { error: error.code };
    throw error;
  }
}

export async function refused(promise: Promise<unknown>, code: string): Promise<void> {
  const answer = await outcome(promise);
  must('error' in answer && answer.error === code, `the answer is ${JSON.stringify(answer)}, not ${code}`);
}
