import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { TaskDefinition } from '../../worker/define/definition.ts';
import { giveUp } from '../../worker/define/outcome.ts';
import { task } from '../../worker/define/task.ts';
import { type App, open } from '../open.ts';

// Results that replace a run, through the library and in real time.

const folder = tempFolder('reuse');

async function real(t: TestContext, url = 'memory:'): Promise<App> {
  const app = await open(url, { durability: 'normal' });
  t.after(() => app.close({ drainMs: 0 }));
  return app;
}

async function logOf(app: App, handle: { readonly task: number }): Promise<readonly string[]> {
  return (await app.engine.logs.read(handle.task)).map(({ text }) => text);
}

test('the second of two tasks with the same input takes the result of the first', async (t) => {
  const app = await real(t);
  let runs = 0;
  const thumb = task('thumb', { run: (input) => ({ run: ++runs, input }) });
  await app.worker({ tasks: [thumb] }).start();
  const first = await app.push(thumb, { a: 1, b: 2 }, { reuse: true });
  assert.deepEqual(await first.result(), { run: 1, input: { a: 1, b: 2 } });
  const second = await app.push(thumb, { b: 2, a: 1 }, { reuse: '1h', queue: 'elsewhere' });
  assert.deepEqual(await second.result(), await first.result());
  assert.deepEqual([runs, await logOf(app, first)], [1, []]);
  assert.deepEqual(await logOf(app, second), [`reused the result of ${first.id}`]);
  // Others are not similar, or did not ask for reuse.
  assert.equal(((await (await app.push(thumb, { a: 1 }, { reuse: true })).result()) as { run: number }).run, 2);
  assert.equal(((await (await app.push(thumb, { a: 1, b: 2 })).result()) as { run: number }).run, 3);
});

test('a definition may ask for reuse by a key or an age, and a push may override it', async (t) => {
  const app = await real(t);
  let runs = 0;
  const token = task('token', { reuse: { key: 'the token', maxAge: '1d' }, run: () => ++runs });
  await app.worker({ tasks: [token] }).start();
  const results: unknown[] = [];
  for (const options of [{}, {}, { reuse: false }, { reuse: { key: 'another' } }, {}] as const) {
    results.push(await (await app.push(token, results.length, options)).result());
  }
  assert.deepEqual(results, [1, 1, 2, 3, 1]);
  assert.throws(() => task('bad', { reuse: 'soon', run: () => 1 }), { code: 'INVALID_INPUT' });
  assert.equal(await refusal(app.push(token, 1, { reuse: { key: '' } })), 'INVALID_INPUT');
});

test('of many similar tasks that wait for one slot only the first runs, and so with those that others have claimed', async (t) => {
  const url = `sqlite:${join(folder, `${randomUUID()}.db`)}`;
  const [app, other] = [await real(t, url), await real(t, url)];
  let runs = 0;
  const slow = task('slow', { run: () => ++runs });
  const handles = await app.pushMany(slow, Array.from({ length: 30 }), { reuse: true });
  await app.worker({ tasks: [slow], slots: 1 }).start();
  assert.deepEqual(
    await Promise.all(handles.map((handle) => handle.result())),
    handles.map(() => 1),
  );
  await app.stopWorkers();
  await other.worker({ tasks: [slow], slots: 8 }).start();
  assert.equal(await (await other.push(slow, undefined, { reuse: true })).result(), 1);
  assert.equal(runs, 1);
});

test('a task that was claimed ahead starts when the result of the one before it is kept', async (t) => {
  const app = await real(t, `sqlite:${join(folder, `${randomUUID()}.db`)}`);
  const runs = new Map<unknown, number>();
  const short = task('short', {
    run(input, ctx) {
      // It writes a line before its end is recorded, while the next one has its slot already.
      ctx.log('a line');
      runs.set(input, (runs.get(input) ?? 0) + 1);
      return input;
    },
  });
  const inputs = Array.from({ length: 200 }, (_, i) => i >> 1);
  const handles = await app.pushMany(short, inputs, { reuse: true });
  await app.worker({ tasks: [short], slots: 1 }).start();
  assert.deepEqual(await Promise.all(handles.map((handle) => handle.result())), inputs);
  assert.deepEqual(
    [...runs].filter(([, n]) => n > 1),
    [],
  );
});

