import type { AfterFailure } from '../../../src/core/graph/graph.ts';
import { type FinalState, isFinal } from '../../../src/core/task/task.ts';
import type { Dependency, Edge, GraphTask } from '../../../src/store/store.ts';
import type { Board, Known } from '../board.ts';
import type { Gate } from '../gates.ts';
import { must } from '../trace.ts';

/** What a task was made to wait for. */
interface Plan {
  /** Task → whether its end is waited for, whatever it is. */
  readonly ups: ReadonlyMap<number, boolean>;
  readonly afterFailure: AfterFailure;
}

const ENDED: Readonly<Record<'cancel' | 'fail', { readonly state: FinalState; readonly gate: Gate }>> = {
  cancel: { state: 'cancelled', gate: 'parent failed: dependent cancelled' },
  fail: { state: 'failed', gate: 'parent failed: dependent failed' },
};

/** Who waits for whose end, and what becomes of them: told at the moment of the end, before the tables are looked at. */
export class GraphModel {
  readonly #board: Board;
  readonly #plans = new Map<number, Plan>();
  /** Task → those whom it parked for. */
  readonly #children = new Map<number, Set<number>>();
  /** Task → those that wait for its end, or did. */
  readonly #downs = new Map<number, Set<number>>();

  /** Somebody has waited for these while they were unfinished. */

  /** Made, and about to end: nothing wakes these any more. */
  readonly #doomed = new Set<number>();

  constructor(board: Board) {
    this.#board = board;
    board.onEnd = (task, state) => this.#ended(task, state);
  }

  /** A task is made with what it waits for. True: something that it needs has failed already, and it ends at once. */
  plan(task: number, { after, afterFailure }: GraphTask, tasks: readonly number[]): boolean {
    const known = this.#board.task(task);
    const ups = upsOf(after, tasks);
    this.#plans.set(task, { ups, afterFailure });
    let failed = false;
    for (const [up, optional] of ups) {
      this.#watch(up, task);
      const { state } = this.#board.task(up);
      if (!isFinal(state)) this.#await(known, up);
      else failed ||= !optional && state !== 'completed';
    }
    if (ups.size > known.openUps.size) this.#board.gates.reach('graph hung on what had ended before');
    const doomed = failed && afterFailure !== 'run';
    if (doomed || known.openUps.size > 0) known.state = 'waiting';
    known.due = known.openUps.size;
    known.bornAs = known.state;
    if (doomed) this.#doomed.add(task);
    return doomed;
  }

  endDoomed(task: number): void {
    this.#fail(task);
  }

  /** What a task was made to wait for. */
  parents(task: number): readonly number[] {
    return [...(this.#plans.get(task)?.ups.keys() ?? [])];
  }

  /** Unfinished tasks that were made to wait for this one, or have parked for it: they will ask what became of it. */
  needing(up: number): readonly number[] {
    return [...(this.#downs.get(up) ?? [])].filter((down) => {
      return this.#board.isOpen(down) && (this.#plans.get(down)?.ups.has(up) || this.#children.get(down)?.has(up));
    });
  }

  /** A running task parks for the ends of others. */
  parked(task: number, children: readonly number[]): void {
    const own = this.#children.get(task) ?? new Set();
    this.#children.set(task, own);
    for (const child of children) {
      own.add(child);
      this.#watch(child, task);
    }
  }

  /** Before its first start everything that a task was made to wait for has ended, at least once. */
  started(task: number): void {
    const plan = this.#plans.get(task);
    if (plan === undefined || plan.ups.size === 0) return;
    for (const up of plan.ups.keys()) {
      must(this.#board.task(up).everEnded, 'deps', () => `${task} was started before ${up}, which it waits for, ended`);
    }
    this.#board.gates.reach('dependent started after its parents');
  }

  /** What it was made to wait for and is unfinished is waited for again. */
  revived(task: number, known: Known): void {
    for (const up of this.#plans.get(task)?.ups.keys() ?? []) {
      if (this.#board.isOpen(up)) this.#await(known, up);
    }
    known.due = known.openUps.size;
    this.#children.delete(task);
    known.state = known.openUps.size > 0 ? 'waiting' : 'ready';
    if (known.state === 'waiting') this.#board.gates.reach('revived task waits for its parents again');
  }

  /** What a handler is told of those that its task waited for. */
  listed(task: number, dependencies: readonly Dependency[]): void {
    if (this.#board.isPruned(task)) return;
    const plan = this.#plans.get(task);
    const ups = new Set([...(plan?.ups.keys() ?? []), ...(this.#children.get(task) ?? [])]);
    const due = [...ups]
      .sort((a, b) => a - b)
      .map((up) => {
        const gone = this.#board.isPruned(up);
        const { state, result } = this.#board.task(up);
        return [up, plan?.ups.get(up) ?? true, gone ? undefined : state, gone ? undefined : result];
      });
    const have = dependencies.map((one) => [one.task, one.optional, one.state, one.result]);
    must(
      JSON.stringify(have) === JSON.stringify(due),
      'deps',
      () => `${task} was told of ${JSON.stringify(have)}, it depends on ${JSON.stringify(due)}`,
    );
    if (have.length > 0) this.#board.gates.reach('dependent read the results of its parents');
  }

  #await(known: Known, up: number): void {
    known.openUps.add(up);
  }

  #watch(up: number, down: number): void {
    const downs = this.#downs.get(up) ?? new Set();
    this.#downs.set(up, downs.add(down));
  }

  #ended(up: number, state: FinalState): void {
    for (const down of [...(this.#downs.get(up) ?? [])].sort((a, b) => a - b)) {
      const known = this.#board.task(down);
      if (known.state !== 'waiting' || this.#doomed.has(down) || !known.openUps.delete(up)) continue;
      if (!this.#met(down, known, up, state)) this.#fail(down);
      else if (--known.due === 0) this.#wake(known);
    }
  }

  #met(down: number, known: Known, up: number, state: FinalState): boolean {
    if (known.wait?.outcome === 'open' || state === 'completed') return true; // whom it parked for may end as they like
    const { ups, afterFailure } = this.#plans.get(down) as Plan;
    if (ups.get(up)) {
      this.#board.gates.reach('optional parent failed');
      return true;
    }
    if (afterFailure === 'run') this.#board.gates.reach('parent failed: dependent ran anyway');
    return afterFailure === 'run';
  }

  #wake(known: Known): void {
    if (known.wait?.outcome === 'open') {
      known.wait.outcome = 'woken';
      this.#board.gates.reach(
        known.openUps.size > 0 ? 'some children woke their parent' : 'last child woke its parent',
      );
    }
    this.#board.wake(known);
  }

  #fail(task: number): void {
    const { state, gate } = ENDED[(this.#plans.get(task) as Plan).afterFailure as 'cancel' | 'fail'];
    this.#board.gates.reach(gate);
    this.#doomed.delete(task);
    this.#board.end(task, state);
  }
}

/** One that is named twice is needed if it is so once. */
function upsOf(after: readonly Edge[], tasks: readonly number[]): ReadonlyMap<number, boolean> {
  const ups = new Map<number, boolean>();
  for (const { task, item, optional } of after) {
    const up = task ?? (tasks[item as number] as number);
    ups.set(up, optional && (ups.get(up) ?? true));
  }
  return ups;
}
