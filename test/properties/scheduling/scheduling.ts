/**
 * Random workers, tags, limits, graphs, turns, waits and edits against a model that is too simple to be wrong. Who may run what is
 * judged there by other code than the engine's, and what a limit holds is added up from what was granted.
 */
import assert from 'node:assert/strict';
import { AFTER_FAILURE, type AfterFailure } from '../../../src/core/graph/graph.ts';
import type { LimitInput, RateInput } from '../../../src/core/limits/limit.ts';
import type { PlacementInput } from '../../../src/core/placement/placement.ts';
import { GRACE_MS } from '../../../src/core/placement/rank.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { PushRequest } from '../../../src/engine/push/push.ts';
import type { EntryRequest, ThenRequest, TurnRequest } from '../../../src/engine/settle/turn-request.ts';
import type { Grant } from '../../../src/store/store.ts';
import { type Ground, LEASE_MS } from './scheduling-grounds.ts';
import {
  isEnded,
  isOpen,
  rootOf,
  SchedulingModel,
  type Task,
  type Up,
  type Wait,
  type Wanted,
  type Worker,
} from './scheduling-model.ts';

const TAGS = ['gpu', 'gpu=amd', 'gpu=nvidia', 'memory_gb=8', 'memory_gb=32', 'credential:hf', 'spot'];
const TESTS = ['gpu', 'gpu=nvidia', 'gpu!=amd', 'memory_gb>=16', 'memory_gb<16', 'credential:hf', 'spot', 'never'];
const LIMITS = ['api', 'disk', 'model'];
const KEYS = ['ann', 'bob'];
const QUEUES = ['mail', 'post'];
const CHANNELS = ['news', 'weather'];
const NAMES = ['a', 'b', 'c'];

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

/** How often the worlds met what they are about. */
export interface Seen {
  grants: number;
  heldBack: number;
  edits: number;
  reaped: number;
  parked: number;
  births: number;
  grandchildren: number;
  turnsRepeated: number;
  stoppedBirths: number;
  signalsTaken: number;
  signalsKept: number;
  deadlines: number;
  doomed: number;
  cancelledRunning: number;
  ratesReached: number;
}

class Trial {
  readonly #ground: Ground;
  readonly #roll: (sides: number) => number;
  readonly #model = new SchedulingModel();
  readonly #seen: Seen;
  /** Words and waits are all different: each word is heard once. */
  #words = 0;

  constructor(ground: Ground, seed: number, seen: Seen) {
    this.#ground = ground;
    this.#roll = dice(seed);
    this.#seen = seen;
  }

