import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { z } from 'zod';
import { fault, isEngineError } from '../core/errors.ts';
import { refusal } from '../store/conformance/kit/scene.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../testing.ts';
import { task } from '../worker/define/task.ts';
import { App, type OpenOptions, open } from './open.ts';

const folder = tempFolder('open');
const echo = task('echo', { run: (input) => input });

function fileUrl(): string {
  return `sqlite:${join(folder, `${randomUUID()}.db`)}`;
}

/** In virtual time, where only what is awaited makes progress. */
async function still(t: TestContext, options: OpenOptions = {}) {
  const world = new VirtualWorld();
  const app = await open('memory:', { world, duties: false, ...options });
  t.after(() => app.close());
  return { app, world };
}

for (const [name, url] of [
  ['memory', () => 'memory:'],
  ['a file', fileUrl],
] as const) {
  test(`from push to result on ${name}: log, progress, events and numbers`, async (t) => {
    const app = await open(url(), { durability: 'normal' });
    t.after(() => app.close());
    const work = task('work', {
      input: z.object({ n: z.number() }),
      run: async ({ n }, ctx) => {
        ctx.log(`n is ${n}`);
        ctx.progress({ half: n / 2 });
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { twice: 2 * n, tries: ctx.tries };
      },
    });
    const worker = app.worker({ tasks: [work], slots: 2, name: 'mine' });
    await worker.start();
    const handle = await app.push(work, { n: 21 });
    const seen: string[] = [];
    for await (const { text } of handle.logs()) seen.push(text);
    assert.deepEqual(await handle.result(), { twice: 42, tries: 1 });
    assert.deepEqual(seen, ['n is 21', '{"half":10.5}']);
    assert.deepEqual(await handle.progress(), { half: 10.5 });
    assert.equal((await app.stats('work')).completed, 1);
    assert.deepEqual(
      (await app.queues()).map((queue) => queue.name),
      ['work'],
    );
    const [registered] = await app.workers();
    assert.deepEqual([registered?.name, registered?.state, registered?.handlers], ['mine', 'online', ['work']]);
    await worker.stop();
    assert.equal((await app.workers())[0]?.state, 'offline');
  });

  test(`a handler that blocks the loop keeps its lease on ${name}`, async (t) => {
    const app = await open(url(), { durability: 'normal', leaseMs: 2000 });
    t.after(() => app.close());
    const block = task('block', {
      maxAttempts: 5,
      run: (input, ctx) => {
        const until = performance.now() + (input as number);
        while (performance.now() < until);
        return ctx.attempt;
      },
    });
    // Only the thread renews, so that nothing else is mistaken for it.
    t.mock.method(app.engine, 'renew', () => Promise.reject(fault('STORE_UNAVAILABLE')));
    /** Runs until its lease was renewed: then the thread is there, however busy the host is. */
    const warm = task('warm', {
      maxAttempts: 100,
      retry: { baseMs: 0 },
      run: async (_input, ctx) => {
        const { task: number } = app.handle(ctx.id);
        const until = async () => (await app.engine.get(number))?.leaseUntil;
        const granted = await until();
        while (!ctx.signal.aborted && (await until()) === granted) await new Promise((done) => setTimeout(done, 10));
      },
    });
    await app.worker({ tasks: [block, warm] }).start();
    await (await app.push(warm, undefined)).result();
    assert.equal(await (await app.push(block, 4500)).result(), 1);
  });
}

test('an input that the schema refuses is refused before anything is stored', async (t) => {
  const { app } = await still(t);
  const strict = task('strict', { input: z.object({ to: z.email(), copies: z.number().default(1) }), run: (it) => it });
  const bad = { to: 'nobody' };
  await assert.rejects(app.push(strict, bad), (error) => {
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.match(error.message, /strict.*to: /);
    return true;
  });
  assert.equal(await refusal(app.pushMany(strict, [{ to: 'a@b.example' }, bad])), 'INVALID_INPUT');
  assert.equal(await refusal(app.push(strict, undefined as never)), 'INVALID_INPUT');
  assert.deepEqual(await app.engine.list({ limit: 10 }), []);
  await app.worker({ tasks: [strict] }).start();
  const handle = await app.push(strict, { to: 'a@b.example' });
  assert.deepEqual(await handle.result(), { to: 'a@b.example', copies: 1 });
});

test('an input that no store can keep is refused too', async (t) => {
  const { app } = await still(t);
  assert.equal(await refusal(app.push(echo, 1n)), 'INVALID_INPUT');
  assert.equal(await refusal(app.pushMany(echo, [1, () => 1])), 'INVALID_INPUT');
  assert.equal(await refusal(app.pushMany(echo, 'abc' as never)), 'INVALID_INPUT');
  assert.deepEqual(await app.engine.list({ limit: 10 }), []);
});