test('two similar tasks that run at the same time both run; each has its own result, and the first one is kept', async (t) => {
  const app = await real(t);
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const started = Promise.withResolvers<void>();
  let runs = 0;
  const both = task('both', {
    async run() {
      const run = ++runs;
      if (run === 2) started.resolve();
      await gates[run - 1]?.promise;
      return run;
    },
  });
  await app.worker({ tasks: [both], slots: 2 }).start();
  const handles = await app.pushMany(both, [0, 0], { reuse: true });
  await started.promise;
  gates[1]?.resolve();
  const results = handles.map((handle) => handle.result());
  await Promise.any(results);
  gates[0]?.resolve();
  assert.deepEqual(new Set(await Promise.all(results)), new Set([1, 2]));
  assert.equal(await (await app.push(both, 0, { reuse: true })).result(), 2);
  assert.equal(runs, 2);
});

test('a failure is not kept, and the result of a later retry is', async (t) => {
  const app = await real(t);
  let runs = 0;
  const moody = task('moody', {
    retry: { baseMs: 1 },
    run: (input) => {
      runs++;
      if (input === 'hopeless') return giveUp('no');
      if (runs % 2 === 1) throw new Error('not now');
      return runs;
    },
  });
  await app.worker({ tasks: [moody] }).start();
  for (let n = 1; n <= 2; n++) {
    await assert.rejects((await app.push(moody, 'hopeless', { reuse: true })).result());
    assert.equal(runs, n);
  }
  assert.equal(await (await app.push(moody, 'fine', { reuse: true })).result(), 4);
  assert.equal(await (await app.push(moody, 'fine', { reuse: true })).result(), 4);
  assert.equal(runs, 4);
});

test('a task in a child process keeps and reuses results like one in the loop', async (t) => {
  const app = await real(t);
  const file = join(folder, 'far.ts');
  const from = new URL('../../worker/define/task.ts', import.meta.url).href;
  writeFileSync(
    file,
    `import { task } from ${JSON.stringify(from)};
    let runs = 0;
    export const far = task('far', { isolation: 'process', module: import.meta.url, reuse: true,
      run: (input) => ({ input, pid: process.pid, run: ++runs, at: process.hrtime.bigint().toString() }) });`,
  );
  const { far } = (await import(pathToFileURL(file).href)) as { far: TaskDefinition<unknown, unknown> };
  await app.worker({ tasks: [far] }).start();
  const first = await app.push(far, 1);
  const result = (await first.result()) as { pid: number };
  assert.notEqual(result.pid, process.pid);
  const second = await app.push(far, 1);
  assert.deepEqual(await second.result(), result);
  assert.deepEqual(await logOf(app, second), [`reused the result of ${first.id}`]);
  assert.notDeepEqual(await (await app.push(far, 2)).result(), result);
});

test('children and tasks of a graph reuse results like any other', async (t) => {
  const app = await real(t);
  const runs: string[] = [];
  const load = task('load', {
    reuse: true,
    run: (input) => {
      runs.push(`load ${String(input)}`);
      return `loaded ${String(input)}`;
    },
  });
  const sum = task('sum', {
    run: async (_, ctx) => (await ctx.dependencies()).map(({ result }) => result),
  });
  const parent = task('parent', {
    async run(_, ctx) {
      const children = [
        await ctx.spawn(load, 'a'),
        await ctx.spawn({ queue: 'load', handler: 'load' }, 'c', { reuse: { key: 'b' } }),
      ];
      const { value } = await ctx.wait('children', { children });
      return value.map(({ result }) => result);
    },
  });
  await app.worker({ tasks: [load, sum, parent] }).start();
  const graph = [
    { name: 'a', task: load, input: 'a' },
    { name: 'b', task: load, input: 'b', reuse: { key: 'b' } },
    { task: sum, after: ['a', 'b'] },
  ];
  const loaded = ['loaded a', 'loaded b'];
  for (let n = 0; n < 2; n++) assert.deepEqual(await (await app.pushGraph(graph)).sum?.result(), loaded);
  assert.deepEqual(await (await app.push(parent, null)).result(), loaded);
  assert.deepEqual(runs.toSorted(), ['load a', 'load b']);
});

test('a task without a result can be reused, and a task that is retried by hand takes a kept result', async (t) => {
  const app = await real(t);
  let runs = 0;
  const note = task('note', { run: () => void runs++ });
  await app.worker({ tasks: [note] }).start();
  const handles = [await app.push(note, null, { reuse: true })];
  const plain = await handles[0]?.result();
  handles.push(await app.push(note, null, { reuse: true }));
  assert.deepEqual(await handles[1]?.result(), plain);
  await app.retry(handles[0]?.id as string);
  await handles[0]?.result();
  assert.equal(runs, 1);
});
