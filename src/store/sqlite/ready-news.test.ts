import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempFolder } from '../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import type { Store } from '../store.ts';
import { openSqlite } from './open.ts';

const folder = tempFolder('ready-news');
let files = 0;
const WORKER = { name: 'w', incarnation: 'w1', slots: 1, tags: [] };

interface Rig {
  readonly other: Store;
  readonly push: (queue: string, count?: number) => Promise<number>;
  /** What this process was told since the last time. */
  readonly told: () => Promise<readonly (readonly number[] | undefined)[]>;
}

async function rig(t: TestContext): Promise<Rig> {
  const file = join(folder, `${files++}.db`);
  const world = new VirtualWorld();
  const own = await openSqlite({ file, world, housekeeping: false });
  const other = await openSqlite({ file, world: new VirtualWorld(), housekeeping: false });
  t.after(() => Promise.all([own.close(), other.close()]));
  let told: (readonly number[] | undefined)[] = [];
  own.watch({ wanted: () => true, onChange: (lanes) => told.push(lanes) });
  const [spec] = await other.specIntern({ specs: ['{}'] });
  return {
    other,
    async push(queue, count = 1) {
      const [lane] = await other.laneIntern({ lanes: [{ queue, handler: 'send' }] });
      const item = { lane: lane?.id as number, spec: spec as number, priority: 0, maxTries: 3, payload: '1' };
      await other.taskPush({ items: Array.from({ length: count }, () => item) });
      return item.lane;
    },
    async told() {
      await world.advance(60);
      const was = told;
      told = [];
      return was;
    },
  };
}

test('a push of another process names its lane', async (t) => {
  const { push, told } = await rig(t);
  await push('mail');
  assert.deepEqual(await told(), [undefined], 'the first look has nothing to go by');
  const mail = await push('mail');
  assert.deepEqual(await told(), [[mail]]);
  const print = await push('print');
  await push('mail');
  assert.deepEqual(await told(), [[print, mail]]);
});

test('a claim of another process names nothing', async (t) => {
  const { other, push, told } = await rig(t);
  const lane = await push('mail');
  const worker = await other.workerRegister(WORKER);
  await told();
  await other.taskClaim({ claims: [{ holder: worker, ttlMs: 1000, max: 1, lanes: [{ lane, max: 1 }] }] });
  assert.deepEqual(await told(), [[]]);
});

test('what has no event, many tasks and workers that come are left to the scan', async (t) => {
  const { other, push, told } = await rig(t);
  await push('mail');
  await told();
  await other.queuePause({ queue: 'mail', paused: true });
  assert.deepEqual(await told(), [undefined]);
  await push('mail', 17);
  assert.deepEqual(await told(), [undefined]);
  await other.workerRegister(WORKER);
  assert.deepEqual(await told(), [undefined]);
});
