import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DirectLink } from '../app/link/direct-link.ts';
import { type Node, openNode } from '../app/node.ts';
import { fault, isEngineError } from '../core/errors.ts';
import { pause } from '../core/pause.ts';
import type { PushRequest } from '../engine/push/push.ts';
import type { Completion, Link, Session } from '../protocol/link.ts';
import { refusal } from '../store/conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../store/conformance/kit/snapshot.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../testing.ts';
import type { AnyTask, TaskContext, TaskOptions } from './define/definition.ts';
import { giveUp, retryAfter } from './define/outcome.ts';
import { task } from './define/task.ts';
import { InlineRunner } from './runner/inline-runner.ts';
import type { ActiveRun, Runner, RunOutcome, RunRequest } from './runner/runner.ts';
import { Worker } from './worker.ts';
import type { WorkerOptions } from './worker-options.ts';

const folder = tempFolder('worker');
const DAY = 86_400_000;
const LEASE = 30_000;

type RunOptions = Omit<TaskOptions<undefined, unknown>, 'run'>;

/** One run of a handler, in the hands of the test. */
interface Run {
  readonly name: string;
  readonly input: unknown;
  readonly ctx: TaskContext;
  readonly end: (value?: unknown) => void;
  readonly fail: (error: unknown) => void;
  over: boolean;
}

/** An engine in virtual time, and what a test does with it. */
class Rig {
  readonly world: VirtualWorld;
  readonly node: Node;
  readonly runs: Run[] = [];
  readonly warnings: string[] = [];
  readonly workers: Worker[] = [];
  most = 0;

  constructor(world: VirtualWorld, node: Node) {
    this.world = world;
    this.node = node;
  }

  get engine(): Node['engine'] {
    return this.node.engine;
  }

  /** Runs that have not come to their end. */
  get open(): readonly Run[] {
    return this.runs.filter(({ over }) => !over);
  }

  get link(): Link {
    return new DirectLink(this.engine, undefined);
  }

  /** A task whose runs end when the test ends them, or at their signal if they heed it. */
  slow(name: string, options: RunOptions & { readonly heeds?: boolean } = {}): AnyTask {
    const { heeds = true, ...rest } = options;
    return task(name, {
      queue: 'work',
      ...rest,
      run: (input, ctx) =>
        new Promise((resolve, reject) => {
          const run: Run = {
            name,
            input,
            ctx,
            over: false,
            end: (value) => end(resolve, value),
            fail: (error) => end(reject, error),
          };
          const end = (how: (value: unknown) => void, value: unknown): void => {
            run.over = true;
            how(value);
          };
          this.runs.push(run);
          this.most = Math.max(this.most, this.open.length);
          if (heeds) ctx.signal.addEventListener('abort', () => run.fail(ctx.signal.reason));
        }),
    });
  }

  make(tasks: readonly AnyTask[], options: Partial<WorkerOptions> = {}): Worker {
    const worker = new Worker({
      link: this.link,
      world: this.world,
      name: `w${this.workers.length}`,
      incarnation: randomUUID(),
      runners: [new InlineRunner(tasks, this.world.timers)],
      slots: 2,
      log: {
        warn: (message, fields) => void this.warnings.push(`${message}${fields ? ` ${JSON.stringify(fields)}` : ''}`),
      },
      ...options,
    });
    this.workers.push(worker);
    return worker;
  }

  async start(tasks: readonly AnyTask[], options: Partial<WorkerOptions> = {}): Promise<Worker> {
    const worker = this.make(tasks, options);
    await worker.start();
    await this.world.settle();
    return worker;
  }

  async push(handler: string, request: Partial<PushRequest> = {}): Promise<number> {
    const { task: number } = await this.engine.push({ queue: 'work', handler, retry: { baseMs: 0 }, ...request });
    await this.world.settle();
    return number;
  }

  async pushMany(handler: string, count: number, request: Partial<PushRequest> = {}): Promise<readonly number[]> {
    const one = { queue: 'work', handler, retry: { baseMs: 0 }, ...request };
    const pushed = await this.engine.pushMany(Array.from({ length: count }, () => one));
    await this.world.settle();
    return pushed.map((it) => it.task);
  }

  /** Makes them suspects: another worker claims them and falls silent until its leases are reaped. */
  async dieUnder(tasks: readonly number[]): Promise<void> {
    const worker = await this.engine.workers.register({ name: 'victim', incarnation: randomUUID(), slots: 100 });
    for (const number of tasks) assert.equal((await this.engine.claim({ worker, max: 1, task: number })).length, 1);
    await this.world.advance(LEASE + 1);
    await this.node.roster.tick('reaper');
  }

  async end(run: Run | undefined, value?: unknown): Promise<void> {
    assert.ok(run, 'there is no such run');
    run.end(value);
    await this.world.advance(10);
  }

  async brief(number: number): Promise<string> {
    const record = await this.engine.get(number);
    assert.ok(record);
    return `${record.state} ${record.reason} ${record.tries}/${record.attempt}`;
  }

  async error(number: number): Promise<{ code?: string; message?: string; name?: string } | undefined> {
    const result = (await this.engine.get(number))?.result;
    return result === undefined ? undefined : JSON.parse(result);
  }

  /** Waits in virtual time. */
  async until<T>(promise: Promise<T>, ms = 120_000): Promise<T> {
    let done = false;
    void promise.then(
      () => (done = true),
      () => (done = true),
    );
    for (let past = 0; past < ms; past += 50) {
      await this.world.settle();
      if (done) return promise;
      await this.world.advance(50);
    }
    return assert.fail('it did not come to its end in time');
  }
}

async function rig(t: TestContext, url = 'memory:'): Promise<Rig> {
  const world = new VirtualWorld();
  const node = await openNode(url, { world, duties: false, housekeeping: false, dutyMs: DAY, leaseMs: LEASE });
  const it = new Rig(world, node);
  t.after(async () => {
    await it.until(Promise.all(it.workers.map((worker) => worker.stop({ drain: false }))));
    checkBooks(await lookAt(node.engine.store));
    await node.close();
  });
  return it;
}

/** The reason of its abort signal. */
function why(run: Run | undefined): string | undefined {
  return (run?.ctx.signal.reason as { why?: string } | undefined)?.why;
}

