import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openNode } from '../node.ts';
import { schemaView, upkeepOf } from './upkeep.ts';

const folder = tempFolder('upkeep');
const options = { force: false };

test('a file is backed up, restored elsewhere and found up to date', async () => {
  const [file, copy, other] = ['a.db', 'copy.db', 'deep/b.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const node = await openNode(`sqlite:${file}`, { duties: false, housekeeping: false });
  await node.engine.push({ queue: 'q', handler: 'h', input: 1 });
  await node.close();
  assert.equal((await upkeepOf(`sqlite:${file}`).backup(copy, options)).tasks.ready, 1);
  const upkeep = upkeepOf(`sqlite:${other}`);
  assert.equal(await refusal(upkeep.schema()), 'NOT_FOUND');
  assert.equal(await refusal(upkeep.migrate(() => {})), 'NOT_FOUND');
  assert.equal((await upkeep.restore(copy, options)).tasks.ready, 1);
  const { found, known, migrations } = await upkeep.schema();
  assert.deepEqual([found - known, migrations], [0, []]);
  await upkeep.migrate(() => assert.fail('there was nothing to run'));
});

test('an empty file gets all tables, and each migration is reported in order', async () => {
  const file = join(folder, 'empty.db');
  new DatabaseSync(file).close();
  const upkeep = upkeepOf(`sqlite:${file}`);
  const { found, migrations } = await upkeep.schema();
  assert.equal(found, 0);
  const ran: unknown[] = [];
  await upkeep.migrate((migration) => ran.push(migration));
  assert.deepEqual(ran, migrations);
  assert.deepEqual((await upkeep.schema()).migrations, []);
});

test('a view of the schema says which processes can work during each migration', () => {
  const migrations = [
    { version: 1, file: '001-a.sql', compatibleFrom: 1 },
    { version: 2, file: '002-b.sql', compatibleFrom: 1 },
    { version: 3, file: '003-c.sql', compatibleFrom: 3 },
  ];
  const view = schemaView('x', { version: 1, compatibleFrom: 1 }, migrations, 3);
  assert.deepEqual(
    view.migrations.map(({ name, oldProcessesGoOn }) => [name, oldProcessesGoOn]),
    [
      ['002-b', true],
      ['003-c', false],
    ],
  );
});

test('URLs of other stores are refused, and no password is repeated', async () => {
  for (const url of ['work.db', 'sqlite:', 'memory:', 'memory:x', 'sqlite::memory:', 'sqlite:memory:x', 'mysql://x']) {
    assert.throws(
      () => upkeepOf(url),
      (error) => isEngineError(error, 'INVALID_INPUT') && error.hint !== undefined,
      url,
    );
  }
  const urls = [
    'postgres://me:se%40cret@db/work',
    'postgres://me:se@cret@db/work',
    'postgresql://me@db/work?password=se%40cret&sslmode=require',
  ];
  for (const url of urls) {
    const upkeep = upkeepOf(url);
    for (const answer of [upkeep.backup("it's.dump", options), upkeep.restore("it's.dump", options)]) {
      await assert.rejects(answer, (error) => {
        assert.ok(isEngineError(error, 'INVALID_INPUT'));
        assert.doesNotMatch(JSON.stringify(error) + upkeep.store, /cret/);
        assert.match(error.hint ?? '', /pg_(dump|restore) .*postgres/);
        assert.ok(error.hint?.includes(`'it'\\''s.dump'`), error.hint);
        return true;
      });
    }
  }
});

test('a database gets all tables, and each migration is reported in order', async () => {
  const upkeep = upkeepOf(await freshDatabase('upkeep'));
  const { found, known, migrations, compatibleFrom } = await upkeep.schema();
  assert.deepEqual([found, compatibleFrom, migrations.at(-1)?.version], [0, 0, known]);
  const ran: unknown[] = [];
  await upkeep.migrate((migration) => ran.push(migration));
  assert.deepEqual(ran, migrations);
  assert.deepEqual((await upkeep.schema()).migrations, []);
  await upkeep.migrate(() => assert.fail('there was nothing to run'));
});
