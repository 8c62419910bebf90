import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import { openSqlite } from './open.ts';
import { STATEMENTS } from './statements.ts';

test('a page of events reads the rows that it brings, and not all that follow', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'events-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'a.db');
  const store = await openSqlite({ file, world: realWorld() });
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  assert.ok(lane && spec);
  const item = { lane: lane.id, spec, priority: 0, maxTries: 1, payload: '1' };
  for (let i = 0; i < 50; i++) await store.taskPush({ items: Array.from({ length: 100 }, () => item) });

  const db = new DatabaseSync(file);
  t.after(() => db.close());
  const read = db.prepare(STATEMENTS.eventRead);
  assert.equal(read.all(1, 500).length, 5);
  assert.equal(read.all(2051, 500).length, 6);
  assert.equal(read.all(5001, 500).length, 1);

  const { events, last } = await store.eventRead({ after: 2050, limit: 500 });
  assert.deepEqual([events.length, events[0]?.seq, last], [500, 2051, 2550]);
  // Behind a gap of pruned events a page has the same length.
  db.exec('DELETE FROM event WHERE seq < 4000');
  const page = await store.eventRead({ after: 10, limit: 500 });
  assert.deepEqual([page.reset, page.events[0]?.seq, page.events.length], [true, 4001, 500]);
  await store.close();
});
