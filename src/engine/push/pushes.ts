import { fault } from '../../core/errors.ts';
import type { IdCodec } from '../../core/ids.ts';
import type { TaskState } from '../../core/task/task.ts';
import type { CallerTransaction, NewTask, PushAnswer, Store } from '../../store/store.ts';
import type { Batcher, Coalescer } from '../coalescer.ts';
import type { Interner } from './interner.ts';
import { type Draft, draft, type PushRequest } from './push.ts';
import { isHeavy, type Weights } from './weights.ts';

export interface Pushed {
  readonly task: number;
  readonly id: string;
  readonly createdAt: number;
  readonly state: TaskState;
  /** False when the unique key or the operation id led to an existing task. */
  readonly fresh: boolean;
}

export interface PushesDeps {
  readonly store: Pick<Store, 'taskPush' | 'taskPushIn' | 'capabilities'>;
  readonly coalescer: Coalescer;
  readonly interner: Interner;
  readonly weights: Weights;
  readonly ids: IdCodec;
  /** A unique key cannot be held for longer than its task is kept. */
  readonly maxUniqueMs: number;
  /** A task for this lane is on its way: waiting claims can look now, and share the commit with the push. */
  readonly onComing: (lane: number, priority: number) => void;
  readonly onReady: (lane: number, priority: number) => void;
  readonly onDue: (inMs: number) => void;
  readonly onCommit: () => void;
}

/** Turns requests into tasks for the store, and its answers into those for callers. Graphs and turns use it. */
export interface TaskInterner {
  /** `depth`: how deep the task lies below the pushed one, for a task that another one spawns. */
  place(request: PushRequest, depth?: number): Promise<NewTask>;
  pushed(items: readonly NewTask[], answers: readonly (PushAnswer & { readonly ok: true })[]): readonly Pushed[];
}

/** Takes new tasks: checks them, finds their lanes and specs, and sends them in batches. */
export class Pushes implements TaskInterner {
  readonly #deps: PushesDeps;
  readonly #batcher: Batcher<NewTask, PushAnswer>;

