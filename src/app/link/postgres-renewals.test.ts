import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { freshDatabase } from '../../../test/support/postgres.ts';
import type { Lease } from '../../core/task/lease.ts';
import { openNode } from '../node.ts';
import { openRenewals } from './postgres-renewals.ts';

const LEASE_MS = 60_000;

test('the thread of a worker on Postgres renews, tells of lost leases and requests to stop, and ends a blocked attempt', async (t) => {
  const url = await freshDatabase('renewals');
  const node = await openNode(url, { duties: false });
  t.after(() => node.close());
  const { engine } = node;
  for (let i = 0; i < 3; i++) await engine.push({ queue: 'work', handler: 'noop', maxAttempts: 1 });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'a', slots: 3, handlers: ['noop'] });
  const grants = await engine.claim({ worker, max: 3 });
  const [held, cancelled, blocked] = grants.map(({ task, attempt }) => ({ task, attempt })) as [Lease, Lease, Lease];
  await engine.cancel(cancelled.task);

  const renewals = await openRenewals({ url });
  t.after(() => renewals.close());
  const stale = { ...held, attempt: held.attempt + 1 };
  assert.deepEqual(await renewals.renew([cancelled, held], LEASE_MS), ['cancel', 'held']);
  assert.deepEqual(await renewals.renew([stale], LEASE_MS), ['lost']);
  assert.ok(((await engine.get(held.task))?.leaseUntil ?? 0) > 0);

  await renewals.blocked(blocked, 1234);
  const { state, result } = (await engine.get(blocked.task)) ?? {};
  assert.equal(state, 'failed');
  assert.equal((JSON.parse(result ?? 'null') as { code: string }).code, 'LOOP_BLOCKED');
});

test('the thread of a worker on Postgres loads the driver and few modules of ours: no engine, no other store', () => {
  const loaded = new Set<string>();
  const load = (file: URL): void => {
    if (loaded.has(file.href)) return;
    loaded.add(file.href);
    // What is only a type is not loaded.
    for (const [, from] of readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type\b)[^;]*? from '(\.[^']+)';/gm,
    ))
      load(new URL(from as string, file));
  };
  load(new URL('./postgres-renewals.ts', import.meta.url));
  const names = [...loaded].map((href) => href.replace(/.*\/src\//, ''));
  assert.deepEqual(
    names.filter((name) => /^engine|sqlite|^store\/postgres\/(store|open)\.ts/.test(name)),
    [],
  );
  assert.ok(names.length <= 20, names.join(' '));
});
