import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { type App, open } from '../open.ts';

const MACHINE = {
  spec: 'flatmachine',
  spec_version: '0.8.3',
  data: {
    name: 'double',
    context: { n: '{{ input.n }}' },
    states: {
      start: { type: 'initial', transitions: [{ to: 'done' }] },
      done: { type: 'final', output: { doubled: '{{ context.n * 2 }}' } },
    },
  },
};

let scenes = 0;

/** A program that has no worker. */
async function program(t: TestContext, url?: string): Promise<App> {
  const store = url ?? `sqlite:${join(tempFolder('executors'), `${++scenes}.db`)}`;
  const app = await open(store);
  t.after(() => app.close());
  return app;
}

for (const [execution, where] of [
  ['loop', 'in the loop of the process that fired it'],
  ['process', 'by a process that is started for it'],
] as const) {
  test(`a run of a trigger is executed ${where}, without any other worker`, { timeout: 60_000 }, async (t) => {
    const app = await program(t);
    const run = { machine: MACHINE };
    await app.triggers.put('double', { kind: 'manual', run, execution, input: { n: 1 } });
    const [first, second] = [await app.triggers.fire('double'), await app.triggers.fire('double', { n: 21 })];
    const results = await Promise.all([first, second].map(({ id }) => app.handle(id as string).result()));
    assert.deepEqual(results, [{ doubled: 2 }, { doubled: 42 }]);
    const task = await app.get(second.id as string);
    assert.equal(task?.queue, 'trigger.double');
    const { engine } = app;
    const workers = await engine.workers.list();
    const pids = new Set(workers.map(({ pid }) => pid));
    assert.equal(pids.has(process.pid), execution === 'loop');
  });
}

test('a program fires, reads and turns its triggers off and on by its own calls', async (t) => {
  const app = await program(t, 'memory:');
  await app.triggers.put('greet', { kind: 'manual', push: { queue: 'mail' }, input: { a: 1 } });
  const once = await app.triggers.fire('greet', { b: 2 }, { key: 'k' });
  const again = await app.triggers.fire('greet', { b: 2 }, { key: 'k' });
  assert.deepEqual([once.fresh, again.fresh, again.id], [true, false, once.id]);
  assert.deepEqual((await app.get(once.id as string))?.input, { a: 1, b: 2 });
  assert.equal((await app.triggers.disable('greet')).enabled, false);
  assert.equal((await app.triggers.enable('greet')).enabled, true);
  assert.deepEqual(
    (await app.triggers.history('greet', { limit: 1 })).map(({ task }) => task),
    [once.id],
  );
  assert.deepEqual(
    (await app.triggers.list({ kind: 'manual' })).map(({ name }) => name),
    ['greet'],
  );
  await assert.rejects(app.triggers.put('paid', { kind: 'webhook', push: { queue: 'q' } }), /only a node/);
  await assert.rejects(app.triggers.rotate('greet'), /is no webhook/);
  await app.triggers.remove('greet');
  assert.equal(await app.triggers.get('greet'), undefined);
});

test('an event starts a run in the loop of the process that has seen it, and does not keep it from its own work', {
  timeout: 60_000,
}, async (t) => {
  const app = await program(t);
  const run = { machine: MACHINE };
  await app.triggers.put('on-mail', {
    kind: 'event',
    on: 'work_added',
    queues: ['mail'],
    run,
    execution: 'loop',
    input: { n: 4 },
  });
  await app.engine.push({ queue: 'mail', handler: 'mail', input: {} });
  for (;;) {
    const [last] = await app.triggers.history('on-mail');
    if (last?.state === 'completed') break;
    assert.ok(last?.outcome === undefined || last.outcome === 'pushed');
    await new Promise(setImmediate);
  }
  const [task] = await app.engine.list({ queue: 'trigger.on-mail', limit: 1 });
  assert.equal(task?.result, '{"doubled":8}');
});
