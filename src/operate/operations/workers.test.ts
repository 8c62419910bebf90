import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openNode } from '../../app/node.ts';
import { operate } from '../../app/operate.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { WorkerOperator } from './workers.ts';

const folder = tempFolder('operate-workers');
let stores = 0;

async function scene(t: TestContext) {
  stores += 1;
  const url = `sqlite:${join(folder, `${stores}.db`)}`;
  const node = await openNode(url, { duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'laptop', incarnation: `i${stores}`, slots: 9, tags: ['eu'] });
  const operator = await operate({ store: url });
  t.after(async () => {
    await operator.close();
    await node.close();
  });
  return { engine, worker, operator, fleet: new WorkerOperator(operator.engine) };
}

test('a worker that is disabled takes nothing more and keeps what it has, until it is enabled', async (t) => {
  const { engine, worker, fleet, operator } = await scene(t);
  for (let i = 0; i < 3; i += 1) await engine.push({ queue: 'q', handler: 'h' });
  await engine.claim({ worker, max: 1 });
  const [off] = await fleet.set(['laptop', 'laptop'], { enabled: false });
  assert.deepEqual(off, { name: 'laptop', enabled: false, tags: [], workers: 1, running: 1 });
  assert.equal((await engine.claim({ worker, max: 1 })).length, 0);
  assert.equal((await operator.call('listWorkers')).workers[0]?.enabled, false);
  await fleet.set(['laptop'], { enabled: true });
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
});

test('what is said of a name without a worker holds for the one that comes, and is remembered until then', async (t) => {
  const { engine, fleet, operator } = await scene(t);
  assert.deepEqual(
    (await fleet.settings()).filter(({ workers }) => workers === 0),
    [],
  );
  const [answer] = await fleet.set(['gpu-1'], { enabled: false, priority: -5 });
  assert.equal(answer?.workers, 0);
  assert.deepEqual(
    (await fleet.settings()).filter(({ workers }) => workers === 0),
    [{ name: 'gpu-1', enabled: false, priority: -5, tags: [], workers: 0, running: 0 }],
  );
  await engine.workers.register({ name: 'gpu-1', incarnation: 'later', slots: 1, priority: 3 });
  const shown = (await operator.call('listWorkers')).workers.find(({ name }) => name === 'gpu-1');
  assert.deepEqual([shown?.enabled, shown?.priority], [false, -5]);
  assert.deepEqual(
    (await fleet.settings()).filter(({ workers }) => workers === 0),
    [],
  );
  assert.equal(await refusal(fleet.set(['No Name'], { enabled: true })), 'INVALID_INPUT');
});

test('given tags come and go; those that a worker brings stay', async (t) => {
  const { fleet } = await scene(t);
  const given = await fleet.tag('laptop', { add: ['gpu=nvidia', 'spot'], remove: [] });
  assert.deepEqual([given.tags, given.carries, given.own], [['gpu=nvidia', 'spot'], ['eu', 'gpu=nvidia', 'spot'], []]);
  const taken = await fleet.tag('laptop', { add: [], remove: ['spot', 'eu', 'never-had'] });
  assert.deepEqual([taken.tags, taken.carries, taken.own], [['gpu=nvidia'], ['eu', 'gpu=nvidia'], ['eu']]);
});
