import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isEngineError } from '../core/errors.ts';
import { refusal } from '../store/conformance/kit/scene.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../testing.ts';
import { task } from '../worker/define/task.ts';
import { type App, open } from './open.ts';

const folder = tempFolder('app-worker');
const echo = task('echo', { run: (input) => input });

async function still(t: TestContext): Promise<App> {
  const app = await open('memory:', { world: new VirtualWorld(), duties: false });
  t.after(() => app.close());
  return app;
}

/** A module that a child process can import. */
function moduleOf(name: string, source: string): string {
  const file = join(folder, `${name}.ts`);
  const from = new URL('../worker/define/task.ts', import.meta.url).href;
  writeFileSync(file, `import { task } from ${JSON.stringify(from)};\n${source}`);
  return pathToFileURL(file).href;
}

test('a process task without its module is refused at the start, before anything is claimed', async (t) => {
  const app = await still(t);
  const far = task('far', { isolation: 'process', run: () => 1 });
  const handle = await app.push(far, 0);
  const worker = app.worker({ tasks: [echo, far] });
  await assert.rejects(worker.start(), (error) => {
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.match(error.message, /task far.*module/);
    assert.match(error.hint ?? '', /import\.meta\.url/);
    return true;
  });
  assert.deepEqual(await app.workers(), []);
  assert.equal(await handle.state(), 'ready');
});

test('options that make no sense are refused when the worker is made', async (t) => {
  const app = await still(t);
  const bad: readonly [object, string][] = [
    [{ tasks: undefined }, 'INVALID_INPUT'],
    [{ tasks: 'echo' }, 'INVALID_INPUT'],
    [{ tasks: [null] }, 'INVALID_INPUT'],
    [{ tasks: [{ name: 'x' }] }, 'INVALID_INPUT'],
    [{ tasks: [echo, task('echo', { run: () => 1 })] }, 'INVALID_INPUT'],
    [{ tasks: [echo], slots: 0 }, 'INVALID_INPUT'],
    [{ tasks: [echo], slots: 1.5 }, 'INVALID_INPUT'],
    [{ tasks: [echo], name: '' }, 'INVALID_INPUT'],
    [{ tasks: [echo], idleExit: 'soon' }, 'INVALID_INPUT'],
    [{ tasks: [echo], lookahead: -1 }, 'INVALID_INPUT'],
    [{ tasks: [echo], abortGrace: 'x' }, 'INVALID_INPUT'],
    [{ tasks: [echo], concurrency: 5 }, 'UNKNOWN_OPTION'],
    [null as never, 'INVALID_INPUT'],
  ];
  for (const [options, code] of bad) {
    assert.throws(() => app.worker(options as never), { code }, JSON.stringify(options));
  }
  assert.equal(await refusal(app.worker({ tasks: [echo], queues: ['no good!'] }).start()), 'INVALID_INPUT');
  assert.equal(await refusal(app.worker({ tasks: [echo], tags: [''] }).start()), 'INVALID_INPUT');
  assert.deepEqual(await app.workers(), []);
});

test('a worker serves the queues that it names, with the slots and tags that it was given', async (t) => {
  const app = await still(t);
  const other = task('other', { run: () => 1 });
  const worker = app.worker({ tasks: [echo, other], queues: ['echo'], slots: 3, tags: ['gpu'], name: 'box' });
  await worker.start();
  const [registered] = await app.workers();
  assert.deepEqual([registered?.name, registered?.slots, registered?.tags], ['box', 3, ['gpu']]);
  const foreign = await app.push(other, 0);
  assert.equal(await (await app.push(echo, 'mine')).result(), 'mine');
  assert.equal(await foreign.state(), 'ready');
});

test('a worker may run one task, or until it is idle', async (t) => {
  const app = await open('memory:', { durability: 'normal' });
  t.after(() => app.close());
  const handles = await app.pushMany(echo, [1, 2, 3]);
  const one = app.worker({ tasks: [echo], once: true });
  await one.start();
  await one.ended;
  assert.equal((await app.stats('echo')).completed, 1);
  const rest = app.worker({ tasks: [echo], idleExit: 100 });
  await rest.start();
  await rest.ended;
  assert.deepEqual(await Promise.all(handles.map((handle) => handle.result())), [1, 2, 3]);
});

test('tasks in modules run in processes of their own, beside those of the worker itself', async (t) => {
  const url = moduleOf(
    'far',
    `export const far = task('far', { isolation: 'process', module: import.meta.url, run: () => process.pid });`,
  );
  const { far } = (await import(url)) as { far: typeof echo };
  const near = task('near', { run: () => process.pid });
  const app = await open('memory:', { durability: 'normal' });
  t.after(() => app.close());
  await app.worker({ tasks: [near, far] }).start();
  const [here, there] = await Promise.all([(await app.push(near, 0)).result(), (await app.push(far, 0)).result()]);
  assert.equal(here, process.pid);
  assert.ok(typeof there === 'number' && there !== process.pid);
});

test('a worker for one task claims before it loads a module whose tasks are known, and starts one process for it', async (t) => {
  const app = await open('memory:', { duties: false });
  t.after(() => app.close());
  const marks = join(folder, 'loads');
  const module = moduleOf(
    'known',
    `import { appendFileSync } from 'node:fs';
     appendFileSync(${JSON.stringify(marks)}, 'x');
     export const far = task('far', { run: () => process.pid });`,
  );
  const worker = app.worker({ tasks: [], known: { module, handlers: ['far'] }, once: true, slots: 4 });
  await worker.start();
  assert.deepEqual(worker.handlers, ['far']);
  assert.deepEqual(
    (await app.workers()).map(({ slots }) => slots),
    [1],
  );
  assert.equal(existsSync(marks), false);
  const handle = await app.push(task('far', { run: () => 0 }), null);
  await worker.ended;
  assert.notEqual(await handle.result(), process.pid);
  assert.equal(readFileSync(marks, 'utf8'), 'x');
});

test('an inline task that killed its worker before runs in a process of its own the next time', async (t) => {
  const url = moduleOf(
    'shy',
    `export const shy = task('shy', { module: import.meta.url, maxAttempts: 5, run: (_, ctx) => [process.pid, ctx.attempt] });`,
  );
  const { shy } = (await import(url)) as { shy: typeof echo };
  const app = await open('memory:', { leaseMs: 400, durability: 'normal' });
  t.after(() => app.close());
  // Another worker claims it and falls silent.
  const victim = await app.engine.workers.register({ name: 'victim', incarnation: 'gone', slots: 1 });
  const handle = await app.push(shy, 0);
  assert.equal((await app.engine.claim({ worker: victim, max: 1 })).length, 1);
  await app.worker({ tasks: [shy] }).start();
  const [pid, attempt] = (await handle.result()) as [number, number];
  assert.ok(pid !== process.pid);
  assert.ok(attempt >= 2);
  const [inline] = (await (await app.push(shy, 0)).result()) as [number, number];
  assert.equal(inline, process.pid);
});
