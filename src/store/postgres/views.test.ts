import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { adminOf, postgresContract } from '../../../test/support/postgres-contract.ts';
import { type Row, type ViewRig, viewCases } from '../conformance/admin/views.ts';
import { Scene } from '../conformance/kit/scene.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';

const url = await freshDatabase('views');
const suite = await postgresContract({ name: 'postgres', url });

async function open(t: TestContext, wall: number): Promise<ViewRig> {
  const world = new VirtualWorld({ wall });
  const store = await suite.open({ world });
  const pass = async (ms: number): Promise<void> => suite.pass?.(ms, store, { world });
  const scene = new Scene(store, world, { reopen: undefined, caller: undefined, pass });
  const client = await adminOf(url);
  await client.query(`SET search_path = ${suite.schemaOf(store)}`);
  t.after(async () => {
    await client.end();
    await store.close();
  });
  return {
    scene,
    rows: async (sql) => (await client.query<Row>(sql)).rows.map(numbered),
    write: async (sql) => void (await client.query(sql)),
  };
}

/** The driver returns large integers as text. */
function numbered(row: Row): Row {
  const { max_iterations: most, ...rest } = row;
  return most === undefined ? rest : { ...row, max_iterations: most === null ? null : Number(most) };
}

// The suite's clock is not used here: the query asks for the real time, as a user would.
const now = `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')`;
viewCases({ name: 'postgres', now, open });

test('postgres: a user of the database who may only read sees them, whatever the search path and the time zone', async (t) => {
  const { scene } = await open(t, Date.UTC(2026, 0, 5, 12));
  await scene.running({ queue: 'runs', payload: '{"prompt":"x","max_iterations":1.5}' });
  const schema = suite.schemaOf(scene.store);
  const role = `reader_${schema}_${process.pid}`;
  await suite.admin.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT SELECT ON ${schema}.runs, ${schema}.work_pool, ${schema}.worker_registry TO ${role}`);
  const client = await adminOf(url);
  t.after(async () => {
    await client.end();
    await suite.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  await client.query(`SET ROLE ${role}; SET TIME ZONE 'Asia/Kolkata'`);
  const { rows } = await client.query<Row>(`SELECT * FROM ${schema}.runs`);
  assert.deepEqual(
    [rows[0]?.['created_at'], rows[0]?.['last_job_prompt'], rows[0]?.['max_iterations']],
    ['2026-01-05 12:00:00', 'x', null],
  );
  await assert.rejects(client.query(`SELECT * FROM ${schema}.task`), /permission denied/);
});