  /** Either process. */
  get #engine(): Engine {
    return this.#one(this.#ground.engines);
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#roll(list.length)] as T;
  }

  #some<T>(list: readonly T[], oneIn: number): T[] {
    return list.filter(() => this.#roll(oneIn) === 0);
  }

  async #pass(ms: number): Promise<void> {
    await this.#ground.pass(ms);
    this.#model.now += ms;
  }

  async begin(priorities: boolean): Promise<void> {
    for (const name of LIMITS) await this.#edit(name);
    for (const name of NAMES) {
      const own = this.#some(TAGS, 3);
      const priority = priorities ? this.#roll(2) : 0;
      const version = 1 + this.#roll(3);
      const queues = this.#roll(6) === 0 ? [this.#one(QUEUES)] : undefined;
      const id = await this.#engine.workers.register({
        name,
        incarnation: `${name}1`,
        slots: 50,
        tags: own,
        priority,
        version: `${version}.0.0`,
        ...(queues === undefined ? {} : { queues }),
      });
      this.#model.workers.push({ id, name, own, version, queues, given: [], enabled: true, draining: false });
    }
  }

  async step(): Promise<void> {
    const kind = this.#roll(43);
    if (kind < 8) await this.push(1 + this.#roll(6));
    else if (kind < 11) await this.#graph();
    else if (kind < 20) await this.#claim();
    else if (kind < 21) await this.#claimOne();
    else if (kind < 27) await this.#settle();
    else if (kind < 30) await this.#park();
    else if (kind < 32) await this.#signal(this.#one(CHANNELS));
    else if (kind < 33) await this.#cancel();
    else if (kind < 35) await this.#edit(this.#one(LIMITS));
    else if (kind < 37) await this.#switch();
    else if (kind < 39) await this.#stage();
    else if (kind < 42) await this.#turn();
    else await this.#reap();
    if (this.#roll(3) === 0) await this.#pass(this.#roll(200));
    await this.check();
  }

  async push(count: number): Promise<void> {
    const wanted = this.#wanted();
    const requests = Array.from({ length: count }, () => requestOf(wanted));
    for (const { task } of await this.#engine.pushMany(requests)) this.#model.push(task, wanted);
  }

  /** Each waits for some that are there, whatever has become of them, and for some of the same graph. */
  async #graph(): Promise<void> {
    const size = 2 + this.#roll(5);
    const older = this.#some([...this.#model.tasks.keys()].slice(-12), 4);
    const plans = Array.from({ length: size }, (_, i) => ({
      wanted: this.#wanted(),
      afterFailure: this.#one(AFTER_FAILURE),
      out: this.#some(older, 2).map((on) => ({ on, optional: this.#roll(2) === 0 })),
      in: this.#some(
        Array.from({ length: i }, (_one, at) => at),
        2,
      ).map((at) => ({ at, optional: this.#roll(2) === 0 })),
    }));
    const pushed = await this.#engine.pushGraph(
      plans.map(({ wanted, afterFailure, out, in: inner }, i) => ({
        ...requestOf(wanted),
        name: `n${i}`,
        afterFailure,
        after: [...out, ...inner.map(({ at, optional }) => ({ on: `n${at}`, optional }))],
      })),
    );
    for (const [i, { wanted, afterFailure, out, in: inner }] of plans.entries()) {
      const ups: Up[] = [
        ...out.map(({ on, optional }) => ({ task: on, optional })),
        ...inner.map(({ at, optional }) => ({ task: pushed[at]?.task as number, optional })),
      ];
      const { task } = pushed[i] as (typeof pushed)[number];
      this.#model.push(task, wanted, ups, afterFailure);
      if (isEnded(this.#model.tasks.get(task))) this.#seen.doomed++;
    }
  }

  #wanted(): Wanted {
    const roll = this.#roll;
    const lists = {
      requires: roll(2) === 0 ? this.#some(TESTS, 5) : [],
      only: roll(6) === 0 ? this.#some(NAMES, 2) : [],
      never: roll(6) === 0 ? this.#some(NAMES, 2) : [],
    };
    const placement: PlacementInput = {
      ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
      ...(roll(6) === 0 ? { maxPerWorker: 1 + roll(3) } : {}),
      ...(roll(8) === 0 ? { version: `>=${1 + roll(3)}` } : {}),
    };
    const known = LIMITS.filter((name) => this.#model.limits.has(name));
    const limits = this.#some(known, 3).map((name) => {
      const key = roll(2) === 0 ? { key: this.#one(KEYS) } : {};
      const { concurrent, perKey } = this.#model.limits.get(name) ?? {};
      // More than the whole limit is refused; 0 is a pause, which ends some day.
      const caps = [concurrent, perKey].filter((cap) => cap !== undefined && cap > 0) as number[];
      return { name, ...key, weight: Math.min(1 + roll(2), ...caps), cost: roll(5) };
    });
    return { queue: this.#one(QUEUES), placement, limits };
  }

  async #claim(): Promise<void> {
    const worker = this.#one(this.#model.workers);
    const before = this.#model.use();
    const grants = await this.#engine.claim({ ...asking(worker), max: 1 + this.#roll(8) });
    for (const grant of grants) this.#model.grant(worker, grant);
    this.#judge(grants, before);
  }

  /** By its number, which is somebody's own choice: where it may run does not matter then, but its limits do. */
  async #claimOne(): Promise<void> {
    const ready = this.#model.in('ready');
    if (ready.length === 0) return;
    const worker = this.#one(this.#model.workers);
    const { id } = this.#one(ready);
    const before = this.#model.use();
    const grants = await this.#engine.claim({ worker: worker.id, max: 1, task: id });
    assert.ok(isOpen(worker) || grants.length === 0, `${worker.name} is off, and was given task ${id}`);
    for (const grant of grants) this.#model.take(worker, grant);
    this.#judge(grants, before);
  }

  #judge(grants: readonly Grant[], before: ReadonlyMap<string, number>): void {
    this.#seen.grants += grants.length;
    for (const [slot, used] of this.#model.use()) {
      const cap = this.#model.cap(slot);
      assert.ok(used === before.get(slot) || used <= cap, `${slot} has ${used} of ${cap}`);
    }
    this.#seen.ratesReached += this.#model.checkRates();
  }

  async #settle(): Promise<void> {
    const held = this.#model.in('running');
    if (held.length === 0) return;
    const task = this.#one(held);
    const grant = task.grant as Grant;
    const engine = this.#engine;
    const how = this.#roll(8);
    if (how === 0) {
      await engine.release(grant);
      this.#model.back(task);
    } else if (how === 1) {
      await engine.fail(grant, 'no', { retryAfterMs: 0 });
      this.#model.back(task);
    } else if (how === 2) {
      await engine.fail(grant, 'no', { giveUp: true });
      this.#end(task, 'failed');
    } else {
      await engine.complete(grant);
      this.#end(task, 'completed');
    }
    // Whatever a late word is worth, it frees nothing a second time.
    if (this.#roll(3) === 0) await engine.complete(grant).catch(() => {});
    if (this.#roll(6) === 0) await engine.release(grant).catch(() => {});
  }

  #end(task: Task, state: 'completed' | 'failed' | 'cancelled'): void {
    const waiting = this.#model.in('waiting').length;
    const ended = this.#model.in('failed', 'cancelled').length;
    this.#model.end(task, state);
    if (this.#model.in('waiting').length < waiting) {
      this.#seen.doomed += this.#model.in('failed', 'cancelled').length - ended - (state === 'completed' ? 0 : 1);
    }
  }

  async #park(): Promise<void> {
    const held = this.#model.in('running');
    if (held.length === 0) return;
    const task = this.#one(held);
    // Only for older ones, as with everything that waits here: so that there is no circle.
    const older = [...this.#model.tasks.keys()].filter((id) => id < task.id);
    const children = this.#roll(3) === 0 ? this.#some(older.slice(-6), 2) : [];
    const timeout = this.#roll(2) === 0 ? 50 + this.#roll(800) : undefined;
    const wait: Wait = {
      since: this.#model.now,
      ...(timeout === undefined ? {} : { deadline: this.#model.now + timeout }),
      ...(children.length > 0 ? { children, ...this.#need(children.length) } : { channel: this.#one(CHANNELS) }),
    };
    const { since: _since, deadline: _deadline, ...what } = wait;
    const request = { key: `wait ${this.#words++}`, ...what, ...(timeout === undefined ? {} : { timeout }) };
    const answer = await this.#engine.turn(task.grant as Grant, { then: { go: 'park', ...request } });
    const due = this.#model.park(task, wait);
    assert.equal(answer.went, due, `task ${task.id} parks`);
    if (answer.went === 'woken' && wait.channel !== undefined) this.#heard(task, answer.body);
    if (due === 'parked') this.#seen.parked++;
  }

  #need(children: number): { readonly need?: number } {
    return this.#roll(2) === 0 ? {} : { need: 1 + this.#roll(children) };
  }

  /** A value, children that wait for each other and for older ones, and how it goes on: one commit, now and then said twice. */
  async #turn(): Promise<void> {
    const held = this.#model.in('running');
    if (held.length === 0) return;
    const task = this.#one(held);
    const grant = task.grant as Grant;
    if (this.#roll(8) === 0) await this.#ask(task);
    const births = this.#births(task);
    const key = `value ${this.#words++}`;
    // With a deadline: what a child waits for may come to wait for its parent.
    const wait: Wait = { since: this.#model.now, deadline: this.#model.now + 500, ...this.#need(births.length) };
    const then = this.#one<ThenRequest>([
      { go: 'on' },
      { go: 'complete' },
      { go: 'fail', error: 'no', giveUp: true },
      { go: 'park', key, children: births.map((one) => one.key), timeout: 500, ...(wait.need && { need: wait.need }) },
    ]);
    const request: TurnRequest = { entries: [{ key, value: 1 }, ...births.map(entryOf)], then };
    const turned = await this.#engine.turn(grant, request);
    task.journal.set(key, '1');
    if (task.asked) {
      assert.deepEqual([turned.went, turned.entries.slice(1)], ['cancelled', births.map(() => undefined)]);
      this.#seen.stoppedBirths++;
      return this.#end(task, 'cancelled');
    }
    const children = turned.entries.slice(1).map((entered) => entered?.child?.task as number);
    this.#born(task, births, children);
    if (then.go === 'park') assert.equal(turned.went, this.#model.park(task, { ...wait, children }), `task ${task.id}`);
    else if (then.go === 'complete') this.#end(task, 'completed');
    else if (then.go === 'fail') this.#end(task, 'failed');
    if (this.#roll(2) === 0) return;
    const again = await this.#engine.turn(grant, request);
    this.#seen.turnsRepeated++;
    assert.equal(again.went, turned.went, `the turn of ${task.id} is repeated`);
    assert.deepEqual(
      again.entries.slice(1).map((entered) => [entered?.child?.task, entered?.child?.fresh]),
      children.map((child) => [child, false]),
    );
  }

  #births(task: Task): readonly Birth[] {
    const older = [...this.#model.tasks.keys()].filter((id) => id < task.id).slice(-6);
    const births: Birth[] = [];
    for (let i = this.#roll(3); i >= 0; i--) {
      births.push({
        key: `child ${this.#words++}`,
        wanted: this.#wanted(),
        afterFailure: this.#one(AFTER_FAILURE),
        after: [...this.#some(older, 6), ...this.#some(births, 3).map((one) => one.key)].map((on) => {
          return { on, optional: this.#roll(2) === 0 };
        }),
      });
    }
    return births;
  }

  #born(task: Task, births: readonly Birth[], children: readonly number[]): void {
    for (const [i, { key, wanted, afterFailure, after }] of births.entries()) {
      const child = children[i] as number;
      const ups = after.map(({ on, optional }): Up => {
        return { task: typeof on === 'number' ? on : (task.journal.get(on) as number), optional };
      });
      task.journal.set(key, child);
      this.#model.push(child, wanted, ups, afterFailure, task);
      this.#seen.births++;
      if (task.parent !== undefined) this.#seen.grandchildren++;
    }
  }

  async #signal(channel: string): Promise<void> {
    const word = `word ${this.#words++}`;
    const engine = this.#engine;
    const { woken } = await engine.waits.signal(channel, word, { op: word });
    const due = this.#model.signal(channel, word);
    assert.deepEqual(woken, due, `a signal on ${channel}`);
    if (this.#roll(3) === 0)
      assert.deepEqual((await this.#engine.waits.signal(channel, word, { op: word })).woken, due);
    const [first] = due;
    if (first === undefined) this.#seen.signalsKept++;
    else this.#heard(this.#model.tasks.get(first) as Task, (await engine.waits.of(first))?.body);
  }

  #heard({ id, heard }: Task, body: string | undefined): void {
    this.#seen.signalsTaken++;
    assert.equal(body, JSON.stringify(heard), `task ${id} hears another word`);
  }

  async #cancel(): Promise<void> {
    const task = this.#one(this.#model.unfinished());
    if (task === undefined) return;
    const answer = await this.#engine.cancel(task.id);
    assert.equal(answer, task.state === 'running' ? 'requested' : 'cancelled', `the cancel of ${task.id}`);
    if (task.state === 'running') this.#asked(task);
    else this.#end(task, 'cancelled');
  }

  /** Somebody wants it to stop. */
  async #ask(task: Task): Promise<void> {
    assert.equal(await this.#engine.cancel(task.id), 'requested', `the cancel of ${task.id}`);
    this.#asked(task);
  }

  #asked(task: Task): void {
    task.asked = true;
    this.#seen.cancelledRunning++;
  }

  #rate(max: number): RateInput {
    const roll = this.#roll;
    return { max, window: 1000, burst: Math.ceil(max / (1 + roll(3))), ...(roll(3) === 0 ? { perKey: true } : {}) };
  }

  async #edit(name: string): Promise<void> {
    const roll = this.#roll;
    this.#seen.edits++;
    if (roll(8) === 0 && this.#model.limits.has(name)) {
      this.#model.limits.delete(name);
      return this.#engine.limits.remove(name);
    }
    const limit: LimitInput = {
      ...(roll(3) > 0 ? { concurrent: roll(7) } : {}),
      ...(roll(2) === 0 ? { perKey: roll(4) } : {}),
      ...(roll(4) === 0 ? { rate: this.#rate(1 + roll(6)) } : {}),
      // No task costs more than a burst: that one would be let through alone.
      ...(roll(6) === 0 ? { cost: this.#rate(15 + roll(20)) } : {}),
    };
    this.#model.setLimit(name, limit);
    await this.#engine.limits.set(name, limit);
  }

  async #switch(): Promise<void> {
    const worker = this.#one(this.#model.workers);
    if (this.#roll(4) === 0) {
      worker.draining = !worker.draining;
      await this.#engine.workers.beat({ worker: worker.id, state: worker.draining ? 'draining' : 'online' });
      return;
    }
    if (this.#roll(3) === 0) worker.enabled = !worker.enabled;
    else worker.given = this.#some(TAGS, 4);
    await this.#engine.workers.set({ name: worker.name, enabled: worker.enabled, tags: worker.given });
  }

  async #stage(): Promise<void> {
    await this.#ground.roster.tick('stager');
    for (const task of this.#model.overdueWaits()) {
      this.#model.wake(task);
      this.#seen.deadlines++;
      assert.equal((await this.#engine.waits.of(task.id))?.outcome, 'timed_out');
    }
  }

  /** Some go silent for longer than their leases hold; the others renew. */
  async #reap(): Promise<void> {
    const held = this.#model.in('running');
    const silent = new Set(held.filter(() => this.#roll(2) === 0));
    for (let round = 0; round < 8; round++) {
      await Promise.all(
        held.filter((task) => !silent.has(task)).map((task) => this.#engine.renew(task.grant as Grant)),
      );
      await this.#pass(LEASE_MS * 0.6);
      await this.#ground.roster.tick('reaper');
    }
    for (const task of silent) {
      const { state } = (await this.#engine.get(task.id)) ?? {};
      assert.notEqual(state, 'running', `the lease of task ${task.id} was not taken back`);
      this.#model.back(task);
      this.#seen.reaped++;
    }
    await this.#stage();
  }

  /** The counters are what runs, to the last unit, and some task is where it should be. */
  async check(): Promise<void> {
    const use = this.#model.use();
    const all = [...this.#model.tasks.values()];
    const some = all.length === 0 ? [] : [this.#one(all)];
    await Promise.all([
      ...[...this.#model.limits.keys()].map(async (name) => {
        for (const { key, active } of await this.#engine.limits.use(name)) {
          assert.equal(active, use.get(`${name}/${key}`) ?? 0, `${name}/${key} is kept wrong`);
        }
      }),
      ...some.map((task) => this.#compare(task)),
    ]);
  }

  async #compare(task: Task): Promise<void> {
    const { id, state, parent, journal } = task;
    const record = await this.#engine.get(id);
    assert.deepEqual([record?.parent, record?.root], [parent?.id, rootOf(task)], `who bore task ${id}`);
    const entries = await this.#engine.journal(id);
    assert.deepEqual(
      new Map(entries.map(({ key, ref, value }) => [key, ref ?? value])),
      journal,
      `what task ${id} remembers`,
    );
    // What comes back after a time is there for the model already.
    const found = record?.state === 'scheduled' ? 'ready' : record?.state;
    assert.equal(found, state, `task ${id}`);
  }

  /** Nobody changes anything, and nothing runs. */
  async settleAll(): Promise<void> {
    for (const name of LIMITS) {
      const { rate: _rate, cost: _cost, ...limit } = this.#model.limits.get(name) ?? {};
      this.#model.setLimit(name, limit);
      await this.#engine.limits.set(name, limit);
    }
    for (const task of this.#model.in('running')) {
      await this.#engine.complete(task.grant as Grant);
      this.#end(task, 'completed');
    }
    await this.#pass(LEASE_MS + GRACE_MS);
    await this.#stage();
  }

  /**
   * One worker alone claims until nothing is left for it, ending each at once: of what was ready it is given exactly what
   * Explain had called runnable by it.
   */
  async agree(): Promise<void> {
    const [engine] = this.#ground.engines;
    const worker = this.#one(this.#model.workers);
    const ready = new Set<number>();
    const runnable: number[] = [];
    const open = this.#model.in('ready', 'waiting');
    for (const [i, told] of (await Promise.all(open.map(({ id }) => engine.explain(id)))).entries()) {
      const { id } = open[i] as Task;
      const verdict = told.workers.find(({ name }) => name === worker.name);
      const free = told.reasons.length === 0 && told.limits.every((limit) => limit.open);
      if (told.state === 'ready') ready.add(id);
      if (told.state === 'ready' && verdict?.eligible && free) runnable.push(id);
      else this.#seen.heldBack++;
      if (told.runnable) assert.ok(free && told.workers.some(({ eligible }) => eligible));
    }
    const got: number[] = [];
    for (let empty = 0; empty < 12; ) {
      const grants = await engine.claim({ ...asking(worker), max: 5 });
      for (const grant of grants) {
        got.push(grant.task);
        await this.#finish(worker, grant);
      }
      if (grants.length > 0) empty = 0;
      else {
        empty++;
        await this.#pass(600);
      }
    }
    assert.deepEqual(
      got.filter((task) => ready.has(task)).toSorted((a, b) => a - b),
      runnable.toSorted((a, b) => a - b),
      `${worker.name} was given other tasks than Explain had said`,
    );
  }

  async #finish(worker: Worker, grant: Grant): Promise<void> {
    this.#model.grant(worker, grant);
    await this.#engine.complete(grant);
    this.#end(this.#model.tasks.get(grant.task) as Task, 'completed');
  }

  /** With everything open, nothing is left over: nobody waits for ever. */
  async drain(): Promise<void> {
    for (const worker of this.#model.workers) {
      Object.assign(worker, { enabled: true, draining: false, given: TAGS });
      await this.#engine.workers.beat({ worker: worker.id, state: 'online' });
      await this.#engine.workers.set({ name: worker.name, enabled: true, tags: TAGS });
    }
    for (const name of LIMITS) {
      this.#model.setLimit(name, { concurrent: 10 });
      await this.#engine.limits.set(name, { concurrent: 10 });
    }
    for (let i = 0; this.#model.unfinished().length > 0; i++) {
      const left = this.#model.unfinished();
      assert.ok(i < 600, `${left.length} tasks are never given: ${JSON.stringify(left[0])}`);
      const worker = this.#model.workers[i % NAMES.length] as Worker;
      const grants = await this.#engine.claim({ ...asking(worker), max: 20 });
      for (const grant of grants) await this.#finish(worker, grant);
      for (const task of this.#model.in('ready')) {
        if (this.#model.workers.some((one) => this.#model.may(one, task.wanted))) continue;
        await this.#engine.cancel(task.id);
        this.#end(task, 'cancelled');
      }
      for (const channel of CHANNELS) {
        if (this.#model.in('waiting').some(({ wait }) => wait?.channel === channel)) await this.#signal(channel);
      }
      await this.#pass(300);
      await this.#stage();
    }
    await this.#clean();
  }

  /** Everything has ended as the model says, every counter is at rest, and the auditor has nothing to say. */
  async #clean(): Promise<void> {
    const engine = this.#engine;
    for (const queue of QUEUES) {
      for (const { task, state } of await engine.list({ queue, limit: 1000 })) {
        assert.equal(state, this.#model.tasks.get(task)?.state, `task ${task} has ended`);
      }
    }
    for (const name of LIMITS) {
      for (const { key, active } of await this.#engine.limits.use(name))
        assert.equal(active, 0, `${name}/${key} leaks`);
    }
    assert.equal(await this.#ground.roster.tick('auditor'), 0, 'the auditor found a difference');
  }
}

/** A child that a turn bears. */
interface Birth {
  readonly key: string;
  readonly wanted: Wanted;
  readonly afterFailure: AfterFailure;
  readonly after: readonly { readonly on: number | string; readonly optional: boolean }[];
}

function entryOf({ key, wanted, afterFailure, after }: Birth): EntryRequest {
  return { key, kind: 'child', child: requestOf(wanted), after, afterFailure };
}

/** A worker that serves some queues asks for nothing else. */
function asking({ id, queues }: Worker): { readonly worker: number; readonly queues?: readonly string[] } {
  return queues === undefined ? { worker: id } : { worker: id, queues };
}

function requestOf({ queue, placement, limits }: Wanted): PushRequest {
  return { queue, placement, limits, handler: 'h', maxAttempts: 100, retry: { baseMs: 10, maxMs: 10 } };
}

/** Steps at random, the counters checked after each; then Explain against the claim; then everything is worked off. */
export async function scheduling(ground: Ground, seed: number, steps: number, seen: Seen): Promise<void> {
  const trial = new Trial(ground, seed, seen);
  try {
    await trial.begin(seed % 2 === 0);
    for (let step = 0; step < steps; step++) await trial.step();
    await trial.push(3);
    await trial.settleAll();
    await trial.agree();
    await trial.drain();
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await ground.close();
  }
}
