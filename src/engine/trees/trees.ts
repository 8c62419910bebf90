import { fault } from '../../core/errors.ts';
import { type CancelAct, isFinal, type RetryAct, type TaskState } from '../../core/task/task.ts';
import type { CancelAnswer, Planned, ReviveAnswer, Store, TaskRecord, TreeRecord } from '../../store/store.ts';
import { checkFlag, checkOptions, checkSignal, checkTask } from '../check.ts';
import { cancelChildren } from './cancel-children.ts';

export interface TreeOptions {
  /** Answers what would be done, and does nothing. */
  readonly dryRun?: boolean;
  /** Called as tasks are found, and then as they are handled. */
  readonly onProgress?: (progress: TreeProgress) => void;
  /** Stops between two steps; what was done by then stays done. */
  readonly signal?: AbortSignal;
}

export interface TreeProgress {
  readonly found: number;
  readonly done: number;
}

export type { CancelAct, RetryAct };

export interface TreeTask<Act> {
  readonly task: number;
  /** The public id. */
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
  /** The state before the change. */
  readonly state: TaskState;
  readonly act: Act;
}

/** A task of a tree, with its dependencies and parents in the tree. */
export interface TreeMember extends Omit<TreeTask<never>, 'act'> {
  /** Public ids of the tasks that it was made to wait for. */
  readonly after: readonly string[];
  /** Public ids of the tasks that have spawned it. */
  readonly spawnedBy: readonly string[];
}

export interface TreeAnswer<Act extends string> {
  /** In the order in which they were handled. */
  readonly tasks: readonly TreeTask<Act>[];
  readonly counts: Readonly<Record<Act, number>>;
  readonly dryRun: boolean;
}

export interface TreesDeps {
  readonly store: Pick<
    Store,
    'taskGet' | 'depDependents' | 'depNeeds' | 'treeList' | 'journalList' | 'taskCancel' | 'taskRevive'
  >;
  readonly idOf: (task: Pick<TaskRecord, 'task' | 'createdAt'>) => string;
  readonly onCancelled: (task: number, answer: CancelAnswer) => void;
  readonly onRevived: (lane: number) => void;
  readonly onCommit: () => void;
}

const OPTIONS: ReadonlySet<string> = new Set(['dryRun', 'onProgress', 'signal'] satisfies (keyof TreeOptions)[]);
/** Records per read; each comes with its payload. */
const READ_BATCH = 100;
/** Tasks per transaction. */
const BATCH = 250;
const MOST = 100_000;
/** Members of a tree per read. */
const PAGE = 1000;

type Node = Omit<TreeRecord, 'parent'>;

interface Tree {
  /** In the order in which they can be ended without waking another one. */
  readonly nodes: readonly Node[];
  /** Parent → its children. */
  readonly childrenOf: ReadonlyMap<number, readonly number[]>;
  readonly waits: readonly Planned[];
}

/** What a walk has read so far: tasks, and for each tree that it reached all members. */
class TreeReader {
  readonly nodes = new Map<number, Node>();
  readonly childrenOf = new Map<number, number[]>();
  readonly #store: TreesDeps['store'];
  readonly #roots = new Set<number>();

  constructor(store: TreesDeps['store']) {
    this.#store = store;
  }

  /** Reads tasks that are not known yet, and their trees. */
  async load(tasks: readonly number[]): Promise<void> {
    const roots = new Set<number>();
    for (const page of slices(
      tasks.filter((task) => !this.nodes.has(task)),
      READ_BATCH,
    )) {
      for (const record of await this.#store.taskGet({ tasks: page })) {
        if (record === undefined) continue;
        this.nodes.set(record.task, nodeOf(record));
        roots.add(record.root ?? record.task);
      }
    }
    for (const root of roots) if (!this.#roots.has(root)) await this.#tree(root);
  }

  async #tree(root: number): Promise<void> {
    this.#roots.add(root);
    for (let after = 0; ; ) {
      const page = await this.#store.treeList({ root, after, limit: PAGE });
      for (const { parent, ...node } of page) {
        this.nodes.set(node.task, node);
        append(this.childrenOf, parent, node.task);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      if (this.nodes.size > MOST) throw tooMany();
      after = last.task;
    }
  }
}

/**
 * A task, everything that was made to wait for it, and what any of these has spawned. A cancel begins at the far end, so that no end wakes
 * a task that is cancelled too. A retry begins at the near end, so that everything waits for what runs again with it.
 */
export class Trees {
  readonly #deps: TreesDeps;

