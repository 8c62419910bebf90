/** A worker that takes more than its name was given room for. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proofOf, RawWorker } from '../support/raw-worker.ts';
import { RawHttpWorker } from './raw-http-worker.ts';
import { STORES, target, until } from './scene.ts';

const SLOTS = 2;

for (const [store, place] of Object.entries(STORES)) {
  test(`${store}: a name holds as many tasks as it was given slots, whatever its claims ask for`, async (t) => {
    const { node } = await target(t, { store: await place() });
    const { engine } = node;
    const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box', slots: SLOTS } });
    for (let i = 0; i < 12; i++) await engine.push({ queue: 'q', handler: 'echo' });
    const running = async (): Promise<number> => (await engine.store.leaseList({})).length;

    const worker = await RawWorker.dial(node.service.address);
    await worker.enter({ name: 'box', secret, slots: SLOTS });
    const claim = (waitMs = 0): Promise<readonly object[]> => worker.told('task_claim', { max: 9, waitMs });
    const came = (await Promise.all([claim(), claim(), claim()])).flat();
    assert.deepEqual([came.length, await running()], [SLOTS, SLOTS]);
    // A claim that waits for room gets what is free as soon as one has ended.
    const next = claim(60_000);
    await worker.told('task_complete', { lease: proofOf(came[0] as never), result: '1' });
    assert.equal((await next).length, 1);
    await worker.told('task_release', { lease: proofOf(came[1] as never) });
    assert.equal((await claim(60_000)).length, 1);
    assert.equal(await running(), SLOTS);
    worker.socket.terminate();
    await worker.closed;

    // Leases of an earlier start are its own; the new one holds no more than its slots besides.
    const before = await running();
    const later = await RawHttpWorker.join(node, { name: 'box', secret, slots: SLOTS });
    await Promise.all([later.claim(9), later.claim(9)]);
    assert.ok((await running()) <= before + SLOTS);
  });

  test(`${store}: a node of apflow that asks for many leases at once gets as many as it has slots`, async (t) => {
    const { node } = await target(t, { store: await place() });
    const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box', slots: SLOTS } });
    const tasks: string[] = [];
    for (let i = 0; i < 8; i++) tasks.push((await node.engine.push({ queue: 'q', handler: 'echo' })).id);
    const rpc = async (method: string, params: object): Promise<boolean> => {
      const { body } = await node.ask('/rpc', { token: secret, body: { jsonrpc: '2.0', id: 1, method, params } });
      return body.error === undefined && body.result !== null;
    };
    const node_id = 'box';
    assert.ok(await rpc('register_node', { node_id, executor_types: ['echo'], max_parallel_tasks: SLOTS }));
    const got = await Promise.all(tasks.map((task_id) => rpc('acquire_lease', { node_id, task_id })));
    assert.equal(got.filter(Boolean).length, SLOTS);
    await until(async () => (await node.engine.store.leaseList({})).length === SLOTS);
  });
}
