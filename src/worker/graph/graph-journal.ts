/** What a run of a graph has stored: which nodes have ended, with how many items, and the tasks that were born for nodes. */
import { isMap, type Value } from '../../flow/expression/values.ts';
import type { Flow } from '../../flow/graph/snapshot.ts';
import { BrokenHistory } from '../../flow/machine/history/checked.ts';
import type { JournalValue, TurnEntry } from '../../protocol/link.ts';

/** What is kept of a node that has ended. Its items are in the results of tasks, and what runs within the run gives the same again. */
export interface NodeMark extends Flow {
  /** When a trigger fired: calendar time. */
  readonly at?: number;
}

const NODE_KEY = /^n:(\d+)$/;
const TASK_KEY = /^n:\d+\/\d+$/;

export const nodeKey = (node: number): string => `n:${node}`;
export const taskKey = (node: number, place: number): string => `n:${node}/${place}`;

export class GraphJournal {
  readonly #marks = new Map<number, NodeMark>();
  readonly #tasks = new Map<string, number>();

  load(values: readonly JournalValue[]): void {
    for (const { key, value, child } of values) {
      if (child === true) this.born(key, value);
      // Who has written it would have this run read the result of any task.
      else if (TASK_KEY.test(key)) throw new BrokenHistory(`${key} is no child`);
      else {
        const node = NODE_KEY.exec(key)?.[1];
        if (node !== undefined) this.#marks.set(Number(node), markIn(key, value));
      }
    }
  }

  /** As the node tells of a child. */
  born(key: string, text: string): void {
    this.#tasks.set(key, (JSON.parse(text) as { readonly task: number }).task);
  }

  /** How many tasks were born. */
  get size(): number {
    return this.#tasks.size;
  }

  task(node: number, place: number): number | undefined {
    return this.#tasks.get(taskKey(node, place));
  }

  mark(node: number): NodeMark | undefined {
    return this.#marks.get(node);
  }

  /** The entry that keeps it. */
  markEntry(node: number, mark: NodeMark): TurnEntry {
    this.#marks.set(node, mark);
    return { key: nodeKey(node), kind: 'value', value: mark };
  }
}

const isCount = (value: Value): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function markIn(key: string, text: string): NodeMark {
  const mark = JSON.parse(text) as Value;
  if (isMap(mark)) {
    const { kept, rejected, at } = mark;
    if (isCount(kept) && isCount(rejected) && (at === undefined || isCount(at))) {
      return { kept, rejected, ...(at === undefined ? {} : { at }) };
    }
  }
  throw new BrokenHistory(`${key} is of another form`);
}