/** A link whose sessions do some things differently. */
function linkWith(link: Link, change: (session: Session) => Partial<Session>): Link {
  return {
    open: async (hello) => {
      const session = await link.open(hello);
      const changes = change(session);
      const changed = { ...together(changes), ...changes } as Record<PropertyKey, unknown>;
      return new Proxy(session, {
        get(target, key) {
          if (key in changed) return changed[key];
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    },
  };
}

/** Ends that come together go through the changed `complete` too. */
function together({ complete }: Partial<Session>): Partial<Session> {
  if (complete === undefined) return {};
  const one = ({ lease, result }: Completion): Promise<Error | undefined> =>
    complete(lease, result).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
  return { completeMany: (ends) => Promise.all(ends.map(one)) };
}

/** A runner that stands for child processes. */
class Apart implements Runner {
  readonly isolates = true;
  readonly handlers: readonly string[];
  readonly requests: { readonly request: RunRequest; readonly end: (ended: RunOutcome) => void }[] = [];
  readonly stops: string[] = [];
  started = 0;
  closed = 0;
  trouble: Error | undefined;

  constructor(handlers: readonly string[]) {
    this.handlers = handlers;
  }

  async start(): Promise<void> {
    this.started++;
    if (this.trouble !== undefined) throw this.trouble;
  }

  run(request: RunRequest): ActiveRun {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    this.requests.push({ request, end: resolve });
    return { ended: promise, stop: (why) => void this.stops.push(why) };
  }

  async close(): Promise<void> {
    this.closed++;
    for (const { end } of this.requests) end({ kind: 'failed', error: 'closed' });
  }
}

// Claiming

test('slots are never exceeded, and none stays empty while there is work', async (t) => {
  const it = await rig(t);
  await it.pushMany('slow', 20);
  const worker = await it.start([it.slow('slow')], { slots: 3 });
  for (let n = 0; n < 20; n++) {
    assert.equal(it.open.length, Math.min(3, 20 - n));
    assert.equal(worker.stats.running, it.open.length);
    await it.end(it.open[n % Math.min(3, 20 - n)]);
  }
  assert.deepEqual([it.most, worker.stats.settled.completed], [3, 20]);
});

test('more slots than one claim may ask for are filled all the same', async (t) => {
  const it = await rig(t);
  await it.pushMany('slow', 1300);
  const worker = await it.start([it.slow('slow')], { slots: 1200 });
  assert.equal(worker.stats.running, 1200);
  assert.deepEqual(it.warnings, []);
});

test('long tasks are not claimed ahead', async (t) => {
  const it = await rig(t);
  const tasks = await it.pushMany('slow', 6);
  const worker = await it.start([it.slow('slow')]);
  for (let n = 0; n < 3; n++) {
    await it.world.advance(1000);
    await it.end(it.open[0]);
    assert.deepEqual([worker.stats.running, worker.stats.ahead], [2, 0]);
  }
  assert.equal(await it.brief(tasks[5] as number), 'ready none 0/0');
});

/** A worker that has seen only short tasks, so that it claims ahead; then slow ones come. */
async function ahead(it: Rig, count: number, options: Partial<WorkerOptions> = {}) {
  const worker = await it.start([it.slow('slow'), task('quick', { queue: 'work', run: () => 1 })], options);
  for (let n = 0; n < 3; n++) await it.pushMany('quick', 4);
  const done = worker.stats.settled.completed;
  assert.equal(done, 12);
  await it.engine.pause('work');
  const tasks = await it.pushMany('slow', count);
  await it.engine.resume('work');
  await it.world.advance(100);
  return { worker, tasks };
}

test('short tasks are claimed ahead, and what lies too long goes back without costing a try', async (t) => {
  const it = await rig(t);
  const { worker, tasks } = await ahead(it, 10);
  assert.deepEqual([worker.stats.running, worker.stats.ahead], [2, 8]);
  await it.world.advance(800);
  assert.deepEqual([worker.stats.running, worker.stats.ahead, worker.stats.settled.released], [2, 0, 8]);
  const states = await Promise.all(tasks.map((number) => it.brief(number)));
  assert.deepEqual(states.toSorted(), [...Array(8).fill('ready none 0/1'), ...Array(2).fill('running none 1/1')]);
  await it.world.advance(5000);
  assert.equal(worker.stats.settled.released, 8, 'it does not take them again');
});

test('where a claim shares no commit with ends, the next one is under way while what the last one brought is run', async (t) => {
  const it = await rig(t);
  await it.pushMany('quick', 60);
  let pending = 0;
  const seen: number[] = [];
  const link = linkWith(it.link, (session) => ({
    claimsApart: true,
    claim: async (request) => {
      pending++;
      const batch = await session.claim(request);
      await pause(it.world.timers, 1);
      pending--;
      return batch;
    },
  }));
  const quick = task('quick', { queue: 'work', run: () => void seen.push(pending) });
  const worker = await it.start([quick], { link, slots: 2, lookahead: 8 });
  await it.world.advance(50);
  assert.equal(worker.stats.settled.completed, 60);
  // The first claim is for the slots alone: nothing is known of the tasks yet. The last one brings less than it asked for.
  assert.deepEqual(seen, [0, 0, ...Array(55).fill(1), 0, 0, 0]);
});

test('what a full claim brought is given back, and not started, by a worker that is stopped before its next claim has left', async (t) => {
  const it = await rig(t);
  const tasks = await it.pushMany('quick', 60);
  let ran = 0;
  let claims = 0;
  const link = linkWith(it.link, (session) => ({
    claimsApart: true,
    claim: async (request) => {
      const batch = await session.claim(request);
      if (++claims === 2) queueMicrotask(() => queueMicrotask(() => void worker.stop()));
      return batch;
    },
  }));
  const quick = task('quick', { queue: 'work', run: () => void ran++ });
  const worker = it.make([quick], { link, slots: 2, lookahead: 8 });
  await it.until(worker.start());
  await it.until(worker.ended);
  const states = await Promise.all(tasks.map((number) => it.brief(number)));
  assert.equal(states.filter((state) => state.startsWith('completed')).length, ran);
  assert.equal(states.filter((state) => state.startsWith('ready') && state.includes(' 0/')).length, 60 - ran);
});

test('the time that an idle worker waits for work is not taken for that of a claim', async (t) => {
  const it = await rig(t);
  const worker = await it.start([it.slow('slow')]);
  for (let n = 0; n < 60; n++) {
    await it.world.advance(300);
    await it.push('slow');
    await it.world.advance(50);
    await it.end(it.open[0]);
  }
  assert.equal(worker.stats.settled.completed, 60);
  await it.pushMany('slow', 20);
  await it.world.advance(50);
  assert.deepEqual([worker.stats.running, worker.stats.ahead], [2, 0]);
});

test('a worker without look-ahead claims for its slots alone', async (t) => {
  const it = await rig(t);
  const { worker } = await ahead(it, 10, { lookahead: 0 });
  assert.deepEqual([worker.stats.running, worker.stats.ahead], [2, 0]);
});

test('what was claimed ahead goes back when the worker drains', async (t) => {
  const it = await rig(t);
  const { worker, tasks } = await ahead(it, 6);
  assert.equal(worker.stats.ahead, 4);
  const stopping = worker.stop();
  await it.world.settle();
  assert.deepEqual([worker.stats.running, worker.stats.ahead], [2, 0]);
  const states = await Promise.all(tasks.map((number) => it.brief(number)));
  assert.equal(states.filter((state) => state === 'ready none 0/1').length, 4);
  for (const run of it.open) run.end();
  await it.until(stopping);
  assert.equal(it.runs.length, 2);
});

test('what lies ahead and is cancelled is never started', async (t) => {
  const it = await rig(t);
  const { worker } = await ahead(it, 4);
  assert.equal(worker.stats.ahead, 2);
  const running = new Set(it.open.map(({ ctx }) => it.engine.parseId(ctx.id)));
  const held = await it.engine.list({ limit: 100, states: ['running'] });
  const [waiting] = held.filter((record) => !running.has(record.task));
  assert.ok(waiting);
  assert.equal(await it.engine.cancel(waiting.task), 'requested');
  await it.world.settle();
  assert.equal(await it.brief(waiting.task).then((text) => text.split(' ')[0]), 'cancelled');
  assert.equal(worker.stats.ahead, 1);
  assert.ok(it.runs.every(({ ctx }) => it.engine.parseId(ctx.id) !== waiting.task));
});

test('what lies ahead is never started once its queue is paused, and goes back with its try', async (t) => {
  const it = await rig(t);
  const { worker, tasks } = await ahead(it, 10);
  assert.deepEqual([worker.stats.running, worker.stats.ahead], [2, 8]);
  await it.engine.pause('work');
  for (const run of it.open) await it.end(run);
  await it.world.advance(0);
  assert.equal(it.runs.length, 2, 'a task was started after the pause');
  const states = await Promise.all(tasks.map((number) => it.brief(number)));
  assert.deepEqual(states.toSorted(), [...Array(2).fill('completed none 1/1'), ...Array(8).fill('ready none 0/1')]);
  await it.engine.resume('work');
  await it.world.advance(100);
  assert.equal(it.open.length, 2);
});

test('what a claim brings that was under way when its queue was paused is not started', async (t) => {
  const it = await rig(t);
  const gate = Promise.withResolvers<void>();
  const link = linkWith(it.link, (session) => ({
    claim: async (request) => {
      const found = await session.claim(request);
      if (found.length > 0) await gate.promise;
      return found;
    },
  }));
  const worker = await it.start([it.slow('slow')], { link });
  const number = await it.push('slow');
  await it.world.advance(10);
  assert.equal((await it.engine.get(number))?.state, 'running', 'it is granted and on its way');
  await it.engine.pause('work');
  gate.resolve();
  await it.world.advance(10);
  assert.deepEqual([it.runs.length, worker.stats.ahead], [0, 0]);
  assert.equal(await it.brief(number), 'ready none 0/1');
});

test('a link whose claim throws is asked again after a pause, with a warning', async (t) => {
  const it = await rig(t);
  let faults = 3;
  let asked = 0;
  const link = linkWith(it.link, (session) => ({
    claim: (request) => {
      asked++;
      return faults-- > 0 ? Promise.reject(fault('STORE_UNAVAILABLE')) : session.claim(request);
    },
  }));
  await it.start([it.slow('slow')], { link });
  await it.push('slow');
  assert.deepEqual([asked, it.open.length], [1, 0]);
  await it.world.advance(2500);
  assert.equal(it.open.length, 1);
  assert.ok(asked <= 6, `asked ${asked} times`);
  assert.equal(it.warnings.filter((text) => /cannot be claimed/.test(text)).length, 3);
});

test('a worker is online from its start on, draining while it drains, and offline in the end', async (t) => {
  const it = await rig(t);
  const state = async () => (await it.engine.workers.list())[0]?.state;
  await it.push('slow');
  const worker = await it.start([it.slow('slow')]);
  assert.equal(await state(), 'online');
  const stopping = worker.stop();
  await it.world.settle();
  assert.equal(await state(), 'draining');
  await it.world.advance(25_000);
  assert.equal(await state(), 'draining');
  await it.end(it.open[0]);
  await it.until(stopping);
  assert.equal(await state(), 'offline');
});

// Suspects

test('a suspect without a shield runs alone: what was claimed with it goes back first, with its try', async (t) => {
  const it = await rig(t);
  const [bad, worse] = (await it.pushMany('slow', 2, { priority: 5, maxAttempts: 9 })) as [number, number];
  await it.dieUnder([bad, worse]);
  const others = await it.pushMany('slow', 4, { input: 'other' });
  const worker = await it.start([it.slow('slow')], { slots: 8 });
  const briefs = () => Promise.all([bad, worse, ...others].map((number) => it.brief(number)));
  assert.deepEqual(await briefs(), ['running none 2/2', 'ready none 1/2', ...Array(4).fill('ready none 0/1')]);
  assert.deepEqual([it.open.length, worker.stats.running, worker.stats.ahead], [1, 1, 0]);
  await it.world.advance(5000);
  assert.equal(it.open.length, 1);
  await it.end(it.open[0]);
  assert.deepEqual([it.open.length, it.most], [1, 1], 'the second suspect runs alone too');
  assert.equal(it.engine.parseId(it.open[0]?.ctx.id ?? ''), worse);
  await it.end(it.open[0]);
  assert.deepEqual([it.open.length, worker.stats.running], [4, 4]);
  for (const run of it.open) run.end();
  await it.world.settle();
  assert.deepEqual(
    (await briefs()).map((text) => text.split(' ')[0]),
    Array(6).fill('completed'),
  );
});

test('a suspect waits until what runs beside it has ended', async (t) => {
  const it = await rig(t);
  const first = await it.push('slow', { input: 'first', maxAttempts: 9 });
  const bad = await it.push('slow', { input: 'bad', maxAttempts: 9 });
  await it.dieUnder([bad]);
  await it.engine.pause('work');
  const worker = await it.start([it.slow('slow')], { slots: 1 });
  await it.engine.resume('work');
  await it.world.advance(100);
  // Whichever came first, never both.
  assert.deepEqual([it.open.length, it.most], [1, 1]);
  await it.end(it.open[0]);
  await it.end(it.open[0]);
  assert.deepEqual([it.most, worker.stats.settled.completed], [1, 2]);
  for (const number of [first, bad]) assert.match(await it.brief(number), /^completed/);
});

test('a suspect that comes while others run lets them end, and only then starts', async (t) => {
  const it = await rig(t);
  const bad = await it.push('slow', { input: 'bad', maxAttempts: 9 });
  await it.dieUnder([bad]);
  await it.engine.pause('work');
  await it.push('other', { queue: 'else' });
  await it.start([it.slow('slow'), it.slow('other', { queue: 'else' })], { slots: 4 });
  assert.deepEqual(
    it.open.map(({ name }) => name),
    ['other'],
  );
  await it.engine.resume('work');
  await it.world.advance(200);
  assert.equal(await it.brief(bad), 'running none 2/2');
  assert.equal(it.runs.length, 1);
  await it.end(it.open[0]);
  assert.deepEqual(
    it.open.map(({ name }) => name),
    ['slow'],
  );
});

test('a suspect that waits too long for its neighbours goes back with its try, and its worker goes on with other work', async (t) => {
  const it = await rig(t);
  const { bad } = await waitingSuspect(it);
  await it.world.advance(LEASE / 6);
  assert.equal(await it.brief(bad), 'scheduled none 1/2');
  await it.push('other', { queue: 'else' });
  await it.world.settle();
  assert.deepEqual(
    it.open.map(({ name }) => name),
    ['other', 'other'],
  );
});

/** A suspect that waits for another run to end. */
async function waitingSuspect(it: Rig) {
  const bad = await it.push('slow', { input: 'bad', maxAttempts: 9 });
  await it.dieUnder([bad]);
  await it.engine.pause('work');
  await it.push('other', { queue: 'else' });
  const worker = await it.start([it.slow('slow'), it.slow('other', { queue: 'else' })], { slots: 4 });
  await it.engine.resume('work');
  await it.world.advance(200);
  assert.equal(await it.brief(bad), 'running none 2/2');
  return { worker, bad };
}

test('a suspect that loses its lease while it waits is not started', async (t) => {
  const it = await rig(t);
  const { worker, bad } = await waitingSuspect(it);
  await it.engine.pause('work');
  await it.engine.pause('else');
  // The process sleeps past its leases while another one reaps.
  it.world.elapse(LEASE + 1000);
  await it.node.roster.tick('reaper');
  await it.world.advance(10_000);
  assert.match(await it.brief(bad), /^ready none 2.2/);
  assert.deepEqual([it.runs.length, worker.stats.settled.lost], [1, 2]);
});

test('a suspect that is cancelled while it waits is not started', async (t) => {
  const it = await rig(t);
  const { worker, bad } = await waitingSuspect(it);
  await it.engine.cancel(bad);
  await it.end(it.open[0]);
  assert.match(await it.brief(bad), /^cancelled requested/);
  assert.deepEqual([it.runs.length, worker.stats.settled.cancelled], [1, 1]);
});

test('a suspect that waits goes back with its try when the worker drains', async (t) => {
  const it = await rig(t);
  const { worker, bad } = await waitingSuspect(it);
  const stopping = worker.stop();
  await it.world.settle();
  await it.end(it.open[0]);
  await it.until(stopping);
  assert.equal(await it.brief(bad), 'ready none 1/2');
  assert.deepEqual([it.runs.length, worker.stats.settled.released], [1, 1]);
});

test('a suspect that was claimed ahead runs alone too, though a claim waits for more', async (t) => {
  const it = await rig(t);
  const bad = await it.push('slow', { priority: 5, maxAttempts: 9 });
  await it.dieUnder([bad]);
  await it.engine.pause('work');
  const worker = await it.start([it.slow('slow'), task('quick', { queue: 'fast', run: () => 1 })], { slots: 1 });
  for (let n = 0; n < 3; n++) await it.pushMany('quick', 4, { queue: 'fast' });
  const first = await it.push('slow', { priority: 9 });
  const others = await it.pushMany('slow', 5);
  await it.engine.resume('work');
  await it.world.advance(100);
  assert.deepEqual([worker.stats.running, worker.stats.ahead], [1, 6]);
  assert.match(await it.brief(first), /^running/);
  await it.end(it.open[0]);
  assert.deepEqual([worker.stats.running, worker.stats.ahead], [1, 0]);
  assert.equal(await it.brief(bad), 'running none 2/2');
  for (const number of others) assert.equal(await it.brief(number), 'ready none 0/1');
  await it.world.advance(3000);
  for (const number of others) assert.equal(await it.brief(number), 'ready none 0/1');
  await it.end(it.open[0]);
  assert.equal(await it.brief(bad), 'completed none 2/2');
  assert.equal(worker.stats.running, 1);
});

test('a suspect with a shield runs there while others go on', async (t) => {
  const it = await rig(t);
  const bad = await it.push('slow', { input: 'bad', priority: 5, maxAttempts: 9 });
  await it.dieUnder([bad]);
  await it.pushMany('slow', 3);
  const shield = new Apart(['slow']);
  const worker = await it.start([it.slow('slow')], { slots: 4, suspectRunner: shield });
  assert.equal(shield.started, 1);
  assert.deepEqual(
    shield.requests.map(({ request }) => [request.task, request.attempt, request.alone]),
    [[bad, 2, true]],
  );
  assert.deepEqual([it.open.length, worker.stats.running], [3, 4]);
  shield.requests[0]?.end({ kind: 'done', result: 'survived' });
  await it.world.settle();
  assert.match(await it.brief(bad), /^completed/);
  for (const run of it.open) run.end();
  await it.until(worker.stop());
  assert.equal(shield.closed, 1);
});

// Ending by itself

test('once: exactly one task is claimed, whatever is there, and the worker ends with it', async (t) => {
  const it = await rig(t);
  const tasks = await it.pushMany('slow', 3);
  const worker = await it.start([it.slow('slow')], { once: true, slots: 4 });
  assert.deepEqual([it.open.length, worker.stats.running], [1, 1]);
  await it.world.advance(20_000);
  await it.end(it.open[0], 'one');
  await it.until(worker.ended);
  assert.deepEqual([it.runs.length, worker.stats.settled.completed], [1, 1]);
  const states = await Promise.all(tasks.map((number) => it.brief(number)));
  assert.equal(states.filter((state) => state === 'ready none 0/0').length, 2);
  assert.equal((await it.engine.workers.list())[0]?.state, 'offline');
});

test('once: its task is run also where claims share no commit with ends', async (t) => {
  const it = await rig(t);
  const [only = 0] = await it.pushMany('slow', 3);
  const link = linkWith(it.link, () => ({ claimsApart: true }));
  const worker = await it.start([it.slow('slow')], { link, once: true, slots: 4 });
  assert.equal(it.open.length, 1);
  await it.end(it.open[0]);
  await it.until(worker.ended);
  assert.deepEqual([worker.stats.settled.completed, worker.stats.settled.released], [1, 0]);
  assert.equal(await it.brief(only), 'completed none 1/1');
});

test('once: its task may be a suspect', async (t) => {
  const it = await rig(t);
  const bad = await it.push('slow', { maxAttempts: 9 });
  await it.dieUnder([bad]);
  const worker = await it.start([it.slow('slow')], { once: true });
  await it.end(it.open[0]);
  await it.until(worker.ended);
  assert.equal(await it.brief(bad), 'completed none 2/2');
});

test('once: a worker that finds nothing waits', async (t) => {
  const it = await rig(t);
  const worker = await it.start([it.slow('slow')], { once: true });
  await it.world.advance(100_000);
  assert.equal(worker.stats.running, 0);
  await it.push('slow');
  await it.world.advance(1000);
  await it.end(it.open[0]);
  await it.until(worker.ended);
  assert.equal(worker.stats.settled.completed, 1);
});

test('an idle worker ends after its time, counted from its last task', async (t) => {
  const it = await rig(t);
  const worker = await it.start([it.slow('slow')], { idleExitMs: 5000 });
  let ended = 0;
  void worker.ended.then(() => (ended = it.world.clock.monotonic()));
  await it.world.advance(4000);
  await it.push('slow');
  await it.world.advance(20_000);
  assert.equal(ended, 0, 'it is not idle while something runs');
  await it.end(it.open[0]);
  const idleFrom = it.world.clock.monotonic();
  await it.world.advance(4900);
  assert.equal(ended, 0);
  await it.until(worker.ended);
  assert.ok(ended - idleFrom < 6000, `it ended ${ended - idleFrom} ms after its last task`);
});

test('an idle worker that never had a task ends too', async (t) => {
  const it = await rig(t);
  const worker = await it.start([it.slow('slow')], { idleExitMs: 45_000 });
  let ended = false;
  void worker.ended.then(() => (ended = true));
  await it.world.advance(44_000);
  assert.equal(ended, false);
  await it.world.advance(2000);
  assert.equal(ended, true);
});

test('a worker is not idle while the answer to its claim is on its way, or nobody can be asked', async (t) => {
  const it = await rig(t);
  const [answered, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const direct = it.link;
  const slow: Link = {
    open: async (hello) => {
      const session = await direct.open(hello);
      const claim = session.claim.bind(session);
      let claims = 0;
      session.claim = async (request) => {
        claims++;
        // The first claim finds a task after a long wait; then the store is away for a while.
        if (claims === 2) await back.promise.then(() => Promise.reject(fault('STORE_UNAVAILABLE')));
        const batch = await claim(request);
        if (claims === 1) await answered.promise;
        return batch;
      };
      return session;
    },
  };
  await it.push('slow');
  const worker = await it.start([it.slow('slow')], { idleExitMs: 1000, link: slow, slots: 1, lookahead: 0 });
  let ended = false;
  void worker.ended.then(() => (ended = true));
  await it.world.advance(20_000);
  assert.equal(ended, false, 'what it was granted had not arrived');
  answered.resolve();
  await it.world.settle();
  await it.end(it.open[0]);
  await it.world.advance(20_000);
  assert.equal(ended, false, 'it could not ask');
  back.resolve();
  await it.world.advance(5000);
  assert.equal(ended, true);
  assert.deepEqual(worker.stats.settled.completed, 1);
});

// Stopping

test('a worker that has never reached the other side of its link ends as soon as it is told to', async (t) => {
  const it = await rig(t);
  const deaf: Link = {
    open: (_hello, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error))),
  };
  const worker = it.make([it.slow('slow')], { link: deaf });
  const start = worker.start();
  start.catch(() => {});
  await it.world.settle();
  await worker.stop();
  await worker.ended;
  assert.equal(await refusal(start), 'STORE_CLOSED');
});

test('a drain lets what runs come to its end, however long that takes', async (t) => {
  const it = await rig(t);
  const [one] = (await it.pushMany('slow', 2)) as [number, number];
  const worker = await it.start([it.slow('slow')]);
  const stopping = worker.stop();
  await it.world.advance(600_000);
  assert.equal(it.open.length, 2);
  assert.ok(it.open.every(({ ctx }) => !ctx.signal.aborted));
  const late = await it.push('slow');
  for (const run of it.open) run.end('in peace');
  await it.until(stopping);
  assert.equal(await it.brief(one), 'completed none 1/1');
  assert.equal(await it.brief(late), 'ready none 0/0');
  assert.equal(worker.stats.settled.completed, 2);
});

test('after drainMs what still runs is told to stop, and goes back with its try', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow');
  const worker = await it.start([it.slow('slow')]);
  const stopping = worker.stop({ drainMs: 5000 });
  await it.world.advance(4900);
  assert.equal(it.open.length, 1);
  await it.world.advance(200);
  assert.equal(why(it.runs[0]), 'shutdown');
  await it.until(stopping, 2000);
  assert.equal(await it.brief(number), 'ready none 0/1');
  assert.deepEqual(worker.stats.settled.released, 1);
});

test('what ends well after the stop signal is kept', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow');
  const worker = await it.start([it.slow('slow', { heeds: false })]);
  const stopping = worker.stop({ drain: false });
  await it.world.advance(100);
  await it.end(it.open[0], 'just in time');
  await it.until(stopping);
  assert.equal(await it.brief(number), 'completed none 1/1');
});

