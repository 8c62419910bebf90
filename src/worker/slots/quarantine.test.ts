import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, open } from '../../app/open.ts';
import { task } from '../define/task.ts';

// Tasks whose worker died under them run alone; this is about what that may cost.

async function openApp(t: TestContext, leaseMs: number): Promise<App> {
  const app = await open('memory:', { leaseMs });
  t.after(() => app.close());
  return app;
}

/** A worker claims all tasks of this queue and falls silent for good. */
async function loseAll(app: App, queue: string, count: number): Promise<void> {
  const worker = await app.engine.workers.register({ name: 'dead', incarnation: 'dead', slots: 1 });
  await app.engine.claim({ worker, max: count, queues: [queue] });
  while ((await app.stats(queue)).running > 0) await pause(5);
}

test('many suspects at once are claimed one by one, not all again for each of them', async (t) => {
  const app = await openApp(t, 100);
  const count = 60;
  const noop = task('noop', { retry: { baseMs: 1 }, run: () => 1 });
  const handles = await app.pushMany(
    noop,
    Array.from({ length: count }, () => ({})),
  );
  await loseAll(app, 'noop', count);
  const worker = app.worker({ tasks: [noop], slots: 4 });
  await worker.start();
  await Promise.all(handles.map((handle) => handle.result()));
  const { completed, released } = worker.stats.settled;
  assert.equal(completed, count);
  assert.ok(released <= count, `${released} claims were given back for ${count} tasks`);
});

test('a suspect does not wait for a long task beside it while another worker has nothing to do', async (t) => {
  const app = await openApp(t, 2000);
  const long = task('long', { run: (_input, { signal }) => pause(60_000, undefined, { signal }) });
  const short = task('short', { retry: { baseMs: 1 }, run: () => 1 });
  const handle = await app.push(short, {});
  await loseAll(app, 'short', 1);
  await app.engine.pause('short');
  await app.push(long, {});
  const busy = app.worker({ tasks: [long, short], slots: 4 });
  await busy.start();
  while (busy.stats.running === 0) await pause(5);
  await app.engine.resume('short');
  while ((await handle.state()) !== 'running') await pause(5);
  await app.worker({ tasks: [short] }).start();
  try {
    assert.equal(await handle.result({ signal: AbortSignal.timeout(20_000) }), 1);
  } finally {
    await busy.stop({ drain: false });
  }
});
