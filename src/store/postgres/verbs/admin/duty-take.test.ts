import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { freshDatabase } from '../../../../../test/support/postgres.ts';
import { realWorld } from '../../../../app/world.ts';
import { openPostgres } from '../../open.ts';

test('a duty that another holds is refused without a lock: the holder may be in the middle of a pass', async (t) => {
  const url = await freshDatabase('duty');
  const store = await openPostgres({ url, world: realWorld() });
  t.after(() => store.close());
  assert.ok(await store.dutyTake({ name: 'feed', holder: 'one', ttlMs: 600_000 }));
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  t.after(() => holder.end());
  await holder.query('BEGIN');
  await holder.query("SELECT FROM leasehold.duty WHERE name = 'feed' FOR UPDATE");
  // A try that waited for the row would fail after four seconds, with STORE_BUSY.
  assert.equal(await store.dutyTake({ name: 'feed', holder: 'two', ttlMs: 600_000 }), undefined);
});