test('what ignores the stop signal is given back with its try after the ladder', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow');
  const worker = await it.start([it.slow('slow', { heeds: false })]);
  await it.until(worker.stop({ drain: false }), 5000);
  assert.equal(await it.brief(number), 'ready none 0/1');
});

test('a second stop without drain cuts the drain short, and one with a shorter time shortens it', async (t) => {
  const it = await rig(t);
  const numbers = await it.pushMany('slow', 2);
  const one = await it.start([it.slow('slow')], { slots: 1 });
  const two = await it.start([it.slow('slow')], { slots: 1 });
  const stopping = [one.stop(), two.stop()];
  await it.world.advance(60_000);
  assert.equal(it.open.length, 2);
  assert.equal(one.stop({ drain: false }), stopping[0], 'both wait for the same end');
  void two.stop({ drainMs: 1000 });
  await it.world.settle();
  assert.equal(it.open.length, 1);
  await it.until(Promise.all(stopping), 5000);
  for (const number of numbers) assert.equal(await it.brief(number), 'ready none 0/1');
});

test('stopping twice is stopping once; stopping before the start ends a worker that then cannot start', async (t) => {
  const it = await rig(t);
  const worker = await it.start([it.slow('slow')]);
  await it.until(Promise.all([worker.stop(), worker.stop(), worker.ended]));
  await it.until(worker.stop({ drain: false }));
  const never = it.make([it.slow('slow')]);
  await never.stop();
  await never.ended;
  assert.equal(await refusal(never.start()), 'CONFLICT');
  assert.equal((await it.engine.workers.list()).length, 1);
});

