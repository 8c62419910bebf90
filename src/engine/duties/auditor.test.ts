import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { checkBooks, lookAt } from '../../store/conformance/kit/snapshot.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { Log } from '../log.ts';
import { Roster } from './roster.ts';

const folder = tempFolder('auditor');
let files = 0;

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly engine: Engine;
  readonly roster: Roster;
  /** The same file, without the store. */
  readonly raw: DatabaseSync;
  readonly reported: { message: string; fields: unknown }[];
}

async function rig(t: TestContext, options: { readonly logFails?: boolean } = {}): Promise<Rig> {
  const file = join(folder, `${files++}.db`);
  const world = new VirtualWorld();
  const store = await openSqlite({ file, world, housekeeping: false });
  const engine = new Engine({ store, world });
  const reported: Rig['reported'] = [];
  const log: Log = {
    info: () => {},
    warn: () => {},
    error: (message, fields) => {
      reported.push({ message, fields });
      if (options.logFails) throw new Error('the log is gone');
    },
  };
  const roster = new Roster({ engine, holder: 'a', log });
  const raw = new DatabaseSync(file);
  t.after(async () => {
    raw.close();
    await roster.stop();
    await store.close();
  });
  await engine.pushMany(Array.from({ length: 6 }, () => ({ queue: 'mail', handler: 'send' })));
  await engine.push({ queue: 'post', handler: 'send', delay: '1h' });
  return { world, store, engine, roster, raw, reported };
}

test('an auditor that finds nothing reports nothing', async (t) => {
  const { roster, reported } = await rig(t);
  assert.equal(await roster.tick('auditor'), 0);
  assert.deepEqual(reported, []);
});

test('a counter that has drifted is repaired, and reported as a bug with its old and its right value', async (t) => {
  const { roster, raw, reported, store, engine } = await rig(t);
  raw.exec("UPDATE qstat SET ready = 1 WHERE queue = (SELECT id FROM queue WHERE name = 'mail')");
  raw.exec("UPDATE qstat SET scheduled = 4, running = 2 WHERE queue = (SELECT id FROM queue WHERE name = 'post')");
  assert.equal(await roster.tick('auditor'), 3);
  assert.deepEqual(
    reported.map(({ fields }) => fields),
    [
      { queue: 'mail', state: 'ready', counted: 6, kept: 1 },
      { queue: 'post', state: 'running', counted: 0, kept: 2 },
      { queue: 'post', state: 'scheduled', counted: 1, kept: 4 },
    ],
  );
  assert.match(reported[0]?.message ?? '', /report/);
  checkBooks(await lookAt(store));
  assert.equal((await engine.stats('mail')).ready, 6);
  assert.equal(await roster.tick('auditor'), 0);
});

test('a log that throws loses no report of a drift', async (t) => {
  const { roster, raw, reported } = await rig(t, { logFails: true });
  raw.exec('UPDATE qstat SET ready = 99');
  assert.equal(await roster.tick('auditor'), 2);
  assert.equal(reported.length, 2);
});

test('two auditors whose recount takes longer than a term do not depose each other', async (t) => {
  const { roster, store, world, engine, reported } = await rig(t);
  const RECOUNT_MS = 20_000;
  const statsAudit = store.statsAudit.bind(store);
  const recounts: number[] = [];
  store.statsAudit = async (params) => {
    await new Promise<void>((resolve) => void world.timers.after(RECOUNT_MS, resolve));
    const drifts = await statsAudit(params);
    recounts.push(params.duty.epoch);
    return drifts;
  };
  const other = new Roster({ engine, holder: 'b' });
  t.after(() => other.keeper('auditor').stop());
  roster.keeper('auditor').start();
  await world.advance(10);
  other.keeper('auditor').start();
  await world.advance(5 * 60_000);
  assert.deepEqual(recounts, [1]);
  assert.deepEqual([roster.held(), other.held()], [['auditor'], []]);
  assert.deepEqual(reported, []);
});

test('the recount is made each ten minutes and not more often, and not while the first tasks of a process run', async (t) => {
  const { roster, store, world } = await rig(t);
  let recounts = 0;
  const statsAudit = store.statsAudit.bind(store);
  store.statsAudit = (params) => {
    recounts++;
    return statsAudit(params);
  };
  roster.keeper('auditor').start();
  await world.advance(4000);
  assert.deepEqual([recounts, roster.keeper('auditor').holding], [0, true]);
  await world.advance(9 * 60_000);
  assert.equal(recounts, 1);
  await world.advance(11 * 60_000 + 1000);
  assert.equal(recounts, 3);
  assert.equal(roster.keeper('auditor').holding, true);
});

test('an auditor that was deposed repairs nothing and reports nothing', async (t) => {
  const { roster, store, world, raw, reported } = await rig(t);
  await roster.tick('auditor');
  await world.advance(7000);
  assert.ok(await store.dutyTake({ name: 'auditor', holder: 'b', ttlMs: 60_000 }));
  raw.exec('UPDATE qstat SET ready = 99');
  assert.equal(await roster.tick('auditor'), 0);
  assert.deepEqual(reported, []);
  assert.equal((await store.queueStats({ queue: 'mail' }))?.ready, 99);
});

test('a limit that has drifted is repaired, reported as a bug, and unblocks lanes that it blocked for nothing', async (t) => {
  const { roster, raw, reported, engine } = await rig(t);
  await engine.limits.set('api', { concurrent: 2 });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 9 });
  const task = { queue: 'calls', handler: 'call', limits: [{ name: 'api', key: 'ann' }] };
  await engine.pushMany([task, task, task]);
  const claim = () => engine.claim({ worker, max: 9, queues: ['calls'] });
  const [grant] = await claim();
  raw.exec("UPDATE slot SET active = 9 WHERE key = ''");
  await engine.complete(grant as { task: number; attempt: number });
  assert.deepEqual(await claim(), []);
  assert.equal(await roster.tick('auditor'), 1);
  assert.deepEqual(reported, [
    {
      message: 'a limit had drifted and was repaired: please report this as a bug',
      fields: { limit: 'api', key: '', counted: 1, kept: 8 },
    },
  ]);
  assert.equal((await claim()).length, 1);
  assert.equal(await roster.tick('auditor'), 0);
});
