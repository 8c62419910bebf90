import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { type ViewRig, viewCases } from '../conformance/admin/views.ts';
import { DAY, MINUTE, Scene } from '../conformance/kit/scene.ts';
import { tempFolder } from '../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import { openSqlite } from './open.ts';

const folder = tempFolder('views');
let files = 0;

/** A store on a file, and handles of another program. */
async function open(t: TestContext, wall: number): Promise<ViewRig & { readonly world: VirtualWorld }> {
  const world = new VirtualWorld({ wall });
  const file = join(folder, `${files++}.db`);
  const store = await openSqlite({ file, world, housekeeping: false });
  const scene = new Scene(store, world, { reopen: undefined, caller: undefined, pass: (ms) => world.advance(ms) });
  const reader = new DatabaseSync(file, { readOnly: true });
  const writer = new DatabaseSync(file);
  t.after(async () => {
    reader.close();
    writer.close();
    await store.close();
  });
  return {
    scene,
    world,
    rows: async (sql) =>
      reader
        .prepare(sql)
        .all()
        .map((row) => ({ ...row })),
    write: async (sql) => writer.exec(sql),
  };
}

viewCases({ name: 'sqlite', now: "datetime('now')", open });

test('expiries follow the calendar, as soon as the reaper has noted that somebody set the clock', async (t) => {
  const { scene, world, rows } = await open(t, Date.UTC(2026, 0, 5, 12));
  await scene.running({ queue: 'runs' }, { ttlMs: MINUTE });
  const duty = await scene.duty('reaper', DAY);
  world.jump(DAY);
  await scene.store.leaseReap({ duty, items: [] });
  const [run] = await rows('SELECT * FROM runs');
  assert.deepEqual(
    [run?.['lease_expires_at'], run?.['last_heartbeat_at']],
    ['2026-01-06 12:01:00', '2026-01-06 12:00:00'],
  );
});
