import { fault } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';
import { approvalChannel, ownerOf } from '../../core/task/channel.ts';
import { entryBytes, MAX_JOURNAL_BYTES, MAX_JOURNAL_ENTRIES } from '../../core/task/journal-bound.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { TaskState } from '../../core/task/task.ts';
import type {
  BudgetNews,
  EntryAnswer,
  NewChild,
  NewEntry,
  Store,
  Then,
  Turn,
  TurnAnswer,
  TurnOutcome,
  TurnRefusal,
} from '../../store/store.ts';
import { checkLease } from '../check.ts';
import type { Batcher, Coalescer } from '../coalescer.ts';
import type { Pushed, TaskInterner } from '../push/pushes.ts';
import type { Spawns } from '../trees/spawns.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import type { HeldLease, Settles } from './settles.ts';
import { type CheckedEntry, type CheckedThen, type CheckedTurn, checkTurn, type TurnRequest } from './turn-request.ts';
import { WriteBudget, type Written } from './write-budget.ts';

/** The result of a turn. */
export interface TurnResult {
  readonly went: TurnOutcome;
  /** Only of a task that has ended or was given back. */
  readonly state?: TaskState | undefined;
  /** JSON text of the signal that woke the task. */
  readonly body?: string | undefined;
  /** Of a signal on one of the `others`: the key of that one. */
  readonly key?: string | undefined;
  readonly cancelRequested: boolean;
  /** In the order of the entries. Undefined: the task has ended instead. */
  readonly entries: readonly (EntryResult | undefined)[];
  /** Of a turn that drew or has spent, if its tree has a budget. */
  readonly budget?: BudgetNews;
}

export interface EntryResult {
  /** The JSON text that counts under the key: the first one that was ever written. For a child: its id and number. */
  readonly text: string;
  readonly child?: Pushed;
}

export interface TurnsDeps {
  readonly store: Pick<Store, 'taskTurn' | 'journalSize' | 'capabilities'>;
  readonly coalescer: Coalescer;
  readonly tasks: TaskInterner;
  readonly spawns: Spawns;
  readonly settles: Settles;
  readonly onDue: (inMs: number) => void;
  /** Tasks became ready; their lanes are not known. */
  readonly onWoken: () => void;
  /** The task is ready again; its lane is not always known. */
  readonly onReady: (lane: number | undefined, priority: number | undefined) => void;
  /** What a task of this lane took from its limits is free again. */
  readonly onFreed: (lane: number) => void;
  readonly onCommit: (task: number) => void;
  readonly onSettled: (lease: Lease, state: TaskState) => void;
  /** The lease is lost, or has ended. */
  readonly onRefused: (lease: Lease, what: 'report') => void;
}

/** Written to one journal between two looks at its size. */
const UNREAD = { entries: 1000, bytes: 512 * 1024 };
const MOST = { entries: MAX_JOURNAL_ENTRIES, bytes: MAX_JOURNAL_BYTES };

/**
 * Commits turns of attempts: journal entries, children, signals, log lines, and how the attempt goes on. A turn is committed as a whole or
 * not at all, under the fence.
 */
export class Turns {
  readonly #deps: TurnsDeps;
  readonly #batcher: Batcher<Turn, TurnAnswer>;
  /** By task. */
  readonly #budget: WriteBudget;
  /** Turns of one attempt are committed in the order of the calls. */
  readonly #mutex = new KeyedMutex();

