import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { task } from '../../worker/define/task.ts';
import { type NodeUrl, open } from '../open.ts';
import type { Leasehold } from './leasehold.ts';

const report = task('report', {
  maxAttempts: 7,
  async run({ of }: { readonly of: string }) {
    return `report of ${of}`;
  },
});

/** The library on a store and on a node. */
async function eachApp(t: TestContext, act: (app: Leasehold) => Promise<void>): Promise<void> {
  const node = await nodeScene(t);
  for (const app of [await open('memory:'), await open(node.service.address as NodeUrl, { token: node.admin })]) {
    await act(app);
    await app.close();
  }
}

test('a program puts a schedule at each start, looks at it and runs it out of turn', async (t) => {
  await eachApp(t, async (app) => {
    const schedule = { task: report, input: { of: 'sales' }, daily: '03:00', timezone: 'Europe/Berlin' } as const;
    const put = await app.schedule('nightly', schedule);
    assert.deepEqual(
      [put.queue, put.handler, put.input, put.maxAttempts, put.times, put.state],
      ['report', 'report', { of: 'sales' }, 7, { daily: '03:00' }, 'active'],
    );
    assert.deepEqual(await app.schedule('nightly', schedule), put, 'its place stays');
    const worker = app.worker({ tasks: [report] });
    await worker.start();
    const id = await app.schedules.run('nightly');
    assert.equal(await app.handle(id).result(), 'report of sales');
    assert.equal((await app.schedules.pause('nightly')).state, 'paused');
    assert.equal((await app.schedule('nightly', schedule)).state, 'paused', 'a program that starts does not resume it');
    assert.equal((await app.schedules.resume('nightly')).state, 'active');
    const detail = await app.schedules.get('nightly', { next: 3 });
    assert.deepEqual([detail?.next.length, detail?.last?.outcome, detail?.last?.state], [3, 'run', 'completed']);
    assert.equal((await app.schedules.list()).length, 1);
    await app.schedules.remove('nightly');
    assert.equal(await app.schedules.get('nightly'), undefined);
  });
});

test('a schedule is refused for what it cannot be', async (t) => {
  await eachApp(t, async (app) => {
    const input = { of: 'sales' };
    assert.equal(await refusal(app.schedule('n', { task: report, input })), 'INVALID_INPUT');
    assert.equal(await refusal(app.schedule('n', { task: report, input, daily: '3' })), 'INVALID_INPUT');
    assert.equal(
      await refusal(app.schedule('n', { task: report, input, daily: '03:00', unique: 'k' } as never)),
      'UNKNOWN_OPTION',
    );
    const waits = task('waits', { waitTimeout: '5m', async run() {} });
    assert.equal(await refusal(app.schedule('n', { task: waits, daily: '03:00' })), 'INVALID_INPUT');
    assert.equal(await refusal(app.schedules.pause('none')), 'NOT_FOUND');
  });
});
