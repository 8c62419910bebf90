import { isFinal } from '../../../src/core/task/task.ts';
import type { TreeRecord } from '../../../src/store/store.ts';
import type { Board, Known } from '../board.ts';
import { must } from '../trace.ts';
import type { GraphModel } from './graph-model.ts';

/** Who bore whom, and what follows from it. */
export class TreeModel {
  readonly #board: Board;
  readonly #graph: GraphModel;

  constructor(board: Board, graph: GraphModel) {
    this.#board = board;
    this.#graph = graph;
  }

  rootOf(task: number): number {
    return this.#board.task(task).root ?? task;
  }

  /** With its root, those that are gone too. */
  tree(root: number): readonly (readonly [number, Known])[] {
    return [...this.#board.tasks].filter(([task, known]) => task === root || known.root === root);
  }

  listed(
    { root, after, limit }: { readonly root: number; readonly after: number; readonly limit: number },
    records: readonly TreeRecord[],
  ): void {
    const due = this.tree(root)
      .filter(([task]) => task !== root && task > after && !this.#board.isPruned(task))
      .sort(([a], [b]) => a - b)
      .slice(0, limit)
      .map(([task, { parent, state, attempt }]) => `${task} of ${parent} ${state}#${attempt}`);
    const have = records.map(({ task, parent, state, attempt }) => `${task} of ${parent} ${state}#${attempt}`);
    must(`${have}` === `${due}`, 'tree', () => `the members of ${root} were listed as ${have}, they are ${due}`);
    if (have.length > 0) this.#board.gates.reach('members of a tree were listed');
  }

  /**
   * The pruner may take what ended longer ago than the retention, of a tree only the whole, and nothing that an unfinished
   * task depends on.
   */
  mayGo(task: number, before: number): void {
    const tree = this.tree(this.rootOf(task));
    const own = new Set(tree.map(([one]) => one));
    const left = tree.filter(([one]) => !this.#board.isPruned(one));
    for (const [one, { state, endedAt }] of left) {
      must(
        isFinal(state) && endedAt < before,
        'I5',
        () => `task ${task} is gone, and ${one} is ${state} since ${endedAt}`,
      );
      const needing = this.#graph.needing(one).filter((down) => !own.has(down));
      must(needing.length === 0, 'I5', () => `task ${task} is gone, and ${needing} need ${one}`);
    }
    if (tree.length > 1) this.#board.gates.reach('tree pruned');
  }

  /** Some of it is gone: nothing of it may come back. */
  isGoing(task: number): boolean {
    return this.tree(this.rootOf(task)).some(([one]) => this.#board.isPruned(one));
  }

  /** What is left of trees of which some is gone. */
  remains(): readonly number[] {
    const roots = new Set(
      [...this.#board.tasks].flatMap(([task, { root }]) =>
        root !== undefined && this.#board.isPruned(task) ? [root] : [],
      ),
    );
    if (roots.size === 0) return [];
    return [...this.#board.tasks.keys()].filter((task) => roots.has(this.rootOf(task)) && !this.#board.isPruned(task));
  }

  /** A cancel of all that this task has borne has been answered: nobody is left who was not asked to stop. */
  cancelled(task: number, since: number): void {
    const family = this.#family(task);
    // Somebody has run one of them again meanwhile.
    if (family.some(([, { revivedAt }]) => revivedAt >= since)) return;
    const left = family.filter(([, { state, cancelRequested }]) => !isFinal(state) && !cancelRequested);
    must(left.length === 0, 'I14', () => `the tree of ${task} was cancelled, and ${left.map(([one]) => one)} were not`);
    if (family.length > 1) this.#board.gates.reach('tree cancelled');
  }

  #family(task: number): readonly (readonly [number, Known])[] {
    const known = this.#board.tasks.get(task);
    if (known === undefined) return [];
    const family = new Map([[task, known]]);
    // A child has a larger number than its parent.
    for (const [one, born] of this.#board.tasks) if (family.has(born.parent ?? 0)) family.set(one, born);
    return [...family].filter(([one]) => !this.#board.isPruned(one));
  }
}
