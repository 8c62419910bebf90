import { CHANGES, type Change, STATES, type TaskState } from '../../core/task.ts';
import type { Prepared } from './connection.ts';

interface Group {
  readonly queue: number;
  readonly kind: number;
  readonly state: number;
  readonly ids: number[];
  readonly attempts: number[];
  readonly born: number[];
}

const CODE = new Map<TaskState, number>(STATES.map((state, code) => [state, code]));
const KIND = new Map<Change, number>(CHANGES.map((change, kind) => [change, kind]));
const MAX_PACKED = 250;

/**
 * What one transaction did to its tasks: the events and the counters, written once at its end. Packed: one event row per
 * queue, change and new state (a row per task costs 38 % of a drain).
 *
 * Groups keep the order of their first entry. A verb touches a task once per change, and `seal()` between verbs that may
 * touch the same tasks keeps cause before effect.
 */
export class Ledger {
  #groups: Group[] = [];
  readonly #sealed: Group[] = [];
  readonly #deltas = new Map<number, number[]>();

  note(
    queue: number,
    change: Change,
    from: TaskState | undefined,
    to: TaskState,
    task: number,
    attempt: number,
    born: number,
  ): void {
    const kind = KIND.get(change) as number;
    const state = CODE.get(to) as number;
    const group = this.#group(queue, kind, state);
    group.ids.push(task);
    group.attempts.push(attempt);
    group.born.push(born);
    if (from === to) return;
    const delta = this.#delta(queue);
    delta[state] = (delta[state] as number) + 1;
    if (from !== undefined) {
      const code = CODE.get(from) as number;
      delta[code] = (delta[code] as number) - 1;
    }
  }

  seal(): void {
    this.#sealed.push(...this.#groups);
    this.#groups = [];
  }

  write(sql: Prepared, at: number): void {
    this.seal();
    const eventAdd = sql.get('eventAdd');
    for (const g of this.#sealed) {
      eventAdd.run(g.ids.length, at, g.queue, g.kind, g.state, `[${g.ids}]`, `[${g.attempts}]`, `[${g.born}]`);
    }
    for (const [queue, d] of this.#deltas) {
      if (d.some((n) => n !== 0)) sql.get('statAdd').run(queue, ...d);
    }
  }

  #group(queue: number, kind: number, state: number): Group {
    for (let i = this.#groups.length - 1; i >= 0; i--) {
      const g = this.#groups[i] as Group;
      if (g.queue === queue && g.kind === kind && g.state === state && g.ids.length < MAX_PACKED) return g;
    }
    const group: Group = { queue, kind, state, ids: [], attempts: [], born: [] };
    this.#groups.push(group);
    return group;
  }

  #delta(queue: number): number[] {
    let delta = this.#deltas.get(queue);
    if (delta === undefined) {
      delta = [0, 0, 0, 0, 0, 0, 0];
      this.#deltas.set(queue, delta);
    }
    return delta;
  }
}
