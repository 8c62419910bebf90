/** What the journal of a run says of the nodes of its graph. */
import type { Engine } from '../../../engine/engine.ts';
import { isMap, type Value } from '../../../flow/expression/values.ts';
import type { NodePast } from '../../../flow/graph/node-outputs.ts';
import type { Flow } from '../../../flow/graph/snapshot.ts';
import { headsOf } from '../journals.ts';
import { placeOfKey } from '../step-names.ts';

/** A mark and a task for each node that can be, and what the run waits for. */
const MOST_ENTRIES = 21_000;

export interface NodeMark extends Flow {
  /** When the node ended. */
  readonly ended: number;
  /** When a trigger fired. */
  readonly at?: number;
}

export interface NodeBirth {
  readonly task: number;
  readonly key: string;
  readonly at: number;
}

export class GraphPast implements NodePast {
  readonly whole: boolean;
  readonly #marks = new Map<number, NodeMark>();
  readonly #births = new Map<number, NodeBirth[]>();

  private constructor(whole: boolean) {
    this.whole = whole;
  }

  static async read(engine: Engine, task: number): Promise<GraphPast> {
    const { heads, whole } = await headsOf(engine, [task], MOST_ENTRIES);
    const past = new GraphPast(whole);
    for (const { key, kind, head, ref, at } of heads) {
      const place = placeOfKey(key);
      if (place === undefined) continue;
      if (place.task === undefined) {
        const flow = kind === 'value' ? flowIn(head) : undefined;
        if (flow !== undefined) past.#marks.set(place.node, { ...flow, ended: at });
      } else if (kind === 'child' && ref !== undefined) past.#bear(place.node, place.task, { task: ref, key, at });
    }
    return past;
  }

  mark(node: number): NodeMark | undefined {
    return this.#marks.get(node);
  }

  task(node: number, place: number): number | undefined {
    return this.#births.get(node)?.[place]?.task;
  }

  /** In the order of their items. */
  births(node: number): readonly NodeBirth[] {
    return this.#births.get(node)?.filter((one) => one !== undefined) ?? [];
  }

  #bear(node: number, place: number, birth: NodeBirth): void {
    const all = this.#births.get(node) ?? [];
    this.#births.set(node, all);
    all[place] = birth;
  }
}

/** A journal of another host may have anything. */
function flowIn(text: string | undefined): (Flow & { readonly at?: number }) | undefined {
  if (text === undefined) return undefined;
  try {
    const mark = JSON.parse(text) as Value;
    if (!isMap(mark)) return undefined;
    const { kept, rejected, at } = mark;
    if (typeof kept !== 'number' || typeof rejected !== 'number') return undefined;
    return { kept, rejected, ...(typeof at === 'number' ? { at } : {}) };
  } catch {
    return undefined;
  }
}
