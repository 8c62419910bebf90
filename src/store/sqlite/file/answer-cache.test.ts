import assert from 'node:assert/strict';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import type { DutyTenure, NewTask, Store } from '../../store.ts';
import { openSqlite } from '../open.ts';
import { STATEMENTS } from '../statements.ts';

const folder = tempFolder('unchanged');
let files = 0;

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  /** The same file, opened by another process. */
  readonly other: Store;
  readonly duty: DutyTenure;
  /** The statements that this work runs. */
  readonly asked: (work: () => Promise<unknown>) => Promise<readonly string[]>;
}

async function rig(t: TestContext): Promise<Rig> {
  const file = join(folder, `${files++}.db`);
  const world = new VirtualWorld();
  const store = await openSqlite({ file, world, housekeeping: false });
  const other = await openSqlite({ file, world, housekeeping: false });
  t.after(() => Promise.all([store.close(), other.close()]));
  const names = new Map(Object.entries(STATEMENTS).map(([name, text]) => [text as string, name]));
  let counted: string[] = [];
  for (const method of ['run', 'get', 'all', 'iterate'] as const) {
    const original = StatementSync.prototype[method] as (...args: unknown[]) => unknown;
    t.mock.method(StatementSync.prototype, method, function (this: StatementSync, ...args: unknown[]) {
      counted.push(names.get(this.sourceSQL) ?? this.sourceSQL);
      return original.apply(this, args);
    });
  }
  const asked = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    counted = [];
    await work();
    return counted.filter((name) => name !== 'dataVersion');
  };
  const duty = (await store.dutyTake({ name: 'stager', holder: 'a', ttlMs: 60_000 })) as DutyTenure;
  return { world, store, other, duty, asked };
}

/** All that an idle node polls. */
async function pollAll(store: Store, duty: DutyTenure): Promise<void> {
  await store.laneScan({ after: 0, limit: 1000 });
  await store.queueList();
  await store.workerSettings();
  await store.tokenAlive({ ids: [1, 2, 3] });
  await store.eventRead({ after: 0, limit: 100 });
  await store.leaseOverdue({ limit: 10 });
  await store.triggerDue({ limit: 10 });
  await store.taskStage({ duty, limit: 10 });
  await store.taskExpire({ duty, limit: 10 });
  await store.depCarry({ duty, limit: 10 });
}

async function newTask(store: Store, times: Partial<NewTask> = {}): Promise<NewTask> {
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'q', handler: 'h' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  return { lane: lane?.id as number, spec: spec as number, priority: 0, maxTries: 1, payload: '{}', ...times };
}

test('what was asked before and has not changed is not asked of the file again', async (t) => {
  const { store, duty, asked } = await rig(t);
  assert.notEqual((await asked(() => pollAll(store, duty))).length, 0);
  assert.deepEqual(await asked(() => pollAll(store, duty)), []);
});

test('signs of life change nothing that is kept', async (t) => {
  const { store, duty, asked } = await rig(t);
  const worker = await store.workerRegister({ name: 'w', incarnation: 'i', slots: 1, tags: [] });
  await pollAll(store, duty);
  await store.workerBeat({ beats: [{ worker, state: 'online' }] });
  assert.equal(await store.dutyRenew({ duty, ttlMs: 60_000 }), true);
  assert.deepEqual(await asked(() => pollAll(store, duty)), []);
});

test('a beat that the feed tells of is read there, and nothing else is', async (t) => {
  const { store, duty, asked } = await rig(t);
  const worker = await store.workerRegister({ name: 'w', incarnation: 'i', slots: 1, tags: [] });
  await pollAll(store, duty);
  const before = await store.eventRead({ after: 0, limit: 100 });
  await store.workerBeat({ beats: [{ worker, state: 'online', told: true }] });
  assert.deepEqual(await asked(() => pollAll(store, duty)), ['eventRead', 'workerNames']);
  assert.equal((await store.eventRead({ after: 0, limit: 100 })).events.length, before.events.length + 1);
});

for (const whose of ['this process', 'another process'] as const) {
  test(`a write of ${whose} is seen by the next who asks`, async (t) => {
    const { store, other, duty, world } = await rig(t);
    await pollAll(store, duty);
    const writer = whose === 'this process' ? store : other;
    const item = await newTask(writer);
    await writer.taskPush({ items: [item] });
    assert.equal((await store.laneScan({ after: 0, limit: 10 })).length, 1);
    assert.equal((await store.eventRead({ after: 0, limit: 100 })).events.length, 1);
    await pollAll(store, duty);
    await writer.queuePause({ queue: 'q', paused: true });
    assert.equal((await store.queueList())[0]?.paused, true);
    await writer.taskPush({ items: [{ ...item, delayMs: 1000 } as NewTask] });
    assert.equal((await store.taskStage({ duty, limit: 10 })).staged, 0);
    await world.advance(1001);
    assert.equal((await store.taskStage({ duty, limit: 10 })).staged, 1, 'time alone makes it due');
  });
}

test('who lost its duty to another process is told so by its next look', async (t) => {
  const { store, other, duty, world } = await rig(t);
  await pollAll(store, duty);
  await world.advance(60_001);
  assert.ok(await other.dutyTake({ name: 'stager', holder: 'b', ttlMs: 60_000 }));
  for (const look of ['taskStage', 'taskExpire', 'depCarry'] as const) {
    await assert.rejects(store[look]({ duty, limit: 10 }), { code: 'DUTY_LOST' }, look);
  }
});
