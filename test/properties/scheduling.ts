/**
 * Random workers, tags, limits and edits against a matcher and a counter that are too simple to be wrong. Who may run what is
 * judged here by other code than the engine's, and what a limit holds is added up from what was granted.
 */
import assert from 'node:assert/strict';
import type { LimitInput, LimitUseInput } from '../../src/core/limit.ts';
import type { PlacementInput } from '../../src/core/placement.ts';
import { GRACE_MS } from '../../src/core/rank.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { PushRequest } from '../../src/engine/push.ts';
import type { Grant } from '../../src/store/store.ts';

/** A store, its engine, and a way to let time pass. */
export interface Ground {
  readonly engine: Engine;
  readonly pass: (ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

const TAGS = ['gpu', 'gpu=amd', 'gpu=nvidia', 'memory_gb=8', 'memory_gb=32', 'credential:hf', 'spot'];
const TESTS = ['gpu', 'gpu=nvidia', 'gpu!=amd', 'memory_gb>=16', 'memory_gb<16', 'credential:hf', 'spot', 'never'];
const LIMITS = ['api', 'disk', 'model'];
const KEYS = ['ann', 'bob'];
const QUEUES = ['mail', 'post'];

/** The same seed draws the same numbers. */
function dice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % sides;
  };
}

interface Wanted {
  readonly queue: string;
  readonly placement: PlacementInput;
  readonly limits: readonly (LimitUseInput & { readonly weight: number })[];
}

interface WorkerModel {
  readonly id: number;
  readonly name: string;
  readonly own: readonly string[];
  given: readonly string[];
  enabled: boolean;
  readonly priority: number;
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

class Trial {
  readonly #ground: Ground;
  readonly #roll: (sides: number) => number;
  readonly #workers: WorkerModel[] = [];
  readonly #tasks = new Map<number, Wanted>();
  readonly #held = new Map<number, { readonly grant: Grant; readonly worker: number }>();
  readonly #limits = new Map<string, LimitInput>();
  grants = 0;
  heldBack = 0;

  constructor(ground: Ground, seed: number) {
    this.#ground = ground;
    this.#roll = dice(seed);
  }

  get engine(): Engine {
    return this.#ground.engine;
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#roll(list.length)] as T;
  }

  #some<T>(list: readonly T[], oneIn: number): T[] {
    return list.filter(() => this.#roll(oneIn) === 0);
  }

  async begin(priorities: boolean): Promise<void> {
    for (const name of LIMITS) await this.#edit(name);
    for (const name of ['a', 'b', 'c']) {
      const own = this.#some(TAGS, 3);
      const priority = priorities ? this.#roll(2) : 0;
      const id = await this.engine.registerWorker({ name, incarnation: `${name}1`, slots: 50, tags: own, priority });
      this.#workers.push({ id, name, own, given: [], enabled: true, priority });
    }
  }