test('starting twice is refused, even before the first start is through', async (t) => {
  const it = await rig(t);
  const worker = it.make([it.slow('slow')]);
  const [first, second] = await Promise.allSettled([worker.start(), worker.start()]);
  assert.equal(first.status, 'fulfilled');
  assert.ok(second.status === 'rejected' && isEngineError(second.reason, 'CONFLICT'));
  assert.equal(await refusal(worker.start()), 'CONFLICT');
  assert.equal((await it.engine.workers.list()).length, 1);
});

test('a stop that comes while the worker starts leaves nothing behind', async (t) => {
  const it = await rig(t);
  const apart = new Apart(['far']);
  const number = await it.push('slow');
  const worker = it.make([], { runners: [new InlineRunner([it.slow('slow')], it.world.timers), apart] });
  const starting = worker.start();
  const stopping = worker.stop();
  await it.until(Promise.all([starting.catch(() => {}), stopping]));
  await it.world.advance(1000);
  assert.equal(apart.closed, 1);
  assert.ok((await it.engine.workers.list()).every(({ state }) => state === 'offline'));
  assert.deepEqual([it.runs.length, (await it.brief(number)).split('/')[0]], [0, 'ready none 0']);
});

test('a claim that is under way when the worker stops is given back before the worker has ended', async (t) => {
  const it = await rig(t);
  const granted = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const link = linkWith(it.link, (session) => ({
    claim: async (request) => {
      const batch = await session.claim(request);
      if (batch.length > 0) {
        granted.resolve();
        await answer.promise;
      }
      return batch;
    },
  }));
  const worker = await it.start([it.slow('slow')], { link });
  const number = await it.push('slow');
  await granted.promise;
  let ended = false;
  const stopping = worker.stop().then(() => (ended = true));
  await it.world.advance(3000);
  assert.equal(ended, false, 'a task is on its way to it');
  answer.resolve();
  await it.until(stopping);
  assert.equal(await it.brief(number), 'ready none 0/1');
  assert.equal(it.runs.length, 0);
});

