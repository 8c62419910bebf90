import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { refusal } from '../../conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../../conformance/kit/snapshot.ts';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import type { Store } from '../../store.ts';
import { openSqlite } from '../open.ts';
import { Housekeeper } from './housekeeper.ts';

const folder = tempFolder('housekeeper');
let files = 0;

interface Opened {
  readonly store: Store;
  readonly raw: DatabaseSync;
  readonly file: string;
  readonly world: VirtualWorld;
}

async function open(t: TestContext, housekeeping: boolean): Promise<Opened> {
  const file = join(folder, `${files++}.db`);
  const world = new VirtualWorld();
  const store = await openSqlite({ file, world, housekeeping });
  const raw = new DatabaseSync(file);
  t.after(async () => {
    raw.close();
    await store.close();
  });
  return { store, raw, file, world };
}

async function fill(store: Store): Promise<void> {
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const holder = await store.workerRegister({ name: 'w', incarnation: 'i', slots: 1, tags: [] });
  assert.ok(lane && spec);
  const item = { lane: lane.id, spec, priority: 0, maxTries: 3, payload: '1' };
  await store.taskPush({ items: [item, item, item, item, { ...item, delayMs: 1000 }] });
  await store.taskClaim({ claims: [{ holder, ttlMs: 1000, max: 1, lanes: [{ lane: lane.id, max: 1 }] }] });
}

for (const housekeeping of [true, false]) {
  const where = housekeeping ? 'in the thread' : 'in the process';

  test(`a recount ${where} reports each counter that drifted, repairs it, and then finds nothing`, async (t) => {
    const { store, raw } = await open(t, housekeeping);
    await fill(store);
    const duty = await store.dutyTake({ name: 'auditor', holder: 'me', ttlMs: 1000 });
    assert.ok(duty);
    assert.deepEqual(await store.statsAudit({ duty }), []);
    raw.exec('UPDATE qstat SET ready = 100, running = 0, scheduled = -7');
    const drifts = await store.statsAudit({ duty });
    assert.deepEqual(
      drifts.toSorted((a, b) => a.state.localeCompare(b.state)),
      [
        { queue: 'mail', state: 'ready', counted: 3, kept: 100 },
        { queue: 'mail', state: 'running', counted: 1, kept: 0 },
        { queue: 'mail', state: 'scheduled', counted: 1, kept: -7 },
      ],
    );
    checkBooks(await lookAt(store));
    assert.deepEqual(await store.statsAudit({ duty }), []);
  });

  test(`a recount ${where} makes the counters of a queue that has lost them`, async (t) => {
    const { store, raw } = await open(t, housekeeping);
    await fill(store);
    const duty = await store.dutyTake({ name: 'auditor', holder: 'me', ttlMs: 1000 });
    assert.ok(duty);
    raw.exec('DELETE FROM qstat');
    assert.equal((await store.statsAudit({ duty })).length, 3);
    checkBooks(await lookAt(store));
  });

  test(`a deposed auditor repairs nothing ${where}`, async (t) => {
    const { store, raw } = await open(t, housekeeping);
    await fill(store);
    raw.exec('UPDATE qstat SET ready = 100');
    assert.equal(await refusal(store.statsAudit({ duty: { name: 'auditor', epoch: 3 } })), 'DUTY_LOST');
    assert.equal((await store.queueStats({ queue: 'mail' }))?.ready, 100);
  });
}

test('what is written while the thread counts stays counted', async (t) => {
  const { store, raw } = await open(t, true);
  await fill(store);
  const duty = await store.dutyTake({ name: 'auditor', holder: 'me', ttlMs: 1000 });
  assert.ok(duty);
  raw.exec('UPDATE qstat SET ready = ready + 5');
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const audit = store.statsAudit({ duty });
  for (let n = 0; n < 50; n++) {
    await store.taskPush({ items: [{ lane: lane?.id ?? 0, spec: 1, priority: 0, maxTries: 1, payload: '1' }] });
  }
  const [drift] = await audit;
  assert.equal((drift?.kept ?? 0) - (drift?.counted ?? 0), 5);
  checkBooks(await lookAt(store));
});

/** The threads of this process, counted by the kernel. */
const threads = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/task').length : 0);

test('the log is carried over into the file while a process is busy, by a thread that an idle one does not have', async (t) => {
  // A reporter that writes to a file, as in CI, has the pool of Node started at some time: before the count.
  await stat(folder);
  const idle = threads();
  const { store, raw, world } = await open(t, true);
  await fill(store);
  assert.ok(threads() <= idle, 'no thread for a few commits');
  raw.exec('CREATE TABLE big (data TEXT); PRAGMA wal_autocheckpoint = 0');
  const add = raw.prepare('INSERT INTO big VALUES (?)');
  for (let n = 0; n < 80; n++) add.run('x'.repeat(100_000));
  const behind = (): number => {
    const row = raw.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number; checkpointed: number };
    return row.log - row.checkpointed;
  };
  assert.ok(behind() >= 1000);
  const work = async (): Promise<void> => {
    for (let n = 0; n < 60; n++) await store.queuePause({ queue: 'mail', paused: n % 2 === 0 });
  };
  await work();
  await world.advance(3000);
  await work();
  assert.ok(threads() <= idle, 'no thread for a burst, nor for another one after a rest');
  await world.advance(1001);
  await work();
  for (let n = 0; n < 500 && behind() >= 1000; n++) await sleep(10); // the thread has its own clock
  assert.ok(behind() < 1000, `${behind()} pages are behind`);
});

test('a thread that has ended refuses what it is asked, and closing it again is no harm', async (t) => {
  const { file } = await open(t, false);
  const housekeeper = new Housekeeper(file);
  assert.deepEqual(await housekeeper.recount(), []);
  await Promise.all([housekeeper.close(), housekeeper.close()]);
  await housekeeper.close();
  assert.equal(await refusal(housekeeper.recount()), 'STORE_UNAVAILABLE');
  housekeeper.wrote(1);
  assert.equal(await refusal(housekeeper.recount()), 'STORE_UNAVAILABLE');
});

test('a file that cannot be read is an answer and not the end of the thread', async () => {
  const housekeeper = new Housekeeper(join(folder, 'no', 'such', 'folder.db'));
  assert.equal(await refusal(housekeeper.recount()), 'STORE_UNAVAILABLE');
  assert.equal(await refusal(housekeeper.recount()), 'STORE_UNAVAILABLE');
  await housekeeper.close();
});