  constructor(deps: TreesDeps) {
    this.#deps = deps;
  }

  /** All tasks of the tree, the given one first. */
  async show(root: number): Promise<readonly TreeMember[]> {
    const { report } = this.#begin(root, {});
    const { nodes, childrenOf, waits } = await this.#fromBelow(root, undefined, report);
    const ids = new Map(nodes.map((node) => [node.task, this.#deps.idOf(node)]));
    const idsOf = (tasks: readonly number[] | undefined): readonly string[] =>
      [...new Set(tasks)].flatMap((task) => ids.get(task) ?? []);
    const after = new Map<number, number[]>();
    for (const { up, down } of waits) append(after, down, up);
    const parents = new Map<number, number[]>();
    for (const [parent, children] of childrenOf) for (const child of children) append(parents, child, parent);
    const members = nodes.toReversed().map((node) => {
      const { task, queue, handler, state } = node;
      const id = ids.get(task) as string;
      return { task, id, queue, handler, state, after: idsOf(after.get(task)), spawnedBy: idsOf(parents.get(task)) };
    });
    // A task that has spawned the root may also depend on it; the root comes first all the same.
    return [...members.filter(({ task }) => task === root), ...members.filter(({ task }) => task !== root)];
  }

  /**
   * Cancels a task, everything that was made to wait for it, and what any of these has spawned. Running tasks are asked to stop, and
   * spawn nothing from then on.
   */
  async cancel(root: number, options: TreeOptions = {}): Promise<TreeAnswer<CancelAct>> {
    const { dryRun, report } = this.#begin(root, options);
    const seen = new Map<number, TreeTask<CancelAct>>();
    // The next look finds what is spawned meanwhile. A task that was asked to stop spawns no more, so the loop ends.
    for (let left = await this.#remaining(root, options.signal, report, seen); left.length > 0; ) {
      for (const batch of slices(left, BATCH)) {
        options.signal?.throwIfAborted();
        const answers = dryRun ? batch.map(wouldCancel) : await this.#cancel(batch.map(({ task }) => task));
        for (const [i, node] of batch.entries()) {
          // Pruned since it was found, so it had ended.
          const answer = answers[i] === 'unknown' ? 'finished' : (answers[i] as CancelAct);
          if (!seen.has(node.task) || answer !== 'finished') seen.set(node.task, this.#view(node, answer));
        }
        report(Math.max(left.length, seen.size), seen.size);
      }
      left = dryRun ? [] : await this.#remaining(root, options.signal, report, seen);
    }
    const tasks = [...seen.values()];
    return { tasks, counts: count(tasks, ['cancelled', 'requested', 'finished']), dryRun };
  }

  /** The first time all tasks; later those that are unfinished and were not asked to stop. */
  async #remaining(
    root: number,
    signal: AbortSignal | undefined,
    report: (found: number, done: number) => void,
    seen: ReadonlyMap<number, unknown>,
  ): Promise<readonly Node[]> {
    const { nodes } = await this.#fromBelow(root, signal, seen.size === 0 ? report : () => {});
    if (seen.size === 0) return nodes;
    return nodes.filter(({ state, cancelRequestedAt }) => !isFinal(state) && cancelRequestedAt === undefined);
  }

  /** Cancels children that a running task needs no more, with all that they have started. */
  cancelChildren(task: number, children: readonly number[]): Promise<void> {
    const { store } = this.#deps;
    return cancelChildren(task, children, { store, cancel: (tasks) => this.#cancel(tasks) });
  }

  /** Runs the failed and cancelled ones among the same tasks again. Completed ones keep their results. */
  async retry(root: number, options: TreeOptions = {}): Promise<TreeAnswer<RetryAct>> {
    const { dryRun, report } = this.#begin(root, options);
    const tree = await this.#fromBelow(root, options.signal, report);
    const nodes = tree.nodes.toReversed();
    const tasks: TreeTask<RetryAct>[] = [];
    const again = new Set<number>();
    for (const batch of slices(nodes, BATCH)) {
      options.signal?.throwIfAborted();
      const chosen = await this.#choose(batch, again, dryRun);
      const revived = dryRun ? chosen : await this.#revive(batch, chosen, { ...tree, again });
      for (const node of batch)
        tasks.push(this.#view(node, retried(node, chosen.has(node.task), revived.has(node.task))));
      report(nodes.length, tasks.length);
    }
    return { tasks, counts: count(tasks, ['again', 'kept', 'unfinished', 'blocked']), dryRun };
  }

  #begin(root: number, options: TreeOptions) {
    checkTask(root);
    checkOptions('options', options, OPTIONS);
    checkFlag('dryRun', options.dryRun);
    checkSignal(options.signal);
    const report = (found: number, done: number): void => options.onProgress?.({ found, done });
    return { dryRun: options.dryRun ?? false, report };
  }

  /** Finds everything that depends on this task or was spawned by what does. */
  async #fromBelow(
    root: number,
    signal: AbortSignal | undefined,
    report: (found: number, done: number) => void,
  ): Promise<Tree> {
    const { store } = this.#deps;
    const orders: (readonly [first: number, then: number])[] = [];
    const waits: Planned[] = [];
    const reader = new TreeReader(store);
    const found = new Set([root]);
    // Grows during the loop.
    const open = [root];
    for (let at = 0; at < open.length; ) {
      signal?.throwIfAborted();
      const tasks = open.slice(at, at + BATCH);
      at += tasks.length;
      await reader.load(tasks);
      const edges = await store.depDependents({ tasks });
      const reach = (next: number, before: readonly [first: number, then: number]): void => {
        orders.push(before);
        if (!found.has(next)) open.push(next);
        found.add(next);
      };
      for (const edge of edges) {
        waits.push(edge);
        reach(edge.down, [edge.down, edge.up]);
      }
      for (const task of tasks) for (const child of reader.childrenOf.get(task) ?? []) reach(child, [task, child]);
      if (open.length > MOST) throw tooMany();
      report(open.length, 0);
    }
    const { childrenOf } = reader;
    const nodes = new Map(open.flatMap((task) => pairOf(task, reader.nodes.get(task))));
    if (!nodes.has(root)) throw fault('NOT_FOUND', { kind: 'task', id: root });
    return { nodes: inOrder(nodes, orders), childrenOf, waits };
  }

  /** Reads the tasks that are still kept. */
  async #read(tasks: readonly number[]): Promise<ReadonlyMap<number, Node>> {
    const nodes = new Map<number, Node>();
    for (const page of slices(tasks, READ_BATCH)) {
      for (const record of await this.#deps.store.taskGet({ tasks: page })) {
        if (record !== undefined) nodes.set(record.task, nodeOf(record));
      }
    }
    return nodes;
  }

  async #cancel(tasks: readonly number[]): Promise<readonly CancelAnswer[]> {
    const answers = await this.#deps.store.taskCancel({ tasks });
    for (const [i, task] of tasks.entries()) this.#deps.onCancelled(task, answers[i] as CancelAnswer);
    this.#deps.onCommit();
    return answers;
  }

  /** The tasks of this batch that run again; `again` has all of them so far. */
  async #choose(batch: readonly Node[], again: Set<number>, dryRun: boolean): Promise<ReadonlySet<number>> {
    const ended = batch.filter(endedWithoutSuccess);
    const needs = await this.#deps.store.depNeeds({ tasks: ended.map(({ task }) => task) });
    const needsOf = Map.groupBy(
      needs.filter(({ optional }) => !optional),
      ({ down }) => down,
    );
    const own = new Set(batch.map(({ task }) => task));
    // Also reads dependencies that were revived before: one of them may have failed again already.
    const unsuccessful = await this.#unsuccessful(needs.filter(({ up }) => !own.has(up) && !(dryRun && again.has(up))));
    for (const { task } of ended) unsuccessful.add(task);
    const chosen = new Set<number>();
    for (const node of ended) {
      const blocked = neverRan(node) && (needsOf.get(node.task) ?? []).some(({ up }) => unsuccessful.has(up));
      if (blocked) continue;
      chosen.add(node.task);
      again.add(node.task);
      unsuccessful.delete(node.task);
    }
    return chosen;
  }

  /** The dependencies that have ended and not completed. One that is no longer kept does not count. */
  async #unsuccessful(needs: readonly Planned[]): Promise<Set<number>> {
    const nodes = await this.#read([...new Set(needs.map(({ up }) => up))]);
    return new Set([...nodes.values()].filter(endedWithoutSuccess).map(({ task }) => task));
  }