  constructor(deps: PushesDeps) {
    this.#deps = deps;
    this.#batcher = deps.coalescer.batcher({
      name: 'push',
      maxItems: 1000,
      // A megabyte: 100 payloads of 1 MB in one transaction held the loop for 414 ms.
      maxBytes: 1_048_576,
      sizeOf: ({ payload }) => payload.length,
      maxInFlight: 2,
      send: (items) => deps.store.taskPush({ items }),
      sent: (items, answers) => this.#giveHints(items, answers),
    });
  }

  async push(request: PushRequest): Promise<Pushed> {
    const checked = this.#check(request);
    // No await on the hot path: the call must leave in this turn of the loop.
    const task = this.#placed(checked) ?? (await this.#place(checked));
    const sent = this.#batcher.submit(task);
    const { sharesCommits } = this.#deps.store.capabilities;
    if (sharesCommits && task.delayMs === undefined && task.runAt === undefined)
      this.#deps.onComing(task.lane, task.priority);
    const answer = await sent;
    return answer.ok ? this.#pushed(answer) : refuse(checked, answer);
  }

  /** All are checked before any is sent; they share their batches. */
  async pushMany(requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    const drafts = requests.map((request) => this.#check(request));
    const tasks: NewTask[] = [];
    for (const checked of drafts) tasks.push(this.#placed(checked) ?? (await this.#place(checked)));
    const answers = await this.#batcher.submitMany(tasks);
    return this.#pushedAll(drafts, answers);
  }

  /** Part of the caller's own transaction: the tasks exist if, and only if, the caller commits. */
  async pushIn(tx: CallerTransaction, requests: readonly PushRequest[]): Promise<readonly Pushed[]> {
    const { name, callerTransactions } = this.#deps.store.capabilities;
    if (!callerTransactions) {
      throw fault('INVALID_INPUT', {
        field: 'tx',
        problem: `a ${name} store cannot push within a transaction of the caller`,
      });
    }
    const drafts = requests.map((request) => this.#check(request));
    const items = drafts.map(({ queue, handler, rules, specBody, task }) => ({
      ...task,
      queue,
      handler,
      ...rules,
      specBody,
    }));
    return this.#pushedAll(drafts, await this.#deps.store.taskPushIn({ tx, items }));
  }

  async place(request: PushRequest, depth?: number): Promise<NewTask> {
    const checked = this.#check(request, depth);
    return this.#placed(checked) ?? this.#place(checked);
  }

  pushed(items: readonly NewTask[], answers: readonly (PushAnswer & { readonly ok: true })[]): readonly Pushed[] {
    this.#giveHints(items, answers);
    return answers.map((answer) => this.#pushed(answer));
  }

  #check(request: PushRequest, depth?: number): Draft {
    return draft(request, this.#deps.maxUniqueMs, depth);
  }

  #placed(checked: Draft): NewTask | undefined {
    const lane = this.#deps.interner.knownLane(checked);
    const spec = this.#deps.interner.knownSpec(checked.specBody);
    if (lane === undefined || spec === undefined || isHeavy(checked)) return undefined;
    checked.task.lane = lane;
    checked.task.spec = spec;
    return checked.task;
  }

  async #place(checked: Draft): Promise<NewTask> {
    const { interner, weights } = this.#deps;
    // In one turn of the loop: a new lane and a new spec cost one commit, not two.
    const [lane, spec] = await Promise.all([interner.lane(checked), interner.spec(checked.specBody)]);
    checked.task.lane = lane;
    checked.task.spec = spec;
    if (isHeavy(checked)) await weights.require(lane);
    return checked.task;
  }

  /** Gives hints after the commit: ready lanes, due times, the commit itself. */
  #giveHints(items: readonly NewTask[], answers: readonly PushAnswer[]): void {
    const lanes = new LaneHints();
    for (let i = 0; i < answers.length; i++) {
      const answer = answers[i] as PushAnswer;
      const item = items[i] as NewTask;
      if (!answer.ok || !answer.fresh) continue;
      const dueInMs = answer.state === 'ready' ? 0 : (item.delayMs ?? (item.runAt ?? 0) - answer.createdAt);
      if (answer.state === 'ready') lanes.note(item.lane, item.priority);
      else if (answer.state === 'scheduled') this.#deps.onDue(dueInMs);
      if (item.waitTimeoutMs !== undefined) this.#deps.onDue(dueInMs + item.waitTimeoutMs);
    }
    lanes.give(this.#deps.onReady);
    this.#deps.onCommit();
  }

  #pushed({ task, createdAt, state, fresh }: PushAnswer & { readonly ok: true }): Pushed {
    return { task, id: this.#deps.ids.encode('task_', task, createdAt), createdAt, state, fresh };
  }

  #pushedAll(drafts: readonly Draft[], answers: readonly PushAnswer[]): readonly Pushed[] {
    return answers.map((answer, i) => {
      if (answer.ok) return this.#pushed(answer);
      // The others are stored and stay. Their ids by place, so that the caller can follow them and push again only what is missing.
      const pushed = answers.map((one) => (one.ok ? this.#pushed(one).id : null));
      const stored = pushed.filter((id) => id !== null).length;
      return refuse(drafts[i] as Draft, answer, { index: i, stored, pushed });
    });
  }
}

/** The lanes of a batch, each with its highest priority. Most batches are of one lane, and need no map for it. */
class LaneHints {
  #lane: number | undefined;
  #priority = 0;
  #others: Map<number, number> | undefined;

  note(lane: number, priority: number): void {
    if (this.#lane === undefined || this.#lane === lane) {
      this.#priority = this.#lane === undefined ? priority : Math.max(priority, this.#priority);
      this.#lane = lane;
      return;
    }
    this.#others ??= new Map();
    this.#others.set(lane, Math.max(priority, this.#others.get(lane) ?? priority));
  }

  give(onReady: PushesDeps['onReady']): void {
    if (this.#lane !== undefined) onReady(this.#lane, this.#priority);
    if (this.#others !== undefined) for (const [lane, priority] of this.#others) onReady(lane, priority);
  }
}

/** An operation id stands for one push, whoever repeats it. */
export function otherContent(task: number, details: Readonly<Record<string, unknown>> = {}): Error {
  const problem = 'the operation id, or Idempotency-Key, was used for a push of another queue, handler or input';
  return fault('CONFLICT', { problem, task, ...details }, { hint: 'Use another key for other work.' });
}

function refuse(
  checked: Draft,
  answer: PushAnswer & { readonly ok: false },
  details: Readonly<Record<string, unknown>> = {},
): never {
  if ('limit' in answer) throw fault('LIMIT_REACHED', { limit: answer.limit, key: answer.key, ...details });
  const { conflict: task, byOp = false } = answer;
  if (byOp) throw otherContent(task, details);
  throw fault('UNIQUE_CONFLICT', { key: checked.task.unique?.key, queue: checked.queue, task, ...details });
}
