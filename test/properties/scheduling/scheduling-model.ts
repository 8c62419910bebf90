/** Who may start what, as one would keep it by hand: plain lists, looked through from one end to the other. */
import assert from 'node:assert/strict';
import type { AfterFailure } from '../../../src/core/graph/graph.ts';
import type { LimitInput, RateInput } from '../../../src/core/limits/limit.ts';
import type { PlacementInput } from '../../../src/core/placement/placement.ts';
import type { Grant } from '../../../src/store/store.ts';

export interface Use {
  readonly name: string;
  readonly key?: string;
  readonly weight: number;
  readonly cost: number;
}

/** What a task was pushed with. */
export interface Wanted {
  readonly queue: string;
  readonly placement: PlacementInput;
  readonly limits: readonly Use[];
}

export interface Up {
  readonly task: number;
  readonly optional: boolean;
}

/** What a parked task waits for. */
export interface Wait {
  readonly since: number;
  readonly channel?: string;
  readonly deadline?: number;
  readonly children?: readonly number[];
  /** So many ends of children are enough; otherwise all. */
  readonly need?: number;
}

export interface Task {
  readonly id: number;
  readonly wanted: Wanted;
  readonly ups: readonly Up[];
  readonly afterFailure: AfterFailure;
  /** Who bore it. */
  readonly parent: Task | undefined;
  /** What its turns have remembered: the key, and the value or the number of the child. */
  readonly journal: Map<string, string | number>;
  state: 'ready' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
  grant?: Grant | undefined;
  worker?: number | undefined;
  wait?: Wait | undefined;
  /** What a signal has told it. */
  heard?: string | undefined;
  /** Somebody has asked it to stop. */
  asked: boolean;
}

export interface Worker {
  readonly id: number;
  readonly name: string;
  readonly own: readonly string[];
  readonly version: number;
  readonly queues: readonly string[] | undefined;
  given: readonly string[];
  enabled: boolean;
  /** It has said that it takes nothing more. */
  draining: boolean;
}

interface Started {
  readonly at: number;
  readonly use: Use;
}

/** A tag test as one would do it by hand. */
function has(tags: readonly string[], test: string): boolean {
  const found = /^([^<>=!]+)(>=|<=|!=|=|>|<)?(.*)$/.exec(test) as RegExpExecArray;
  const [, key = '', op, wanted = ''] = found;
  const values = tags.filter((tag) => tag === key || tag.startsWith(`${key}=`)).map((tag) => tag.slice(key.length + 1));
  if (values.length === 0) return false;
  if (op === undefined) return true;
  if (op === '!=') return !values.includes(wanted);
  if (op === '=') return values.includes(wanted);
  return values.some(
    (value) => value !== '' && (op === '>=' ? Number(value) >= Number(wanted) : Number(value) < Number(wanted)),
  );
}

const ENDED: ReadonlySet<Task['state']> = new Set(['completed', 'failed', 'cancelled']);
const placeOf = ({ queue, placement }: Wanted): string => JSON.stringify([queue, placement]);

export class SchedulingModel {
  now = 0;
  readonly workers: Worker[] = [];
  readonly tasks = new Map<number, Task>();
  readonly limits = new Map<string, LimitInput>();
  /** Signals that nobody has taken, by channel, oldest first. */
  readonly signals = new Map<string, string[]>();
  /** What each limit has let start since it was changed last. */
  readonly #started = new Map<string, Started[]>();

  in(...states: readonly Task['state'][]): Task[] {
    return [...this.tasks.values()].filter(({ state }) => states.includes(state));
  }

  unfinished(): Task[] {
    return [...this.tasks.values()].filter((task) => !isEnded(task));
  }

  may(worker: Worker, { queue, placement }: Wanted): boolean {
    const tags = [...worker.own, ...worker.given];
    const { requires = [], only = [], never = [], version } = placement;
    const chosen = only.length === 0 || only.includes(worker.name);
    const served = worker.queues?.includes(queue) ?? true;
    const recent = version === undefined || worker.version >= Number(version.slice(2));
    const able = requires.every((test) => has(tags, test));
    return isOpen(worker) && able && chosen && served && recent && !never.includes(worker.name);
  }

  push(
    id: number,
    wanted: Wanted,
    ups: readonly Up[] = [],
    afterFailure: AfterFailure = 'cancel',
    parent?: Task,
  ): void {
    const state = ups.length > 0 ? 'waiting' : 'ready';
    this.tasks.set(id, { id, wanted, ups, afterFailure, parent, journal: new Map(), state, asked: false });
    this.#look(this.tasks.get(id) as Task);
  }

  setLimit(name: string, limit: LimitInput): void {
    this.limits.set(name, limit);
    this.#started.set(name, []);
  }

  /** A grant is allowed: who has it may have it, and it was there to be had. */
  grant(worker: Worker, grant: Grant): void {
    const { wanted } = this.tasks.get(grant.task) as Task;
    assert.ok(this.may(worker, wanted), `${worker.name} was given ${JSON.stringify(wanted)}`);
    this.take(worker, grant);
    const { maxPerWorker = Number.POSITIVE_INFINITY } = wanted.placement;
    const alike = this.in('running').filter(
      (one) => one.worker === worker.id && placeOf(one.wanted) === placeOf(wanted),
    );
    assert.ok(alike.length <= maxPerWorker, `${worker.name} has ${alike.length} of ${maxPerWorker} alike`);
  }

