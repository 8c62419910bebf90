import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { tempFolder } from '../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import { connect } from './file/connection.ts';
import { openSqlite } from './open.ts';
import { STATEMENTS } from './statements.ts';
import { recountApart } from './verbs/admin/audit.ts';

test('a recount finds nothing that another process changes while it counts', async (t) => {
  const file = join(tempFolder('audit'), 'audit.db');
  const store = await openSqlite({ file, world: new VirtualWorld() });
  const other = new DatabaseSync(file);
  // Between the rows and the counters, which are read last.
  const texts = { ...STATEMENTS, queueNames: 'SELECT id, name FROM queue WHERE meanwhile()' };
  const auditor = connect(file, 'full', texts);
  t.after(async () => {
    other.close();
    auditor.db.close();
    await store.close();
  });
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const item = { lane: lane?.id as number, spec: spec as number, priority: 0, maxTries: 3, payload: '1' };
  await store.taskPush({ items: [item, item] });

  let changes = 0;
  auditor.db.function('meanwhile', () => {
    other.exec('BEGIN IMMEDIATE; UPDATE task SET state = 1 WHERE id = 1');
    other.exec('UPDATE qstat SET ready = ready - 1, running = running + 1; COMMIT');
    changes++;
    return 1;
  });
  assert.deepEqual(recountApart(auditor), []);
  assert.equal(changes, 1);
});
