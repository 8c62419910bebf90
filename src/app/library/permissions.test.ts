import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { task } from '../../worker/define/task.ts';
import { type NodeUrl, open } from '../open.ts';

const PERMISSIONS = { queues: ['side'], channels: ['orders:*'] };
const order = task('order', { permissions: PERMISSIONS, run: (input) => input });
const plain = task('plain', { run: (input) => input });

test('whoever pushes a defined task grants what its definition says, one by one, many at once and in a graph', async (t) => {
  // Closed before the node that it talks to, which is opened below.
  let close = (): Promise<void> => Promise.resolve();
  t.after(() => close());
  const { engine, service, admin } = await nodeScene(t, { durability: 'normal' });
  const remote = await open(service.address as NodeUrl, { token: admin });
  close = () => remote.close();
  const here = await open('memory:');
  t.after(() => here.close());
  for (const [app, { engine: at }] of [
    [here, here],
    [remote, { engine }],
  ] as const) {
    const granted = async (id: string) => {
      const record = await at.get(at.parseId(id));
      assert.ok(record);
      return at.permissionsOf(record.spec);
    };
    assert.deepEqual(await granted((await app.push(order, 1)).id), PERMISSIONS);
    assert.deepEqual(await granted((await app.push(order, 1, { permissions: { tags: ['gpu'] } })).id), {
      tags: ['gpu'],
    });
    assert.equal(await granted((await app.push(order, 1, { permissions: {} })).id), undefined);
    assert.equal(await granted((await app.push(plain, 1)).id), undefined);
    for (const { id } of await app.pushMany(order, [1, 2])) assert.deepEqual(await granted(id), PERMISSIONS);
    const graph = await app.pushGraph([
      { task: order, input: 1 },
      { task: plain, input: 1, after: ['order'] },
    ]);
    assert.deepEqual(await granted(graph.order?.id ?? ''), PERMISSIONS);
    assert.equal(await granted(graph.plain?.id ?? ''), undefined);
  }
});

test('permissions that permit nothing known are refused where the task is defined', () => {
  assert.throws(() => task('bad', { permissions: { queues: ['a*b'] }, run: () => 1 }), { code: 'INVALID_INPUT' });
  assert.throws(() => task('bad', { permissions: { all: true } as never, run: () => 1 }), { code: 'INVALID_INPUT' });
});