test('when one runner cannot start, the others are closed and nothing is registered', async (t) => {
  const it = await rig(t);
  const [good, bad] = [new Apart(['good']), new Apart(['bad'])];
  bad.trouble = new Error('no such module');
  const worker = it.make([], { runners: [good, bad] });
  await assert.rejects(worker.start(), /no such module/);
  assert.deepEqual([good.closed, await it.engine.workers.list()], [1, []]);
  await worker.stop();
  await worker.ended;
});

test('a link that cannot be opened is told, and the runners are closed', async (t) => {
  const it = await rig(t);
  const apart = new Apart(['far']);
  const link: Link = { open: () => Promise.reject(fault('STORE_UNAVAILABLE')) };
  const worker = it.make([], { runners: [apart], link });
  assert.equal(await refusal(worker.start()), 'STORE_UNAVAILABLE');
  assert.equal(apart.closed, 1);
  await worker.stop();
});

// Cancelling

test('a cancelled task hears of it at once and ends as cancelled, whatever its handler returns then', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow');
  const worker = await it.start([it.slow('slow', { heeds: false })]);
  await it.engine.cancel(number);
  await it.world.settle();
  assert.equal(why(it.runs[0]), 'cancelled');
  await it.end(it.open[0], 'half of a result');
  assert.equal(await it.brief(number), 'cancelled requested 1/1');
  assert.equal((await it.engine.get(number))?.result, undefined);
  assert.equal(worker.stats.settled.cancelled, 1);
});

test('a cancel by another process is seen within a second', async (t) => {
  const url = `sqlite:${join(folder, `${randomUUID()}.db`)}`;
  const it = await rig(t, url);
  const other = await openNode(url, { world: it.world, duties: false, housekeeping: false });
  t.after(() => other.close());
  const number = await it.push('slow');
  await it.start([it.slow('slow')]);
  assert.equal(await other.engine.cancel(number), 'requested');
  await it.world.advance(1001);
  assert.equal(await it.brief(number), 'cancelled requested 1/1');
});

test('a cancel that comes while a finished run is being recorded changes nothing, and leaves no timer', async (t) => {
  const it = await rig(t);
  const gate = Promise.withResolvers<void>();
  const link = linkWith(it.link, (session) => ({
    complete: async (lease, result) => {
      await gate.promise;
      await session.complete(lease, result);
    },
  }));
  const number = await it.push('slow');
  const worker = await it.start([it.slow('slow')], { link });
  await it.end(it.open[0], 'whole');
  await it.engine.cancel(number);
  await it.world.advance(6000);
  gate.resolve();
  await it.world.settle();
  assert.equal(await it.brief(number), 'completed none 1/1');
  assert.deepEqual(await it.engine.logs.read(number), []);
  assert.equal(worker.stats.settled.completed, 1);
});

test('a renewal that finds a task parked before its park was answered loses nothing', async (t) => {
  const it = await rig(t);
  const gate = Promise.withResolvers<void>();
  const link = linkWith(it.link, (session) => ({
    turn: async (lease, turn) => {
      const answer = await session.turn(lease, turn);
      await gate.promise;
      return answer;
    },
  }));
  const number = await it.push('waits');
  const waits = task('waits', {
    queue: 'work',
    run: async (_input, ctx) => (await ctx.wait('word', { signal: 'go' })).outcome,
  });
  const worker = await it.start([waits], { link });
  await it.world.advance(LEASE);
  gate.resolve();
  await it.world.settle();
  assert.deepEqual([it.warnings, worker.stats.settled.lost, worker.stats.settled.parked], [[], 0, 1]);
  await it.engine.waits.signal('go', 1);
  await it.world.advance(1000);
  assert.equal(await it.brief(number), 'completed none 1/2');
});

// Timeouts

test('a run past its timeout is stopped, counts as failed with its code, and is retried by the policy', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow', { timeout: 2000, maxAttempts: 2, retry: { baseMs: 7000, jitter: 0 } });
  const worker = await it.start([it.slow('slow')]);
  await it.world.advance(1900);
  assert.equal(it.open.length, 1);
  await it.world.advance(200);
  assert.equal(why(it.runs[0]), 'timeout');
  assert.equal(await it.brief(number), 'scheduled none 1/1');
  const [attempt] = await it.engine.attempts(number);
  assert.equal((JSON.parse(attempt?.error ?? 'null') as { code?: string }).code, 'RUN_TIMEOUT');
  await it.world.advance(7000);
  await it.node.roster.tick('stager');
  await it.world.advance(3100);
  assert.equal(await it.brief(number), 'failed exhausted 2/2');
  const error = await it.error(number);
  assert.equal(error?.code, 'RUN_TIMEOUT');
  assert.match(error?.message ?? '', /2000 ms/);
  assert.deepEqual([worker.stats.settled.retried, worker.stats.settled.failed], [1, 1]);
});

