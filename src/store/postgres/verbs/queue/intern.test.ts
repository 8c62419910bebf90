import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshDatabase } from '../../../../../test/support/postgres.ts';
import { realWorld } from '../../../../app/world.ts';
import { openPostgres } from '../../open.ts';

const url = await freshDatabase('intern');
const world = realWorld();

test('processes that need the same new queue, lane and spec at the same moment get the same numbers', async (t) => {
  const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgres({ url, world })));
  t.after(() => Promise.all(stores.map((store) => store.close())));
  for (let round = 0; round < 20; round++) {
    const names = [
      { queue: `q${round}`, handler: 'send' },
      { queue: `q${round}`, handler: 'read' },
      { queue: `q${round}`, handler: 'send' },
    ];
    const lanes = await Promise.all(stores.map((store) => store.laneIntern({ lanes: names })));
    const specs = await Promise.all(stores.map((store) => store.specIntern({ specs: [`{"n":${round}}`, '{}'] })));
    for (const some of lanes) assert.deepEqual(some, lanes[0]);
    for (const some of specs) assert.deepEqual(some, specs[0]);
    assert.deepEqual(
      lanes[0]?.map(({ queue, handler }) => ({ queue, handler })),
      names,
    );
    assert.equal(lanes[0]?.[0]?.id, lanes[0]?.[2]?.id);
  }
});