  constructor(deps: TurnsDeps) {
    this.#deps = deps;
    this.#budget = new WriteBudget({
      most: MOST,
      unread: UNREAD,
      read: (key) => deps.store.journalSize({ task: Number(key) }),
    });
    this.#batcher = deps.coalescer.batcher({
      name: 'turn',
      maxItems: 250,
      maxBytes: 1_048_576,
      sizeOf,
      maxInFlight: 2,
      send: (items) => deps.store.taskTurn({ items }),
    });
  }

  async turn(lease: HeldLease, request: TurnRequest): Promise<TurnResult> {
    checkLease(lease);
    const checked = checkTurn(request);
    return this.#mutex.take(lease.task, () => this.#send(lease, checked));
  }

  async #send(lease: HeldLease, checked: CheckedTurn): Promise<TurnResult> {
    const { entries, then: requested } = checked;
    if (requested.go === 'park' && requested.children?.includes(lease.task)) throw refuseSelf();
    // Not awaited where it need not be: the call then leaves in this turn of the loop.
    const fits = entries.length === 0 || this.#budget.admit(String(lease.task), sizeOfEntries(entries));
    if (fits !== true && !(await fits)) throw tooMuch();
    const then =
      requested.go === 'on' || requested.go === 'park'
        ? withChannel(lease, requested)
        : await this.#deps.settles.thenOf(lease, requested);
    const childCount = entries.filter(isChild).length;
    if (childCount === 0) return this.#commit(lease, entries as readonly NewEntry[], checked, then);
    const refund = await this.#deps.spawns.admit(lease, childCount);
    let fresh = 0;
    try {
      const turned = await this.#commit(lease, await this.#place(lease, entries), checked, then);
      fresh = turned.entries.filter((entered) => entered?.child?.fresh).length;
      return turned;
    } finally {
      refund(childCount - fresh);
    }
  }

  async #commit(
    lease: HeldLease,
    placed: readonly NewEntry[],
    { logs, draw, spend }: CheckedTurn,
    then: Then,
  ): Promise<TurnResult> {
    const { task, attempt, lane, createdAt } = lease;
    const hint = lane === undefined || createdAt === undefined ? undefined : { lane, createdAt };
    const answer = await this.#batcher.submit({ task, attempt, hint, entries: placed, logs, draw, spend, then });
    if (answer.kind === 'lost') {
      this.#deps.onRefused(lease, 'report');
      throw fault('LEASE_LOST', { task, attempt });
    }
    if (answer.kind === 'refused') throw refusal(placed, answer.key, answer.why);
    const { went, body, key, cancelRequested, budget } = answer;
    if (went !== 'on' || placed.some(isVisible)) this.#giveHints(lease, placed, then, went);
    const state = stateOf(then, went);
    const left = went === 'parked' ? 'waiting' : state;
    if (left !== undefined) this.#deps.onSettled(lease, left);
    const turned = { went, body, cancelRequested, state, entries: this.#entered(placed, answer.entries) };
    return { ...turned, ...(key === undefined ? {} : { key }), ...(budget === undefined ? {} : { budget }) };
  }

  async #place(lease: HeldLease, entries: readonly CheckedEntry[]): Promise<readonly NewEntry[]> {
    const placed: NewEntry[] = [];
    for (const entry of entries) {
      if (!isChild(entry)) placed.push(entry);
      else placed.push({ ...entry, task: await this.#deps.spawns.place(lease, entry.task) });
    }
    return placed;
  }

  /** Hints, after the commit. */
  #giveHints(lease: HeldLease, entries: readonly NewEntry[], then: Then, went: TurnOutcome): void {
    const { lane, priority, task } = lease;
    if (entries.some(({ kind }) => kind === 'signal')) this.#deps.onWoken();
    if (went !== 'on' && went !== 'woken' && lane !== undefined) this.#deps.onFreed(lane);
    if (went === 'parked' && then.go === 'park' && then.timeoutMs !== undefined) this.#deps.onDue(then.timeoutMs);
    if (went === 'back' && then.go === 'back') {
      if (then.delayMs > 0) this.#deps.onDue(then.delayMs);
      else this.#deps.onReady(lane, priority);
    }
    this.#deps.onCommit(task);
  }

  #entered(entries: readonly NewEntry[], answers: readonly EntryAnswer[]): readonly (EntryResult | undefined)[] {
    if (!entries.some(isChild)) return entries.map((entry, i) => entered(entry, answers[i] as EntryAnswer, undefined));
    const spawned = entries.flatMap((entry, i) => {
      const answer = answers[i] as EntryAnswer;
      return entry.kind === 'child' && answer.kind === 'child'
        ? [{ entry, answer: { ...answer, ok: true } as const }]
        : [];
    });
    const pushed = this.#deps.tasks.pushed(
      spawned.map(({ entry }) => entry.task),
      spawned.map(({ answer }) => answer),
    );
    const children = new Map(spawned.map(({ entry }, i) => [entry as NewEntry, pushed[i] as Pushed]));
    return entries.map((entry, i) => entered(entry, answers[i] as EntryAnswer, children.get(entry)));
  }
}

