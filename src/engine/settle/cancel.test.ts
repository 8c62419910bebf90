import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';

async function rig(t: TestContext): Promise<{ engine: Engine; worker: number; running: () => Promise<Grant> }> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  const running = async (): Promise<Grant> => {
    await engine.push({ queue: 'mail', handler: 'send' });
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    return grant;
  };
  return { engine, worker, running };
}

test('a worker can read which of its leases should stop', async (t) => {
  const { engine, worker, running } = await rig(t);
  const grant = await running();
  await running();
  assert.deepEqual(await engine.cancelRequests(worker), []);
  await engine.cancel(grant.task);
  assert.deepEqual(await engine.cancelRequests(worker), [{ task: grant.task, attempt: 1 }]);
  assert.equal(await refusal(engine.cancelRequests(0)), 'INVALID_INPUT');
});

test('every listener of this process gets a cancel request, and nothing else', async (t) => {
  const { engine, running } = await rig(t);
  const told: string[] = [];
  const note = (name: string) => (task: number) => void told.push(`${name} ${task}`);
  engine.listen({ cancelRequested: note('a') });
  const endB = engine.listen({ cancelRequested: note('b') });
  const grant = await running();
  const waiting = await engine.push({ queue: 'other', handler: 'send' });
  await engine.cancel(waiting.task);
  assert.deepEqual(told, []);
  await engine.cancel(grant.task);
  assert.deepEqual(told, [`a ${grant.task}`, `b ${grant.task}`]);
  endB();
  endB();
  await engine.cancel(grant.task);
  assert.equal(told.at(-1), `a ${grant.task}`);
  assert.equal(told.length, 3);
});

test('a listener that throws, or ends itself, hinders neither the others nor the cancel', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  let heard = 0;
  const end = engine.listen({
    cancelRequested: () => {
      end();
      throw new Error('not interested');
    },
  });
  engine.listen({ cancelRequested: () => void heard++ });
  assert.equal(await engine.cancel(grant.task), 'requested');
  assert.equal(heard, 1);
});
