/** Regressions of the property tests: claims that are sent again under their operation id. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { realWorld } from '../../app/world.ts';
import { openPostgres } from './open.ts';

/** Tasks 1, 2 and 3 are in the second lane, 4 in the first. Claims ask the first lane first. */
async function scene(t: TestContext): Promise<(max: number) => Promise<readonly number[] | undefined>> {
  const store = await openPostgres({ url: `${await freshDatabase('again')}&pool=2`, world: realWorld() });
  t.after(() => store.close());
  const holder = await store.workerRegister({ name: 'w', incarnation: 'w', slots: 8, tags: [] });
  const lanes = await store.laneIntern({
    lanes: ['first', 'second'].map((queue) => ({ queue, handler: 'run' })),
  });
  const [first, second] = lanes.map(({ id }) => id) as [number, number];
  const [spec] = (await store.specIntern({ specs: ['{}'] })) as [number];
  const task = (lane: number) => ({ lane, spec, priority: 0, maxTries: 3, payload: '1' });
  await store.taskPush({ items: [task(second), task(second), task(second), task(first)] });
  return async (max) => {
    const from = [first, second].map((lane) => ({ lane, max }));
    const [answer] = await store.taskClaim({ claims: [{ holder, ttlMs: 60_000, max, op: 'once', lanes: from }] });
    return answer?.grants.map((grant) => grant.task);
  };
}

test('a claim that is sent again gets its grants in the order in which it had them', async (t) => {
  const claim = await scene(t);
  const granted = await claim(4);
  assert.deepEqual(granted, [4, 1, 2, 3]);
  assert.deepEqual(await claim(4), granted);
});

test('a claim that is sent again and wants fewer gets all that it was granted: nobody else knows of the rest', async (t) => {
  const claim = await scene(t);
  const granted = await claim(4);
  assert.deepEqual(await claim(1), granted);
});
