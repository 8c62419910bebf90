import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPostgres } from '../../../test/support/postgres.ts';
import { realWorld } from '../../app/world.ts';
import { openPostgres } from '../../store/postgres/open.ts';
import { Engine } from '../engine.ts';
import { Roster } from './roster.ts';

test('on a server that has only just started a lease that was claimed since is taken back when it has expired', async (t) => {
  const world = realWorld();
  const server = await startPostgres();
  t.after(() => server.stop());
  const store = await openPostgres({ url: server.url('postgres'), world });
  t.after(() => store.close());
  // Much longer than the server has been up.
  const engine = new Engine({ store, world, leaseMs: 3_600_000 });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  const { task } = await engine.push({ queue: 'q', handler: 'h' });
  assert.equal((await engine.claim({ worker, max: 1, leaseMs: 1000 })).length, 1);
  const roster = new Roster({ engine, holder: 'a' });
  t.after(() => roster.stop());
  const read = async () => (await engine.get(task)) ?? assert.fail();
  // Much less than an hour: else the test would run out of its time.
  while ((await read()).state === 'running') await roster.tick('reaper');
  const { state, tries } = await read();
  assert.deepEqual([state, tries], ['ready', 1]);
});