test('where neither the task nor its handler says how long it may run, the bound of the node holds', async (t) => {
  const it = await rig(t);
  const link = new DirectLink(it.engine, undefined, { runTimeoutMs: 2000 });
  const [unsaid, said, own] = [
    await it.push('unsaid', { maxAttempts: 1 }),
    await it.push('unsaid', { maxAttempts: 1, timeout: 5000 }),
    await it.push('own', { maxAttempts: 1 }),
  ];
  await it.start([it.slow('unsaid'), it.slow('own', { timeout: 8000 })], { link, slots: 3 });
  await it.world.advance(1900);
  assert.equal(it.open.length, 3);
  await it.world.advance(200);
  assert.equal((await it.error(unsaid))?.code, 'RUN_TIMEOUT');
  assert.equal(it.open.length, 2);
  await it.world.advance(3000);
  assert.equal((await it.error(said))?.code, 'RUN_TIMEOUT');
  assert.equal(it.open.length, 1);
  await it.world.advance(3000);
  assert.equal((await it.error(own))?.code, 'RUN_TIMEOUT');
});

test('a worker beats as often as its link asks for, and is online once it has started', async (t) => {
  const it = await rig(t);
  const worker = it.make([it.slow('slow')], { link: new DirectLink(it.engine, undefined, { heartbeatMs: 2000 }) });
  await worker.start();
  const look = async () => (await it.engine.workers.list())[0];
  assert.equal((await look())?.state, 'online');
  const before = (await look())?.seenAt as number;
  // Beats of a second are one write; without a word of its link it would say nothing for ten.
  await it.world.advance(7000);
  const after = ((await look())?.seenAt as number) - before;
  assert.ok(after >= 4000 && after <= 7000, `seen ${after} ms later`);
});

test('a handler that ignores its signal frees its slot after the ladder, and its late result is not recorded', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow', { timeout: 1000, maxAttempts: 1 });
  const worker = await it.start([it.slow('slow', { heeds: false })], {
    slots: 1,
    ladder: { abortMs: 500, termMs: 300 },
  });
  await it.world.advance(1700);
  assert.equal(worker.stats.running, 1);
  await it.world.advance(200);
  assert.equal(worker.stats.running, 0);
  assert.equal(await it.brief(number), 'failed exhausted 1/1');
  const next = await it.push('slow');
  assert.equal(it.open.length, 2);
  await it.end(it.runs[0], 'from beyond');
  assert.equal((await it.error(number))?.code, 'RUN_TIMEOUT');
  await it.end(it.runs[1]);
  assert.equal(await it.brief(next), 'completed none 1/1');
  const log = (await it.engine.logs.read(number)).map(({ text }) => text);
  assert.ok(log.some((text) => /ignores its signal/.test(text)));
});

test('a second reason to stop does not give a handler more time', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow', { timeout: 3000 });
  await it.start([it.slow('slow', { heeds: false })], { ladder: { abortMs: 2000, termMs: 2000 } });
  await it.engine.cancel(number);
  await it.world.advance(3900);
  assert.equal((await it.brief(number)).split(' ')[0], 'running');
  await it.world.advance(200);
  assert.equal(await it.brief(number), 'cancelled requested 1/1');
});

test('a timeout that is further away than timers reach does not fire at once', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow', { timeout: '40d' });
  await it.start([it.slow('slow')]);
  await it.world.advance(60_000);
  assert.equal(it.open.length, 1);
  await it.end(it.open[0]);
  assert.equal(await it.brief(number), 'completed none 1/1');
});

// Losing

test('leases are kept for as long as a run takes', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow');
  await it.start([it.slow('slow')]);
  for (let n = 0; n < 10; n++) {
    await it.world.advance(LEASE / 2);
    await it.node.roster.tick('reaper');
  }
  await it.end(it.open[0], 'long work');
  assert.equal(await it.brief(number), 'completed none 1/1');
});

test('a run whose task was taken by another process is told so, and nothing of it is recorded', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow', { maxAttempts: 5 });
  const worker = await it.start([it.slow('slow', { heeds: false })]);
  // The process sleeps past its lease while another one reaps.
  it.world.elapse(LEASE + 1000);
  await it.node.roster.tick('reaper');
  await it.engine.pause('work');
  await it.world.advance(3000);
  const run = it.runs[0] as Run;
  assert.equal(why(run), 'lost');
  await it.end(run, 'too late');
  assert.equal(await it.brief(number), 'ready none 1/1');
  assert.deepEqual([worker.stats.settled.lost, worker.stats.settled.completed], [1, 0]);
  assert.ok(
    it.warnings.some((text) => /lease of task_[\w-]+ is lost/.test(text)),
    it.warnings.join('; '),
  );
});

test('a store that cannot be reached for longer than the lease ends the run before somebody else starts', async (t) => {
  const it = await rig(t);
  await it.push('slow');
  let down = false;
  const link = linkWith(it.link, (session) => ({
    renew: (leases) => (down ? Promise.reject(fault('STORE_UNAVAILABLE')) : session.renew(leases)),
  }));
  const worker = await it.start([it.slow('slow')], { link });
  await it.world.advance(12_000);
  down = true;
  const renewed = it.world.clock.monotonic();
  await it.world.advance(LEASE * 2);
  assert.equal(why(it.runs[0]), 'lost');
  // Given back instead of left to run out: the store never said that another worker had it.
  assert.ok(worker.stats.settled.released > 0 && worker.stats.settled.lost === 0 && renewed > 0);
});

/** A store that is out of reach while `down` is true. */
function awayLink(it: Rig, state: { down: boolean }): Link {
  const unless =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      state.down ? Promise.reject(fault('STORE_UNAVAILABLE')) : call(...args);
  return linkWith(it.link, (session) => ({
    claim: unless(session.claim.bind(session)),
    renew: unless(session.renew.bind(session)),
    complete: unless(session.complete.bind(session)),
    fail: unless(session.fail.bind(session)),
    release: unless(session.release.bind(session)),
    cancels: unless(session.cancels.bind(session)),
    beat: unless(session.beat.bind(session)),
  }));
}

test('what ends while the store is away for longer than the lease is recorded once it is back', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow', { maxAttempts: 1 });
  const store = { down: false };
  const worker = await it.start([it.slow('slow')], { link: awayLink(it, store) });
  store.down = true;
  await it.end(it.open[0], 'whole');
  await it.world.advance(LEASE * 3);
  store.down = false;
  await it.world.advance(3000);
  assert.equal(await it.brief(number), 'completed none 1/1');
  assert.deepEqual([worker.stats.settled.completed, worker.stats.settled.lost], [1, 0]);
});

test('what is stopped because the store is away for longer than the lease is given back with its try', async (t) => {
  const it = await rig(t);
  const [running, ahead] = (await it.pushMany('slow', 2, { maxAttempts: 1 })) as [number, number];
  const store = { down: false };
  const worker = await it.start([it.slow('slow')], { link: awayLink(it, store) });
  assert.equal(it.runs.length, 2);
  store.down = true;
  await it.world.advance(LEASE * 3);
  assert.equal(why(it.runs[0]), 'lost');
  store.down = false;
  await it.world.advance(3000);
  // They run again, as if they had not before.
  assert.equal(it.open.length, 2);
  for (const run of it.open) run.end();
  await it.world.advance(10);
  assert.equal(await it.brief(running), 'completed none 1/2');
  assert.equal(await it.brief(ahead), 'completed none 1/2');
  assert.deepEqual([worker.stats.settled.released, worker.stats.settled.lost], [2, 0]);
});

test('a worker that is told to stop does not wait for a store that was away for longer than the lease', async (t) => {
  const it = await rig(t);
  await it.push('slow');
  const store = { down: false };
  const worker = await it.start([it.slow('slow')], { link: awayLink(it, store) });
  store.down = true;
  await it.end(it.open[0], 'whole');
  await it.world.advance(LEASE * 2);
  await it.until(worker.stop(), LEASE);
  assert.equal(worker.stats.settled.lost, 1);
});