/** The channel of an approval is made here: no worker can name that of another task. */
function withChannel({ task }: HeldLease, then: CheckedThen & { readonly go: 'on' | 'park' }): Then {
  if (then.go === 'on' || (then.form === undefined && then.others === undefined)) return then;
  const made = (key: string): string => checkKey('channel', approvalChannel(task, key));
  const others = then.others?.map((other) =>
    other.form === undefined ? other : { ...other, channel: made(other.key) },
  );
  const foreign = others?.find(({ channel }) => ownerOf(channel) !== task);
  if (foreign !== undefined)
    throw fault('INVALID_INPUT', {
      field: 'then.others',
      problem: `${foreign.channel} is no channel of this task: those begin with its id and a colon`,
    });
  return {
    ...then,
    ...(then.form === undefined ? {} : { channel: made(then.key) }),
    ...(others === undefined ? {} : { others }),
  };
}

const isChild = <T extends { readonly kind: string }>(entry: T): entry is Extract<T, { readonly kind: 'child' }> =>
  entry.kind === 'child';

/** Entries that other tasks can see. */
const isVisible = ({ kind }: { readonly kind: string }): boolean => kind === 'child' || kind === 'signal';

function entered(entry: NewEntry, answer: EntryAnswer, child: Pushed | undefined): EntryResult | undefined {
  if (answer.kind === 'none') return undefined;
  if (child !== undefined) return { text: JSON.stringify({ id: child.id, task: child.task }), child };
  if (entry.kind === 'child') {
    throw fault('CONFLICT', { problem: `the key ${entry.key} is taken by an entry that is not a child` });
  }
  if (answer.kind === 'kept') return { text: answer.value };
  return { text: entry.kind === 'signal' ? 'null' : entry.value };
}

function stateOf(then: Then, went: TurnOutcome): TaskState | undefined {
  if (went === 'cancelled') return 'cancelled';
  if (went === 'ended' && then.go === 'end') return then.to;
  return went === 'back' && then.go === 'back' ? (then.delayMs > 0 ? 'scheduled' : 'ready') : undefined;
}

function refusal(entries: readonly NewEntry[], key: string, why: TurnRefusal): Error {
  if ('limit' in why) return fault('LIMIT_REACHED', { limit: why.limit, key: why.key, entry: key });
  if ('circle' in why)
    return refuseCircle('what it would wait for waits for this task itself, directly or through others');
  if ('unknown' in why) return fault('NOT_FOUND', { kind: 'task', id: why.unknown });
  const child = entries.find((entry) => entry.key === key) as NewChild | undefined;
  return fault('UNIQUE_CONFLICT', { key: child?.task.unique?.key, task: why.conflict, entry: key });
}

function refuseSelf(): Error {
  return fault('INVALID_INPUT', { field: 'then.children', problem: 'a task cannot wait for itself' });
}

function refuseCircle(problem: string): Error {
  return fault(
    'INVALID_INPUT',
    { field: 'then.children', problem: `${problem}, so neither would ever go on` },
    { hint: 'Wait for another task, or with a timeout; a parent that waits for its child cannot be waited for by it.' },
  );
}

/** The value of a child is a time, and a signal has none. */
function sizeOfEntries(entries: readonly CheckedEntry[]): Written {
  let bytes = 0;
  for (const entry of entries) bytes += 'value' in entry ? entryBytes(entry) : entryBytes({ key: entry.key });
  return { entries: entries.length, bytes };
}

function tooMuch(): Error {
  return fault(
    'TOO_LARGE',
    { field: 'journal of the task', maxBytes: MAX_JOURNAL_BYTES },
    {
      hint: `The checkpoints of a task have at most ${MAX_JOURNAL_BYTES / 1024 / 1024} MiB and ${MAX_JOURNAL_ENTRIES.toLocaleString('en')} entries. Keep large results elsewhere, or give the rest of the work to a child.`,
    },
  );
}

function sizeOf({ entries, logs = [], then }: Turn): number {
  let size = then.go === 'end' ? (then.result?.length ?? 0) : 0;
  for (const entry of entries) {
    size +=
      entry.kind === 'child'
        ? entry.task.payload.length
        : entry.kind === 'signal'
          ? entry.body.length
          : entry.value.length;
  }
  for (const { text } of logs) size += text.length;
  return size;
}
