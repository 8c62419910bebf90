import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Amount } from '../../core/limits/budget.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { TurnRequest } from '../settle/turn-request.ts';
import type { BudgetsRequest } from './budgets.ts';

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  store.watch({ wanted: () => engine.waiting, onChange: (lanes, slots) => engine.hint(lanes, slots) });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 8 });
  const claim = async (waitMs = 0): Promise<Grant | undefined> => (await engine.claim({ worker, max: 1, waitMs }))[0];
  const running = async (): Promise<Grant> => {
    await engine.push({ queue: 'q', handler: 'h' });
    const grant = await claim();
    assert.ok(grant);
    return grant;
  };
  return { engine, claim, running };
}

const tokens = (amount: number): readonly Amount[] => [{ unit: 'tokens', amount }];
const entries = (key: string) => [{ key, value: 1 }];

test('a budget is set in parts and read; bad bounds are refused, and nothing is changed', async (t) => {
  const { engine, running } = await rig(t);
  const { task } = await running();
  const none = { taken: 0, spent: 0, waiting: 0 };
  assert.deepEqual(await engine.budgets.get(task), []);
  await engine.budgets.set(task, { calls: { hard: 3 }, tokens: { soft: 80, hard: 100 } });
  assert.deepEqual(await engine.budgets.set(task, { tokens: { hard: null } }), [
    { unit: 'tokens', soft: 80, hard: undefined, ...none },
    { unit: 'calls', soft: undefined, hard: 3, ...none },
  ]);
  const before = await engine.budgets.get(task);
  const bad: readonly unknown[] = [
    null,
    { dollars: { hard: 1 } },
    { tokens: 5 },
    { tokens: { hard: -1 } },
    { tokens: { hard: 0.5 } },
    { tokens: { soft: 2 ** 53 } },
    { tokens: { soft: 6, hard: 5 } },
    { tokens: { most: 1 } },
  ];
  for (const budgets of bad) {
    const code = await refusal(engine.budgets.set(task, budgets as BudgetsRequest));
    assert.ok(code === 'INVALID_INPUT' || code === 'UNKNOWN_OPTION', JSON.stringify(budgets));
  }
  assert.equal(await refusal(engine.budgets.set(4711, { ms: { hard: 1 } })), 'NOT_FOUND');
  assert.equal(await refusal(engine.budgets.get('x' as never)), 'INVALID_INPUT');
  assert.deepEqual(await engine.budgets.get(task), before);
});

test('a child has no budget of its own', async (t) => {
  const { engine, running } = await rig(t);
  const parent = await running();
  const child = { queue: 'other', handler: 'h' };
  const { entries: born } = await engine.turn(parent, { entries: [{ key: 'c', kind: 'child', child }] });
  assert.equal(await refusal(engine.budgets.set(born[0]?.child?.task as number, { ms: { hard: 1 } })), 'NOT_FOUND');
});

test('a turn whose draw is refused parks its task; a raise wakes a claim that waits', async (t) => {
  const { engine, claim, running } = await rig(t);
  const grant = await running();
  await engine.budgets.set(grant.task, { tokens: { hard: 10 } });
  const on = await engine.turn(grant, { entries: entries('a'), draw: tokens(10) });
  assert.deepEqual([on.went, on.budget], ['on', {}]);
  const parked = await engine.turn(grant, { entries: entries('b'), draw: tokens(1), spend: tokens(10) });
  assert.deepEqual([parked.went, parked.budget], ['parked', { waits: true }]);
  assert.equal(await refusal(engine.complete(grant)), 'LEASE_LOST');
  const waiting = claim(60_000);
  await engine.budgets.set(grant.task, { tokens: { hard: 11 } });
  assert.equal((await waiting)?.task, grant.task);
});

test('a task that gives back wakes a claim that waits', async (t) => {
  const { engine, claim, running } = await rig(t);
  const parent = await running();
  await engine.budgets.set(parent.task, { tokens: { hard: 10 } });
  const child = { queue: 'q', handler: 'h' };
  await engine.turn(parent, { entries: [{ key: 'c', kind: 'child', child }] });
  const own = await claim();
  assert.ok(own);
  await engine.turn(parent, { entries: entries('a'), draw: tokens(10) });
  assert.equal((await engine.turn(own, { entries: entries('a'), draw: tokens(1) })).went, 'parked');
  const waiting = claim(60_000);
  await engine.complete(parent);
  assert.equal((await waiting)?.task, own.task);
});

test('a draw needs an entry and goes on, and amounts are whole numbers of known units', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  const bad: readonly TurnRequest[] = [
    { draw: tokens(1) },
    { spend: tokens(1) },
    { spend: tokens(1), then: { go: 'park', key: 'w', channel: 'c' } },
    { entries: entries('a'), draw: tokens(1), then: { go: 'complete' } },
    { entries: entries('a'), draw: [...tokens(1), ...tokens(2)] },
    { entries: entries('a'), draw: Array.from({ length: 5 }, () => tokens(1)[0] as Amount) },
    { entries: entries('a'), draw: tokens(-1) },
    { entries: entries('a'), draw: tokens(0.5) },
    { entries: entries('a'), draw: [{ unit: 'dollars' as 'money', amount: 1 }] },
    { entries: entries('a'), spend: [{ unit: 'ms', amount: 1, drawn: -1 }] },
    { entries: entries('a'), draw: 5 as never },
  ];
  for (const turn of bad) assert.equal(await refusal(engine.turn(grant, turn)), 'INVALID_INPUT', JSON.stringify(turn));
  const draw = [{ unit: 'ms', amount: 1, drawn: 1 } as Amount];
  assert.equal(await refusal(engine.turn(grant, { entries: entries('a'), draw })), 'UNKNOWN_OPTION');
  assert.deepEqual(await engine.journal(grant.task), []);
  const ended = await engine.turn(grant, { spend: tokens(1), then: { go: 'complete' } });
  assert.deepEqual([ended.went, ended.budget], ['ended', undefined], 'its end is its receipt');
});
