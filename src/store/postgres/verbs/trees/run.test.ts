import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type pg from 'pg';
import { freshDatabase } from '../../../../../test/support/postgres.ts';
import { adminOf, stopClock } from '../../../../../test/support/postgres-contract.ts';
import { realWorld } from '../../../../app/world.ts';
import { DAY, HOUR, Scene } from '../../../conformance/kit/scene.ts';
import { VirtualWorld } from '../../../conformance/kit/virtual-world.ts';
import type { RunPush, RunPushAnswer } from '../../../store.ts';
import { openPostgres } from '../../open.ts';
import type { PostgresStore } from '../../store.ts';

/** A definition that a run is about to name, and the pruner that is about to remove it. */
const SCHEMA = 'runs';
const TEXT = { hash: 'h', kind: 'machine', body: '{}' };
const RUN = { kind: 'machine', title: 't', fingerprint: 'f', definition: 'h' };

let admin: pg.Client;
let other: pg.Client;
let store: PostgresStore;
let scene: Scene;

before(async () => {
  const url = await freshDatabase('runs');
  [admin, other] = [await adminOf(url), await adminOf(url)];
  store = await openPostgres({
    url: `${url}&schema=${SCHEMA}`,
    world: realWorld(),
    prepare: (connection, schema) => stopClock(connection, schema, Date.UTC(2026, 0, 5, 12)),
  });
  const pass = async (ms: number): Promise<void> => {
    await admin.query(`UPDATE ${SCHEMA}.test_clock SET ms = ms + $1`, [ms]);
  };
  scene = new Scene(store, new VirtualWorld(), { reopen: undefined, caller: undefined, pass });
});

after(async () => {
  await store.close();
  await admin.end();
  await other.end();
});

async function prune(): Promise<void> {
  const duty = await scene.duty('pruner', 900 * DAY);
  await scene.prune(duty, HOUR);
  await store.dutyRelease({ duty });
}

async function push(run: RunPush): Promise<RunPushAnswer> {
  return (await store.runPush({ runs: [run] }))[0] as RunPushAnswer;
}

/** Until a session of the store waits for a lock. */
async function someoneWaits(): Promise<void> {
  for (let asked = 0; asked < 10_000; asked++) {
    const { rows } = await admin.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (rows.length > 0) return;
  }
  assert.fail('nobody waits');
}

test('the pruner leaves a definition that a push holds, and takes it when nobody does', async () => {
  await store.definitionPut({ items: [TEXT] });
  await scene.pass(2 * HOUR);
  await other.query('BEGIN');
  await other.query(`SELECT FROM ${SCHEMA}.definition WHERE hash = 'h' FOR KEY SHARE`);
  await prune();
  assert.ok(await store.definitionGet({ hash: 'h' }));
  await other.query('ROLLBACK');
  await prune();
  assert.equal(await store.definitionGet({ hash: 'h' }), undefined);
});

test('a push that waits for the pruner puts the definition that it removed again', async () => {
  await store.definitionPut({ items: [TEXT] });
  await other.query('BEGIN');
  await other.query(`DELETE FROM ${SCHEMA}.definition WHERE hash = 'h'`);
  const pushed = push({ task: await scene.draft(), run: RUN, definition: TEXT });
  await someoneWaits();
  await other.query('COMMIT');
  assert.equal((await pushed).kind, 'made');
  assert.ok(await store.definitionGet({ hash: 'h' }));
});

test('a run that waits for another one of its name is made when that is undone', async () => {
  const made = await push({ task: await scene.draft(), run: RUN });
  assert.ok(made.kind === 'made');
  await other.query('BEGIN');
  await other.query(`UPDATE ${SCHEMA}.run SET name = 'a' WHERE task = ${made.task}`);
  const pushed = push({ task: await scene.draft(), run: { ...RUN, name: 'a' } });
  await someoneWaits();
  await other.query('ROLLBACK');
  assert.equal((await pushed).kind, 'made');
});
