import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scaled } from '../../support/scale.ts';
import { ground } from './ground.ts';

const JOBS = scaled(100, 1000);
const MOST = scaled(4, 20);

for (const store of ['sqlite', 'postgres'] as const) {
  test(`${store}: a burst of ${JOBS} jobs is done by ${MOST} workers without a cron, and nobody is left`, async (t) => {
    const { engine, call, status, staff, until } = await ground(t, store);
    await engine.pushMany(Array.from({ length: JOBS }, () => ({ queue: 'burst', handler: 'echo', input: {} })));
    await engine.pools.put('burst', {
      policy: { max: MOST, tasksPerWorker: 10, idleMs: 1000 },
      worker: { life: 'stay', slots: 2 },
    });
    // Once. Whatever comes then is done by the workers themselves.
    const [checked] = (await call('pools', 'check', 'burst', '--json')).objects();
    assert.equal(checked?.['launched'], MOST);
    let most = 0;
    await until(
      'burst',
      'all is done, and nobody is there',
      // A worker that was sent home may give back what it had claimed ahead. It has gone before it looks, and starts another one for that.
      async () => (await staff('burst')).there === 0 && (await status('burst'))['done'] === JOBS,
      ({ there }) => {
        most = Math.max(most, there);
      },
    );
    assert.equal(most, MOST);
    const decisions = (await call('pools', 'decisions', 'burst', '--limit', '200', '--json')).objects();
    const sum = (what: string): number => decisions.reduce((all, one) => all + Number(one[what]), 0);
    const [launched, drained] = [sum('launched'), sum('drained')];
    assert.ok(drained >= MOST && drained <= launched, `${launched} started, ${drained} sent home`);
    const attempts = (await engine.list({ queue: 'burst', limit: JOBS })).map(({ attempt }) => attempt);
    t.diagnostic(`${launched} workers, up to ${Math.max(...attempts)} attempts`);
  });
}