test('many are pushed in order, and all of them run', async (t) => {
  const { app } = await still(t);
  const handles = await app.pushMany(
    echo,
    Array.from({ length: 120 }, (_, n) => n),
  );
  await app.worker({ tasks: [echo], slots: 5 }).start();
  assert.deepEqual(
    await Promise.all(handles.map((handle) => handle.result())),
    Array.from({ length: 120 }, (_, n) => n),
  );
  assert.equal(new Set(handles.map(({ id }) => id)).size, 120);
  assert.deepEqual(await app.pushMany(echo, []), []);
});

test('a push uses the options of its task, unless it sets them itself', async (t) => {
  const { app, world } = await still(t);
  const picky = task('picky', { queue: 'slow', maxAttempts: 7, timeout: '5s', run: () => 1 });
  const plain = await app.engine.get((await app.push(picky, 0)).task);
  assert.deepEqual([plain?.queue, plain?.handler, plain?.maxTries, plain?.priority], ['slow', 'picky', 7, 0]);
  assert.equal(await app.engine.timeoutOf(plain?.spec as number), 5000);
  const other = await app.push(picky, 0, { queue: 'fast', maxAttempts: 2, priority: 9, delay: '1h' });
  const record = await app.engine.get(other.task);
  assert.deepEqual([record?.queue, record?.maxTries, record?.priority, record?.state], ['fast', 2, 9, 'scheduled']);
  assert.equal(record?.runAt, world.clock.wall() + 3_600_000);
  const unset = { queue: undefined, maxAttempts: undefined, delay: undefined } as never;
  const same = await app.engine.get((await app.push(picky, 0, unset)).task);
  assert.deepEqual([same?.queue, same?.maxTries, same?.state], ['slow', 7, 'ready']);
});

test('a unique key leads to the existing task, and refuses another input', async (t) => {
  const { app } = await still(t);
  const first = await app.push(echo, { a: 1, b: 2 }, { unique: 'order-1' });
  const again = await app.push(echo, { b: 2, a: 1 }, { unique: 'order-1' });
  assert.deepEqual([again.id, first.fresh, again.fresh], [first.id, true, false]);
  assert.equal(await refusal(app.push(echo, 'other', { unique: 'order-1' })), 'UNIQUE_CONFLICT');
  const op = await app.push(echo, 1, { op: 'once' });
  assert.equal((await app.push(echo, 1, { op: 'once' })).id, op.id);
});

test('unknown options are refused at run time', async (t) => {
  const { app } = await still(t);
  assert.equal(await refusal(open('memory:', { lease: 5 } as never)), 'UNKNOWN_OPTION');
  assert.equal(await refusal(app.push(echo, 1, { prio: 5 } as never)), 'UNKNOWN_OPTION');
  assert.equal(await refusal(app.push(echo, 1, { timeout: 5 } as never)), 'UNKNOWN_OPTION');
  // One key cannot name many tasks.
  assert.equal(await refusal(app.pushMany(echo, [1, 2], { unique: 'k' } as never)), 'UNKNOWN_OPTION');
  assert.equal(await refusal(app.pushMany(echo, [1, 2], { op: 'k' } as never)), 'UNKNOWN_OPTION');
  assert.throws(() => app.worker({ tasks: [echo], slot: 5 } as never), { code: 'UNKNOWN_OPTION' });
  assert.deepEqual(await app.engine.list({ limit: 10 }), []);
});

test('a task in a transaction of the caller exists if, and only if, that commits', async (t) => {
  const url = fileUrl();
  const app = await open(url, { durability: 'normal' });
  t.after(() => app.close());
  await app.worker({ tasks: [echo] }).start();
  const db = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5000 });
  t.after(() => db.close());
  db.exec('CREATE TABLE orders (n INTEGER)');

  db.exec('BEGIN IMMEDIATE');
  db.exec('INSERT INTO orders VALUES (1)');
  const gone = await app.push(echo, 'never', { tx: db });
  db.exec('ROLLBACK');
  assert.equal(await app.get(gone.id), undefined);

  db.exec('BEGIN IMMEDIATE');
  db.exec('INSERT INTO orders VALUES (2)');
  const kept = await app.push(echo, 'surely', { tx: db });
  const [one, two] = await app.pushMany(echo, [1, 2], { tx: db });
  db.exec('COMMIT');
  assert.equal(await kept.result(), 'surely');
  assert.deepEqual([await one?.result(), await two?.result()], [1, 2]);
  assert.deepEqual({ ...db.prepare('SELECT count(*) AS n FROM orders').get() }, { n: 1 });
  assert.equal((await app.stats('echo')).completed, 3);
});