  async step(): Promise<void> {
    const kind = this.#roll(20);
    if (kind < 6) await this.push(1 + this.#roll(6));
    else if (kind < 12) await this.#claim();
    else if (kind < 16) await this.#settle();
    else if (kind < 18) await this.#edit(this.#one(LIMITS));
    else await this.#switch();
    await this.check();
  }

  async push(count: number): Promise<void> {
    const wanted = this.#wanted();
    const requests: PushRequest[] = Array.from({ length: count }, () => ({
      ...wanted,
      handler: 'h',
      maxAttempts: 100,
    }));
    for (const { task } of await this.engine.pushMany(requests)) this.#tasks.set(task, wanted);
  }

  #wanted(): Wanted {
    const roll = this.#roll;
    const placement: PlacementInput = {
      ...(roll(2) === 0 ? { requires: this.#some(TESTS, 5) } : {}),
      ...(roll(6) === 0 ? { only: this.#some(['a', 'b', 'c'], 2) } : {}),
      ...(roll(6) === 0 ? { never: this.#some(['a', 'b', 'c'], 2) } : {}),
    };
    const limits = this.#some(LIMITS, 3).map((name) => ({
      name,
      ...(roll(2) === 0 ? { key: this.#one(KEYS) } : {}),
      weight: 1 + roll(2),
    }));
    return { queue: this.#one(QUEUES), placement, limits };
  }

  async #claim(): Promise<void> {
    const worker = this.#one(this.#workers);
    const before = this.use();
    const grants = await this.engine.claim({ worker: worker.id, max: 1 + this.#roll(8) });
    for (const grant of grants) {
      const wanted = this.#tasks.get(grant.task) as Wanted;
      assert.ok(this.may(worker, wanted), `${worker.name} was given ${JSON.stringify(wanted)}`);
      assert.ok(!this.#held.has(grant.task), 'a task was given twice');
      this.#held.set(grant.task, { grant, worker: worker.id });
    }
    this.grants += grants.length;
    for (const [slot, used] of this.use()) {
      const cap = this.#cap(slot);
      assert.ok(used === before.get(slot) || used <= cap, `${slot} has ${used} of ${cap}`);
    }
  }

  async #settle(): Promise<void> {
    const held = [...this.#held.values()];
    if (held.length === 0) return;
    const { grant } = this.#one(held);
    this.#held.delete(grant.task);
    const how = this.#roll(4);
    if (how === 0) await this.engine.release(grant);
    else if (how === 1) await this.engine.fail(grant, 'no', { retryAfterMs: 0 });
    else await this.engine.complete(grant);
    if (how > 1) this.#tasks.delete(grant.task);
    // Whatever a dead worker's late word is worth, it frees nothing a second time.
    if (this.#roll(4) === 0) await this.engine.complete(grant).catch(() => {});
  }

  async #edit(name: string): Promise<void> {
    const roll = this.#roll;
    const limit: LimitInput = {
      ...(roll(3) > 0 ? { concurrent: roll(7) } : {}),
      ...(roll(2) === 0 ? { perKey: roll(4) } : {}),
    };
    this.#limits.set(name, limit);
    await this.engine.setLimit(name, limit);
  }

  async #switch(): Promise<void> {
    const worker = this.#one(this.#workers);
    if (this.#roll(3) === 0) worker.enabled = !worker.enabled;
    else worker.given = this.#some(TAGS, 4);
    await this.engine.setWorker({ name: worker.name, enabled: worker.enabled, tags: worker.given });
  }

  /** Everything on, and no bound that never opens: so that what is left can be worked off. */
  async openAll(): Promise<void> {
    for (const worker of this.#workers) {
      worker.enabled = true;
      worker.given = TAGS;
      await this.engine.setWorker({ name: worker.name, enabled: true, tags: TAGS });
    }
    for (const name of LIMITS) {
      this.#limits.set(name, { concurrent: 10 });
      await this.engine.setLimit(name, { concurrent: 10 });
    }
  }

  may(worker: WorkerModel, { placement }: Wanted): boolean {
    const tags = [...worker.own, ...worker.given];
    const { requires = [], only = [], never = [] } = placement;
    const chosen = only.length === 0 || only.includes(worker.name);
    return worker.enabled && requires.every((test) => has(tags, test)) && chosen && !never.includes(worker.name);
  }

  /** What runs takes of each counter. */
  use(): ReadonlyMap<string, number> {
    const use = new Map<string, number>();
    const add = (slot: string, weight: number): void => void use.set(slot, (use.get(slot) ?? 0) + weight);
    for (const task of this.#held.keys()) {
      for (const { name, key, weight } of this.#tasks.get(task)?.limits ?? []) {
        add(`${name}/`, weight);
        if (key !== undefined) add(`${name}/${key}`, weight);
      }
    }
    return use;
  }

  #cap(slot: string): number {
    const [name = '', key = ''] = slot.split('/');
    const { concurrent, perKey } = this.#limits.get(name) as LimitInput;
    return (key === '' ? concurrent : perKey) ?? Number.POSITIVE_INFINITY;
  }

  /** The counters are what runs, to the last unit. */
  async check(): Promise<void> {
    const use = this.use();
    for (const name of LIMITS) {
      for (const { key, active } of await this.engine.limitUse(name)) {
        assert.equal(active, use.get(`${name}/${key}`) ?? 0, `${name}/${key} is kept wrong`);
      }
    }
  }

  /**
   * One worker alone claims until nothing is left for it, ending each at once: it is given exactly what Explain had called
   * runnable by it.
   */
  async agree(): Promise<void> {
    await this.#ground.pass(GRACE_MS);
    for (const { grant } of this.#held.values()) {
      await this.engine.complete(grant);
      this.#tasks.delete(grant.task);
    }
    this.#held.clear();
    const worker = this.#one(this.#workers);
    const runnable: number[] = [];
    for (const task of this.#tasks.keys()) {
      const told = await this.engine.explain(task);
      const verdict = told.workers.find(({ name }) => name === worker.name);
      const open = told.reasons.length === 0 && told.limits.every((limit) => limit.open);
      if (verdict?.eligible && open) runnable.push(task);
      else this.heldBack++;
      if (told.runnable) assert.ok(open && told.workers.some(({ eligible }) => eligible));
    }
    const got: number[] = [];
    for (let empty = 0; empty < 12; ) {
      const grants = await this.engine.claim({ worker: worker.id, max: 5 });
      for (const grant of grants) {
        got.push(grant.task);
        await this.engine.complete(grant);
      }
      if (grants.length > 0) empty = 0;
      else {
        empty++;
        await this.#ground.pass(600);
      }
    }
    assert.deepEqual(
      got.toSorted((a, b) => a - b),
      runnable.toSorted((a, b) => a - b),
      `${worker.name} was given other tasks than Explain had said`,
    );
    for (const task of got) this.#tasks.delete(task);
  }

  /** With everything open, nothing is left over: nobody waits for ever. */
  async drain(): Promise<void> {
    await this.openAll();
    for (let i = 0; this.#tasks.size > 0; i++) {
      assert.ok(i < 500, `${this.#tasks.size} tasks are never given: ${JSON.stringify([...this.#tasks.values()][0])}`);
      const worker = this.#workers[i % this.#workers.length] as WorkerModel;
      for (const grant of await this.engine.claim({ worker: worker.id, max: 20 })) {
        await this.engine.complete(grant);
        this.#tasks.delete(grant.task);
      }
      for (const [task, wanted] of this.#tasks) {
        if (!this.#workers.some((one) => this.may(one, wanted))) this.#tasks.delete(task);
      }
      await this.#ground.pass(300);
    }
  }
}

/** Steps at random, the counters checked after each; then Explain against the claim; then everything is worked off. */
export async function scheduling(
  ground: Ground,
  seed: number,
  steps: number,
): Promise<{ grants: number; heldBack: number }> {
  const trial = new Trial(ground, seed);
  try {
    await trial.begin(seed % 2 === 0);
    for (let step = 0; step < steps; step++) await trial.step();
    await trial.push(3);
    await trial.agree();
    await trial.drain();
    return { grants: trial.grants, heldBack: trial.heldBack };
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await ground.close();
  }
}