  async #revive(
    batch: readonly Node[],
    chosen: ReadonlySet<number>,
    family: Pick<Tree, 'childrenOf'> & { readonly again: ReadonlySet<number> },
  ): Promise<ReadonlySet<number>> {
    const tasks = batch.map(({ task }) => task).filter((task) => chosen.has(task));
    if (tasks.length === 0) return chosen;
    const forget = await this.#outdated(tasks, family);
    const answers = await this.#deps.store.taskRevive({ tasks, ...(forget.length === 0 ? {} : { forget }) });
    const revived = tasks.filter((_, i) => answers[i]?.ok);
    for (const answer of answers as readonly ReviveAnswer[]) if (answer.ok) this.#deps.onRevived(answer.lane);
    this.#deps.onCommit();
    return new Set(revived);
  }

  /**
   * The journal entries in which these tasks recorded the ends of children that run again. They wait for these again, and keep their steps.
   */
  async #outdated(
    tasks: readonly number[],
    { childrenOf, again }: Pick<Tree, 'childrenOf'> & { readonly again: ReadonlySet<number> },
  ): Promise<readonly { readonly task: number; readonly key: string }[]> {
    const parents = tasks.filter((task) => childrenOf.get(task)?.some((child) => again.has(child)));
    if (parents.length === 0) return [];
    const { store, idOf } = this.#deps;
    const children = [...new Set(parents.flatMap((task) => childrenOf.get(task) ?? []))].filter((task) =>
      again.has(task),
    );
    const ids = new Set([...(await this.#read(children)).values()].map(idOf));
    const outdated: { readonly task: number; readonly key: string }[] = [];
    for (const task of parents) {
      for (const { key, kind, value } of await store.journalList({ task })) {
        if (kind === 'wait' && endsOf(value).some((id) => ids.has(id as string))) outdated.push({ task, key });
      }
    }
    return outdated;
  }

  #view<Act>(node: Node, act: Act): TreeTask<Act> {
    const { task, queue, handler, state } = node;
    return { task, id: this.#deps.idOf(node), queue, handler, state, act };
  }
}

function nodeOf(record: TaskRecord): Node {
  const { task, createdAt, queue, handler, state, reason, attempt, cancelRequestedAt } = record;
  return { task, createdAt, queue, handler, state, reason, attempt, cancelRequestedAt };
}

const pairOf = <T>(key: number, value: T | undefined): readonly (readonly [number, T])[] =>
  value === undefined ? [] : [[key, value]];

function tooMany(): Error {
  return fault('CONFLICT', { problem: `more than ${MOST} tasks depend on this one` });
}

/** The children whose ends a recorded wait holds. */
function endsOf(value = 'null'): readonly unknown[] {
  const { value: ends } = (JSON.parse(value) ?? {}) as { readonly value?: unknown };
  return Array.isArray(ends) ? ends.map((end: unknown) => (end as { readonly id?: unknown } | null)?.id) : [];
}

/** A topological order. What is left of a cycle comes in the order in which it was found. */
function inOrder(
  nodes: ReadonlyMap<number, Node>,
  orders: readonly (readonly [first: number, then: number])[],
): readonly Node[] {
  const thens = Map.groupBy(orders, ([first]) => first);
  const waits = new Map<number, number>();
  for (const [first, then] of orders) if (nodes.has(first)) waits.set(then, (waits.get(then) ?? 0) + 1);
  const order = [...nodes.keys()].filter((task) => !waits.has(task));
  // Grows during the loop.
  for (const task of order) {
    for (const [, then] of thens.get(task) ?? []) {
      const left = (waits.get(then) ?? 0) - 1;
      waits.set(then, left);
      if (left === 0 && nodes.has(then)) order.push(then);
    }
  }
  const all = new Set([...order, ...nodes.keys()]);
  return [...all].map((task) => nodes.get(task) as Node);
}

function wouldCancel({ state }: Node): CancelAct {
  return isFinal(state) ? 'finished' : state === 'running' ? 'requested' : 'cancelled';
}

function retried({ state }: Node, chosen: boolean, revived: boolean): RetryAct {
  if (chosen) return revived ? 'again' : 'unfinished';
  if (state === 'completed') return 'kept';
  return isFinal(state) ? 'blocked' : 'unfinished';
}

/** It has ended and not completed. */
function endedWithoutSuccess({ state }: Node): boolean {
  return state === 'failed' || state === 'cancelled';
}

/** A task that has run had all it needs, or runs without it. */
function neverRan({ attempt, reason }: Node): boolean {
  return attempt === 0 || reason === 'dependency';
}

function count<Act extends string>(tasks: readonly TreeTask<Act>[], acts: readonly Act[]): Record<Act, number> {
  const counts = Object.fromEntries(acts.map((act) => [act, 0])) as Record<Act, number>;
  for (const { act } of tasks) counts[act]++;
  return counts;
}

function append(map: Map<number, number[]>, key: number, value: number): void {
  const own = map.get(key);
  if (own === undefined) map.set(key, [value]);
  else own.push(value);
}

function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
