import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isEngineError } from '../../core/errors.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { task } from '../../worker/define/task.ts';
import { type App, open } from '../open.ts';

const folder = tempFolder('app-fleet');
let files = 0;
const double = task('double', { queue: 'sums', run: ({ n }: { readonly n: number }) => n * 2 });

async function opened(t: TestContext, pools: boolean, url = `sqlite:${join(folder, `${++files}.db`)}`) {
  const app = await open(url, { housekeeping: false, pools });
  t.after(() => app.close());
  return { app, url };
}

const POOL = {
  launcher: { kind: 'in-process' },
  worker: { life: 'stay' },
  policy: { max: 3, idleMs: 200 },
} as const;

async function thereIn(app: App): Promise<number> {
  return (await app.engine.pools.plan('sums')).decision.there;
}

/** Looks until nobody is there. */
async function empty(app: App): Promise<void> {
  for (let look = 0; look < 1000; look++) {
    if ((await thereIn(app)) === 0) return;
    await pause(20);
  }
  assert.fail('workers are still there');
}

test('workers come with the work and go with it, and nobody has asked for a check', async (t) => {
  const { app } = await opened(t, true);
  app.poolWorkers({ tasks: [double] });
  await app.pools.put('sums', POOL);
  for (let twice = 0; twice < 2; twice++) {
    const handles = await app.pushMany(double, [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
    assert.deepEqual(await Promise.all(handles.map((handle) => handle.result())), [2, 4, 6, 8]);
    assert.ok((await thereIn(app)) <= 3);
    await empty(app);
  }
  const decisions = await app.pools.decisions('sums');
  const sum = (what: 'launched' | 'drained'): number => decisions.reduce((all, one) => all + one[what], 0);
  assert.ok(sum('launched') >= 2);
  assert.equal(sum('drained'), sum('launched'), 'who came was sent home');
});

test('a process that looks at the pools starts workers for what another process has pushed', async (t) => {
  const { app, url } = await opened(t, true);
  app.poolWorkers({ tasks: [double] });
  await app.pools.put('sums', POOL);
  const { app: other } = await opened(t, false, url);
  const handle = await other.push(double, { n: 21 });
  assert.equal(await handle.result(), 42);
});

test('a pool of a process without workers for pools says so, and its tasks wait', async (t) => {
  const { app } = await opened(t, false);
  await app.pools.put('sums', POOL);
  const handle = await app.push(double, { n: 1 });
  const { launches } = await app.pools.check('sums');
  assert.deepEqual(
    launches.map(({ outcome }) => outcome),
    ['failed'],
  );
  assert.equal(await handle.state(), 'ready');
  assert.equal(await app.pools.get('none'), undefined);
  await assert.rejects(app.pools.check('none'), (error) => isEngineError(error, 'NOT_FOUND'));
});
