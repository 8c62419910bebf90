import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type LinkScene, type LinkTopic, QUEUE, refusal } from './scene.ts';

const POOL = 'crew';

/** Reserves a start, and answers the text of its ticket. */
async function reserve({ operator }: LinkScene, letter: string): Promise<string> {
  const id = `tk-${letter.repeat(16)}`;
  const text = `${id}.${letter.repeat(32)}`;
  await operator.pools.put(POOL, { queues: [QUEUE], policy: { max: 5, startMs: 60_000 } });
  await operator.pools.reserve(POOL, [{ id, hash: createHash('sha256').update(text).digest('hex') }]);
  return text;
}

export const POOLING: LinkTopic = {
  name: 'pooling',
  cases: {
    'a ticket brings a worker into its pool, and it works like any other': async (scene) => {
      const ticket = await reserve(scene, 'a');
      const session = await scene.open({ incarnation: 'first', ticket });
      assert.equal((await scene.worker('first')).pool, POOL);
      await scene.push();
      await session.complete(await scene.claimOne(session), 'done');
    },

    'a ticket that is used, unknown, misspelt or too late is refused, and registers nobody': async (scene) => {
      const [used, late] = [await reserve(scene, 'a'), await reserve(scene, 'b')];
      await scene.open({ name: 'one', ticket: used });
      assert.equal(await refusal(scene.open({ name: 'two', ticket: used })), 'TICKET_REFUSED');
      const forged = late.replace(/.$/, 'x');
      assert.equal(await refusal(scene.open({ name: 'three', ticket: forged })), 'TICKET_REFUSED');
      assert.equal(await refusal(scene.open({ name: 'four', ticket: 'a ticket' })), 'TICKET_REFUSED');
      await scene.world.advance(60_000);
      assert.equal(await refusal(scene.open({ name: 'five', ticket: late })), 'TICKET_REFUSED');
      const names = (await scene.operator.workers.list()).map(({ name }) => name);
      assert.deepEqual(names, ['one']);
    },

    'a worker that was sent home learns it from its claim, and may finish what it has': async (scene) => {
      const session = await scene.open({ incarnation: 'first', ticket: await reserve(scene, 'a') });
      await session.beat('online');
      await scene.operator.pools.put(POOL, { enabled: false });
      await scene.operator.pools.carryOut(await scene.operator.pools.plan(POOL), []);
      await scene.push();
      assert.deepEqual(await scene.claim(session).catch(() => []), []);
      await scene.world.advance(2000);
      await scene.claim(session).catch(() => []);
      assert.equal(await refusal(scene.claim(session)), 'WORKER_LEAVING');
      await session.beat('offline');
    },
  },
};