test('an outage that is shorter than the lease costs nothing', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow');
  let down = true;
  const link = linkWith(it.link, (session) => ({
    renew: (leases) => (down ? Promise.reject(fault('STORE_UNAVAILABLE')) : session.renew(leases)),
  }));
  await it.start([it.slow('slow')], { link });
  await it.world.advance(20_000);
  down = false;
  await it.world.advance(60_000);
  await it.end(it.open[0]);
  assert.equal(await it.brief(number), 'completed none 1/1');
});

// Settling

test('faults of the store at the end of a run are waited out', async (t) => {
  const it = await rig(t);
  const faults = { complete: 3, fail: 2, release: 2, cancelled: 2 };
  const flaky =
    <A extends unknown[], R>(verb: keyof typeof faults, call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      faults[verb]-- > 0 ? Promise.reject(fault('STORE_BUSY')) : call(...args);
  const link = linkWith(it.link, (session) => ({
    complete: flaky('complete', session.complete.bind(session)),
    fail: flaky('fail', session.fail.bind(session)),
    release: flaky('release', session.release.bind(session)),
    cancelled: flaky('cancelled', session.cancelled.bind(session)),
  }));
  const numbers = (await it.pushMany('slow', 4, { maxAttempts: 1 })) as [number, number, number, number];
  const worker = await it.start([it.slow('slow')], { link, slots: 4 });
  const runOf = (number: number) => it.runs.find(({ ctx }) => it.engine.parseId(ctx.id) === number) as Run;
  const [done, failed, cancelled, released] = numbers;
  runOf(done).end('well');
  runOf(failed).fail(new Error('badly'));
  await it.engine.cancel(cancelled);
  await it.world.advance(10_000);
  const stopping = worker.stop({ drain: false });
  await it.until(stopping);
  assert.equal(await it.brief(done), 'completed none 1/1');
  assert.equal(await it.brief(failed), 'failed exhausted 1/1');
  assert.equal(await it.brief(cancelled), 'cancelled requested 1/1');
  assert.equal(await it.brief(released), 'ready none 0/1');
  assert.deepEqual(it.warnings, []);
  const none = { retried: 0, lost: 0, parked: 0 };
  assert.deepEqual(worker.stats.settled, { completed: 1, failed: 1, cancelled: 1, released: 1, ...none });
});

test('an end that cannot be recorded at all is warned about, and the worker goes on', async (t) => {
  const it = await rig(t);
  let broken = true;
  const link = linkWith(it.link, (session) => ({
    complete: (lease, result) => (broken ? Promise.reject(new TypeError('a defect')) : session.complete(lease, result)),
  }));
  const first = await it.push('slow', { maxAttempts: 5 });
  const worker = await it.start([it.slow('slow')], { link });
  await it.end(it.open[0], 1);
  assert.ok(it.warnings.some((text) => /cannot be recorded.*a defect/.test(text)));
  broken = false;
  assert.equal((await it.brief(first)).split(' ')[0], 'running');
  await it.push('slow', { input: 'next' });
  await it.end(it.open[0], 2);
  assert.deepEqual([worker.stats.settled.completed, worker.stats.settled.lost], [1, 1]);
  await it.world.advance(LEASE + 1);
  await it.node.roster.tick('reaper');
  assert.equal(await it.brief(first), 'ready none 1/1');
});

test('a result that cannot be stored ends its task with a clear error', async (t) => {
  const it = await rig(t);
  const results: readonly (readonly [unknown, RegExp, string])[] = [
    [10n, /bigint/, 'INVALID_INPUT'],
    [{ at: [new Map()] }, /Map cannot be stored at \$\.at\[0\]/, 'INVALID_INPUT'],
    ['x'.repeat(3_000_000), /result is too large/, 'TOO_LARGE'],
  ];
  const worker = await it.start([it.slow('slow')]);
  for (const [result, message, code] of results) {
    const number = await it.push('slow', { maxAttempts: 5 });
    await it.end(it.open[0], result);
    assert.equal(await it.brief(number), 'failed gave_up 1/1');
    const error = await it.error(number);
    assert.match(error?.message ?? '', message);
    assert.equal(error?.code, code);
  }
  assert.equal(worker.stats.settled.failed, 3);
});

test('whatever a handler throws, its task fails and the worker goes on', async (t) => {
  const it = await rig(t);
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const worker = await it.start([it.slow('slow')]);
  const thrown = [
    null,
    undefined,
    cyclic,
    new Error('x'.repeat(5_000_000)),
    5n,
    Symbol('s'),
    'text',
    new Proxy(
      {},
      {
        get() {
          throw new Error('no');
        },
        has() {
          throw new Error('no');
        },
      },
    ),
  ];
  for (const error of thrown) {
    const number = await it.push('slow', { maxAttempts: 1 });
    it.open[0]?.fail(error);
    await it.world.settle();
    assert.equal(await it.brief(number), 'failed exhausted 1/1');
  }
  assert.equal(worker.stats.settled.failed, thrown.length);
  assert.deepEqual(it.warnings, []);
});

test('a handler may give up, or come back later without costing a try', async (t) => {
  const it = await rig(t);
  const answers = [retryAfter('10s', 'busy'), retryAfter('10s'), giveUp(new Error('hopeless'))];
  const number = await it.push('moody', { maxAttempts: 1 });
  const worker = await it.start([task('moody', { queue: 'work', run: () => answers.shift() })]);
  assert.equal(await it.brief(number), 'scheduled none 0/1');
  for (let n = 0; n < 2; n++) {
    await it.world.advance(10_001);
    await it.node.roster.tick('stager');
    await it.world.advance(1000);
  }
  assert.equal(await it.brief(number), 'failed gave_up 1/3');
  assert.equal((await it.error(number))?.message, 'hopeless');
  assert.deepEqual([worker.stats.settled.retried, worker.stats.settled.failed], [2, 1]);
});

test('a task that this worker cannot run bounces back with its try, after a pause', async (t) => {
  const it = await rig(t);
  const number = await it.push('slow');
  let wrong = 1;
  const link = linkWith(it.link, (session) => ({
    claim: async (request) =>
      (await session.claim(request)).map((one) => (wrong-- > 0 ? { ...one, handler: 'unknown' } : one)),
  }));
  const worker = await it.start([it.slow('slow')], { link });
  assert.equal(await it.brief(number), 'scheduled none 0/1');
  assert.equal((await it.engine.get(number))?.bounces, 1);
  await it.world.advance(200);
  await it.node.roster.tick('stager');
  await it.world.advance(1000);
  await it.end(it.open[0]);
  assert.equal(await it.brief(number), 'completed none 1/2');
  assert.deepEqual([worker.stats.settled.released, worker.stats.settled.completed], [1, 1]);
});

test('a runner that throws instead of running bounces the task, and the worker lives', async (t) => {
  const it = await rig(t);
  const number = await it.push('far');
  const apart = new Apart(['far']);
  t.mock.method(
    apart,
    'run',
    () => {
      throw new Error('a defect');
    },
    { times: 1 },
  );
  await it.start([], { runners: [apart] });
  assert.equal(await it.brief(number), 'scheduled none 0/1');
  await it.world.advance(200);
  await it.node.roster.tick('stager');
  await it.world.advance(1000);
  assert.equal(apart.requests.length, 1);
  apart.requests[0]?.end({ kind: 'done', result: 1 });
  await it.world.settle();
  assert.equal(await it.brief(number), 'completed none 1/2');
});

test('what a run said is in the store before its task is final', async (t) => {
  const it = await rig(t);
  const lines: number[] = [];
  const link = linkWith(it.link, (session) => ({
    complete: async (lease, result) => {
      lines.push((await it.engine.logs.read(lease.task)).length);
      await session.complete(lease, result);
    },
  }));
  const number = await it.push('chatty');
  const chatty = task('chatty', {
    queue: 'work',
    run: (_input, ctx) => {
      for (let n = 1; n <= 30; n++) ctx.log(`line ${n}`);
      ctx.progress({ done: 30 });
      return 'output';
    },
  });
  await it.start([chatty], { link });
  await it.world.advance(100);
  assert.equal(await it.brief(number), 'completed none 1/1');
  assert.deepEqual(lines, [31]);
});

test('a log that cannot be stored does not hold the end of its task for long', async (t) => {
  const it = await rig(t);
  const link = linkWith(it.link, () => ({ log: () => Promise.reject(fault('STORE_FULL')) }));
  const number = await it.push('chatty');
  await it.start([task('chatty', { queue: 'work', run: (_input, ctx) => ctx.log('hello') })], { link });
  await it.world.advance(3000);
  assert.equal(await it.brief(number), 'completed none 1/1');
});

test('the numbers add up: each claim is counted once when it is over', async (t) => {
  const it = await rig(t);
  let claimed = 0;
  const link = linkWith(it.link, (session) => ({
    claim: async (request) => {
      const batch = await session.claim(request);
      claimed += batch.length;
      return batch;
    },
  }));
  const quick = task('quick', {
    queue: 'work',
    run: (input) => {
      if (input === 1) throw new Error('no');
      if (input === 2) return retryAfter('1m');
      if (input === 3) return giveUp('no');
      return input === 4 ? 4n : input;
    },
  });
  const worker = await it.start([quick, it.slow('slow')], { link, slots: 3 });
  for (let n = 0; n < 40; n++) await it.push('quick', { input: n % 6, maxAttempts: 2 });
  const slow = await it.pushMany('slow', 30);
  await it.engine.cancel(slow[0] as number);
  await it.world.advance(2000);
  const bad = await it.push('slow', { maxAttempts: 5, queue: 'bad' });
  await it.world.advance(100);
  for (let n = 0; n < 10; n++) if (it.open[0]) await it.end(it.open[0]);
  assert.ok(bad > 0);
  await it.until(worker.stop({ drain: false }));
  const { running, ahead: held, settled } = worker.stats;
  assert.deepEqual([running, held], [0, 0]);
  assert.equal(
    Object.values(settled).reduce((sum, count) => sum + count, 0),
    claimed,
    JSON.stringify(settled),
  );
});

// The thread that keeps leases while the loop is blocked: real time, a real file

const RENEWALS = new URL('../app/link/direct-renewals.ts', import.meta.url).href;

/** Blocks the loop, as a long computation does. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

async function realRig(t: TestContext, { module = RENEWALS, leaseMs = 1000 } = {}) {
  const url = `sqlite:${join(folder, `${randomUUID()}.db`)}`;
  const node = await openNode(url, { leaseMs, durability: 'normal', housekeeping: false });
  const { engine } = node;
  const warnings: string[] = [];
  const blocking = task('block', {
    queue: 'work',
    run: (input) => {
      block(input as number);
      return 'done';
    },
  });
  // Only the thread renews, so that nothing else is taken for it.
  if (module === RENEWALS) t.mock.method(engine, 'renew', () => Promise.reject(fault('STORE_UNAVAILABLE')));
  /** Waits until the lease was renewed, which proves that the renewal works. */
  const warm = task('warm', {
    queue: 'work',
    run: async (_input, ctx) => {
      const until = async () => (await engine.get(engine.parseId(ctx.id)))?.leaseUntil;
      const granted = await until();
      while (!ctx.signal.aborted && (await until()) === granted) await new Promise((done) => setTimeout(done, 10));
    },
  });
  const worker = new Worker({
    link: new DirectLink(engine, { module, data: { url, durability: 'normal' } }),
    world: engine.world,
    name: 'w',
    incarnation: randomUUID(),
    runners: [new InlineRunner([blocking, warm], engine.world.timers)],
    slots: 1,
    log: { warn: (message) => void warnings.push(message) },
  });
  t.after(async () => {
    await worker.stop({ drain: false, ladder: { abortMs: 0, termMs: 0 } });
    await node.close();
  });
  await worker.start();
  const run = async (handler: string, request: Partial<PushRequest> = {}) =>
    engine.finished((await engine.push({ queue: 'work', handler, ...request })).task);
  assert.equal((await run('warm', { maxAttempts: 100, retry: { baseMs: 0 } })).state, 'completed');
  return { engine, worker, warnings, run };
}

