import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { refusal } from '../store/conformance/scene.ts';
import { SqliteStore } from '../store/sqlite/store.ts';
import { VirtualWorld } from '../testing.ts';
import { openNode } from './node.ts';

test('durations may be written as text, and the pruner keeps what they say', async (t) => {
  const world = new VirtualWorld();
  const node = await openNode('memory:', {
    world,
    duties: false,
    leaseMs: '45s',
    retentionMs: '7d',
  });
  t.after(() => node.close());
  const { engine, roster } = node;
  assert.deepEqual([engine.leaseMs, engine.retentionMs], [45_000, 7 * 86_400_000]);
  await engine.push({ queue: 'mail', handler: 'send' });
  await roster.tick('pruner');
  const { events, reset } = await engine.store.eventRead({ after: 0, limit: 10 });
  assert.deepEqual([events.length, reset], [1, false]);
});

test('workers beat at a third of a lease that is short, and are told how long a task may run', async (t) => {
  const terms = async (options: Parameters<typeof openNode>[1]): Promise<unknown> => {
    const node = await openNode('memory:', { duties: false, ...options });
    t.after(() => node.close());
    return node.terms;
  };
  assert.deepEqual(await terms({}), { heartbeatMs: 10_000, runTimeoutMs: undefined });
  assert.deepEqual(await terms({ heartbeatMs: '2s', taskTimeoutMs: '10m' }), {
    heartbeatMs: 2000,
    runTimeoutMs: 600_000,
  });
  assert.deepEqual(await terms({ leaseMs: '6s' }), { heartbeatMs: 2000, runTimeoutMs: undefined });
});

test('options that make no sense are refused, and the store is closed again', async (t) => {
  const close = t.mock.method(SqliteStore.prototype, 'close');
  for (const [n, options] of [
    { leaseMs: Number.NaN },
    { leaseMs: 'soon' },
    { retentionMs: '7 days' },
    { retentionMs: 0 },
    { dutyMs: Number.NaN },
    { heartbeatMs: 'often' },
    { taskTimeoutMs: -1 },
  ].entries()) {
    assert.equal(await refusal(openNode('memory:', options)), 'INVALID_INPUT', JSON.stringify(options));
    assert.equal(close.mock.callCount(), n + 1, JSON.stringify(options));
  }
});

test('an unknown option is refused before anything is opened', async () => {
  await assert.rejects(openNode('nowhere:', { retention: '7d' } as never), (error) => {
    assert.ok(isEngineError(error, 'UNKNOWN_OPTION'));
    assert.match(error.hint ?? '', /leaseMs, retentionMs/);
    return true;
  });
  assert.equal(await refusal(openNode('memory:', null as never)), 'INVALID_INPUT');
});

test('whoever waits for work or for events hears at once that the node was closed', async () => {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false });
  const { engine } = node;
  const worker = await engine.registerWorker({ name: 'w', incarnation: 'i', slots: 1 });
  const heard: string[] = [];
  const hear = (who: string, waiting: Promise<unknown>): void =>
    void refusal(waiting).then((code) => heard.push(`${who} ${code}`));
  hear('claim', engine.claim({ worker, max: 1, waitMs: 60_000 }));
  hear(
    'reader',
    (async () => {
      for await (const item of engine.events()) assert.fail(item.kind);
    })(),
  );
  await world.settle();
  assert.deepEqual(heard, []);
  await node.close();
  await world.settle();
  assert.deepEqual(new Set(heard), new Set(['claim STORE_CLOSED', 'reader STORE_CLOSED']));
});