test('an input that is refused inside a transaction leaves the transaction open', async (t) => {
  const url = fileUrl();
  const app = await open(url, { durability: 'normal', duties: false });
  t.after(() => app.close());
  const strict = task('strict', { input: z.number(), run: (n) => n });
  await app.push(strict, 0);
  const db = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5000 });
  t.after(() => db.close());
  db.exec('BEGIN IMMEDIATE');
  assert.equal(await refusal(app.push(strict, 'x' as never, { tx: db })), 'INVALID_INPUT');
  await app.push(strict, 5, { tx: db });
  db.exec('COMMIT');
  assert.equal((await app.stats('strict')).ready, 2);
});

test('a finished task can be run again', async (t) => {
  const { app } = await still(t);
  let runs = 0;
  const count = task('count', { run: () => ++runs });
  await app.worker({ tasks: [count] }).start();
  const handle = await app.push(count, 0);
  assert.equal(await handle.result(), 1);
  await app.retry(handle.id);
  assert.equal(await handle.result(), 2);
  assert.equal((await app.get(handle.id))?.attempt, 2);
});

test('closing drains the workers: what runs comes to its end', async (t) => {
  const { app } = await still(t);
  const gate = Promise.withResolvers<string>();
  const started = Promise.withResolvers<void>();
  const slow = task('slow', {
    run: () => {
      started.resolve();
      return gate.promise;
    },
  });
  const worker = app.worker({ tasks: [slow] });
  await worker.start();
  const handle = await app.push(slow, 0);
  const result = handle.result();
  await started.promise;
  let closed = false;
  const closing = app.close().then(() => (closed = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(closed, false);
  gate.resolve('in the end');
  await closing;
  assert.equal(await result, 'in the end');
  assert.equal(worker.stats.settled.completed, 1);
  assert.equal(await refusal(app.push(slow, 1)), 'STORE_CLOSED');
});

test('closing with a drain time gives back what does not end in it', async (t) => {
  const url = fileUrl();
  const app = await open(url, { durability: 'normal' });
  const started = Promise.withResolvers<void>();
  const stuck = task('stuck', {
    run: () => {
      started.resolve();
      return new Promise(() => {});
    },
  });
  await app.worker({ tasks: [stuck], abortGrace: 10, killGrace: 10 }).start();
  const { id } = await app.push(stuck, 0);
  await started.promise;
  await app.close({ drainMs: 20 });
  await app.close();
  const again = await open(url, { duties: false });
  t.after(() => again.close());
  const record = await again.get(id);
  assert.deepEqual([record?.state, record?.tries, record?.attempt], ['ready', 0, 1]);
});

test('an app can be disposed by `await using`', async () => {
  let kept: App;
  {
    await using app = await open('memory:', { world: new VirtualWorld(), duties: false });
    kept = app;
    await app.worker({ tasks: [echo] }).start();
    assert.equal(await (await app.push(echo, 5)).result(), 5);
  }
  assert.equal(await refusal(kept.push(echo, 1)), 'STORE_CLOSED');
  assert.ok(kept instanceof App);
});

test('two stores in memory are two stores', async (t) => {
  const [one, two] = [await still(t), await still(t)];
  await one.app.push(echo, 1);
  assert.deepEqual(await two.app.queues(), []);
});

test('a program that opens, works and closes ends by itself, and at once', async () => {
  const program = `
    import { open } from ${JSON.stringify(new URL('./open.ts', import.meta.url).href)};
    import { task } from ${JSON.stringify(new URL('../worker/define/task.ts', import.meta.url).href)};
    const app = await open(process.argv[1], { duties: process.argv[2] === 'duties' });
    const echo = task('echo', { run: (input) => input });
    const worker = app.worker({ tasks: [echo] });
    await worker.start();
    const handle = await app.push(echo, 'said');
    console.log(await handle.result());
    await worker.stop();
    await app.close();
    console.log('closed');`;
  const run = promisify(execFile);
  const ways = [['memory:'], [fileUrl()], [fileUrl(), 'duties'], [fileUrl(), 'duties'], [fileUrl(), 'duties']];
  for (const args of ways) {
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program, '--', ...args], {
      timeout: 20_000,
    });
    assert.equal(stdout, 'said\nclosed\n', args.join(' '));
  }
});

test('a task without input is pushed without one, and a clock of the caller is used', async (t) => {
  const app = await open('memory:', { clock: { wall: () => 1_000_000, monotonic: () => performance.now() } });
  t.after(() => app.close());
  const { id } = await app.push(task('nothing', { run: () => 1 }));
  assert.equal((await app.get(id))?.createdAt, 1_000_000);
});