test('a handler that blocks the loop for three leases keeps its own', async (t) => {
  const { run } = await realRig(t);
  const { state, attempt, tries } = await run('block', { input: 3000 });
  assert.deepEqual([state, attempt, tries], ['completed', 1, 1]);
});

test('a handler that blocks the loop past its timeout is ended, and the worker serves the next task', async (t) => {
  // Long enough for a thread that gets no turn for a while: what cannot be renewed in time is lost, not blocked.
  const { engine, worker, warnings, run } = await realRig(t, { leaseMs: 3000 });
  const { lost } = worker.stats.settled;
  const hung = run('block', { input: 2500, timeout: 300, maxAttempts: 1 });
  const next = await engine.push({ queue: 'work', handler: 'block', input: 0 });
  const { state, reason, attempt, result } = await hung;
  assert.deepEqual([state, reason, attempt], ['failed', 'exhausted', 1]);
  assert.equal((JSON.parse(result ?? 'null') as { code: string }).code, 'LOOP_BLOCKED');
  assert.equal((await engine.finished(next.task)).state, 'completed');
  await worker.stop();
  assert.equal(worker.stats.settled.lost, lost + 1);
  assert.ok(warnings.every((text) => !/thread is gone/.test(text)));
});

test('a thread that cannot start is replaced by renewals from the loop, with a warning', async (t) => {
  const { worker, warnings, run } = await realRig(t, { module: 'file:///no/such/module.ts' });
  while (!warnings.some((text) => /thread is gone/.test(text))) await new Promise((done) => setTimeout(done, 10));
  assert.equal((await run('warm', { maxAttempts: 100, retry: { baseMs: 0 } })).state, 'completed');
  await worker.stop();
});

test('tasks on their last try are not held ahead: the death of the worker would fail them unrun', async (t) => {
  const it = await rig(t);
  for (let i = 0; i < 40; i++) await it.push('quick', { input: i, maxAttempts: 1 });
  const worker = await it.start([task('quick', { queue: 'work', run: () => 1 })], { slots: 2 });
  await it.world.advance(5000);
  assert.equal(worker.stats.settled.completed, 40);
  assert.equal(worker.stats.ahead, 0);
});

test('ends of one turn of the loop are recorded by one call, and one that is refused is no concern of the others', async (t) => {
  const it = await rig(t);
  const calls: number[] = [];
  const link = linkWith(it.link, (session) => ({
    completeMany: async (ends) => {
      calls.push(ends.length);
      const refused = ends.findIndex(({ result }) => result === 'refused');
      const answers = [...((await session.completeMany?.(ends.filter((_, i) => i !== refused))) ?? [])];
      if (refused >= 0) answers.splice(refused, 0, fault('LEASE_LOST', {}));
      return answers;
    },
  }));
  const [a, b, c] = (await it.pushMany('slow', 3)) as [number, number, number];
  const worker = await it.start([it.slow('slow')], { link, slots: 3 });
  it.open.forEach((run, i) => run.end(i === 1 ? 'refused' : i));
  await it.world.advance(10);
  assert.deepEqual(calls, [3]);
  assert.equal(await it.brief(a), 'completed none 1/1');
  assert.equal(await it.brief(c), 'completed none 1/1');
  assert.equal((await it.brief(b)).split(' ')[0], 'running');
  assert.deepEqual([worker.stats.settled.completed, worker.stats.settled.lost], [2, 1]);
});

test('ends that could not be recorded together are recorded one by one', async (t) => {
  const it = await rig(t);
  const link = linkWith(it.link, () => ({ completeMany: () => Promise.reject(new TypeError('a defect')) }));
  const numbers = await it.pushMany('slow', 3);
  const worker = await it.start([it.slow('slow')], { link, slots: 3 });
  it.open.forEach((run, i) => run.end(i));
  await it.world.advance(10);
  for (const number of numbers) assert.equal(await it.brief(number), 'completed none 1/1');
  assert.equal(worker.stats.settled.completed, 3);
});