  /** Wherever it may run. */
  take(worker: Worker, grant: Grant): void {
    const task = this.tasks.get(grant.task) as Task;
    assert.equal(task.state, 'ready', `task ${grant.task} was given to ${worker.name}, and is ${task.state}`);
    for (const { task: up } of task.ups) {
      assert.ok(isEnded(this.tasks.get(up)), `task ${task.id} was given before task ${up} had ended`);
    }
    Object.assign(task, { state: 'running', grant, worker: worker.id });
    for (const use of task.wanted.limits) this.#started.get(use.name)?.push({ at: this.now, use });
  }

  /** What runs takes of each counter: `name/` in total, `name/key` for a key. */
  use(): ReadonlyMap<string, number> {
    const use = new Map<string, number>();
    const add = (slot: string, weight: number): void => void use.set(slot, (use.get(slot) ?? 0) + weight);
    for (const { wanted } of this.in('running')) {
      for (const { name, key, weight } of wanted.limits) {
        add(`${name}/`, weight);
        if (key !== undefined) add(`${name}/${key}`, weight);
      }
    }
    return use;
  }

  cap(slot: string): number {
    const [name = '', key = ''] = slot.split('/');
    const { concurrent, perKey } = this.limits.get(name) ?? {};
    return (key === '' ? concurrent : perKey) ?? Number.POSITIVE_INFINITY;
  }

  /** No window that ends now has seen more starts, or more cost, than the limit in force allows; answers how many saw as many. */
  checkRates(): number {
    let full = 0;
    for (const [name, { rate, cost }] of this.limits) {
      const all = this.#started.get(name) ?? [];
      full += this.#checkRate(name, rate, all, () => 1);
      full += this.#checkRate(name, cost, all, (use) => use.cost);
    }
    return full;
  }

  #checkRate(name: string, rate: RateInput | undefined, all: readonly Started[], units: (use: Use) => number): number {
    if (rate === undefined) return 0;
    let full = 0;
    const recent = all.filter(({ at }) => at > this.now - Number(rate.window));
    const groups = Map.groupBy(recent, ({ use }) => (rate.perKey ? (use.key ?? '') : ''));
    for (const [key, starts] of groups) {
      // What has no key is bounded by no rate of keys.
      if (rate.perKey && key === '') continue;
      const sum = starts.reduce((total, { use }) => total + units(use), 0);
      assert.ok(sum <= rate.max, `${name}/${key} let ${sum} start in ${rate.window} ms, and ${rate.max} may`);
      if (sum === rate.max) full++;
    }
    return full;
  }

  /** It is there for others again, unless somebody has asked it to stop. */
  back(task: Task): void {
    if (task.asked) this.end(task, 'cancelled');
    else this.#leave(task, 'ready');
  }

  end(task: Task, state: 'completed' | 'failed' | 'cancelled'): void {
    this.#leave(task, state);
    for (const other of this.in('waiting')) this.#look(other);
  }

  /** The lease is given back until something comes. A signal that lies there is taken at once. */
  park(task: Task, wait: Wait): 'parked' | 'woken' | 'cancelled' {
    if (task.asked) {
      this.end(task, 'cancelled');
      return 'cancelled';
    }
    const word = wait.channel === undefined ? undefined : this.signals.get(wait.channel)?.shift();
    if (word !== undefined) {
      task.heard = word;
      return 'woken';
    }
    if (this.#home(wait)) return 'woken';
    this.#leave(task, 'waiting');
    task.wait = wait;
    return 'parked';
  }

  /** Who has waited longest on the channel hears it, or nobody yet. */
  signal(channel: string, body: string): readonly number[] {
    const [first] = this.in('waiting')
      .filter(({ wait }) => wait?.channel === channel)
      .sort((a, b) => (a.wait as Wait).since - (b.wait as Wait).since || a.id - b.id);
    if (first === undefined) {
      this.signals.set(channel, [...(this.signals.get(channel) ?? []), body]);
      return [];
    }
    first.heard = body;
    this.#leave(first, 'ready');
    return [first.id];
  }

  /** Waits whose time is over. */
  overdueWaits(): Task[] {
    return this.in('waiting').filter(({ wait }) => (wait?.deadline ?? Number.POSITIVE_INFINITY) <= this.now);
  }

  wake(task: Task): void {
    this.#leave(task, 'ready');
  }

  /** All of its children have ended, or enough of them. */
  #home({ children = [], need = children.length }: Wait): boolean {
    const ended = children.filter((child) => isEnded(this.tasks.get(child)));
    return children.length > 0 && ended.length >= Math.min(need, children.length);
  }

  #leave(task: Task, state: Task['state']): void {
    Object.assign(task, { state, grant: undefined, worker: undefined, wait: undefined });
    if (isEnded(task)) task.asked = false;
  }

  /** Something has ended: whoever waits for it may go on, or must end too. */
  #look(task: Task): void {
    if (task.state !== 'waiting') return;
    if (task.wait !== undefined) {
      if (this.#home(task.wait)) this.wake(task);
      return;
    }
    const ups = task.ups.map(({ task: up, optional }) => ({ up: this.tasks.get(up), optional }));
    const lacking = ups.some(({ up, optional }) => !optional && isEnded(up) && up?.state !== 'completed');
    if (lacking && task.afterFailure !== 'run') {
      this.end(task, task.afterFailure === 'fail' ? 'failed' : 'cancelled');
    } else if (ups.every(({ up }) => isEnded(up))) this.wake(task);
  }
}

/** It may be given something. */
export function isOpen({ enabled, draining }: Worker): boolean {
  return enabled && !draining;
}

/** The first of its line; of a task that nobody bore none. */
export function rootOf({ parent }: Task): number | undefined {
  return parent && (rootOf(parent) ?? parent.id);
}

export function isEnded(task: Task | undefined): boolean {
  return task === undefined || ENDED.has(task.state);
}
