import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crashEverywhere, testWorkflow, VirtualWorld, type WorkflowTest } from '../../testing.ts';
import { task } from '../define/task.ts';
import { workflow } from './workflow.ts';

const price = task('price', { run: (): number => 0 });

const effects: string[] = [];
const order = workflow('order', async (input: { readonly items: readonly string[] }, wf) => {
  const prices = await wf.map(input.items, price, { window: 2 });
  const charged = await wf.step('charge', () => {
    effects.push('charge');
    return prices.length;
  });
  await wf.sleep('3d');
  const decision = await wf.approval('ship');
  const address = await wf.signal<string>('address', { timeout: '7d' });
  wf.log(`sent ${charged}`);
  return { prices, charged, decision: decision.action, address: address ?? 'none' };
});

const given = (): WorkflowTest => ({
  world: new VirtualWorld(),
  children: { price: (item: unknown) => String(item).length },
  approvals: { ship: [{ action: 'approve' }] },
  signals: { address: ['Main Street'] },
});

test('a workflow runs without a store, and its days pass at once', async () => {
  const it = given();
  const begun = it.world.clock.wall();
  const { state, result, log } = await testWorkflow(order, { items: ['a', 'bb', 'ccc'] }, it);
  assert.deepEqual(
    [state, result],
    ['completed', { prices: [1, 2, 3], charged: 3, decision: 'approve', address: 'Main Street' }],
  );
  assert.deepEqual(log, ['sent 3']);
  assert.ok(it.world.clock.wall() - begun >= 3 * 86_400_000);
});

test('a crash after each commit changes nothing', async () => {
  effects.length = 0;
  const [undisturbed, ...crashed] = await crashEverywhere(order, { items: ['a', 'bb'] }, given);
  assert.ok(crashed.length > 3);
  for (const { state, result } of crashed) assert.deepEqual([state, result], ['completed', undisturbed?.result]);
  assert.equal(effects.length, crashed.length + 1);
});

test('a run that nothing wakes says what it waits for, and one that fails says why', async () => {
  const { state, waitsFor } = await testWorkflow(order, { items: [] }, { world: new VirtualWorld() });
  assert.deepEqual([state, waitsFor], ['waiting', 'approval:ship#0']);
  const failed = await testWorkflow(order, { items: ['x'] }, { world: new VirtualWorld() });
  assert.equal(failed.state, 'failed');
  assert.match(JSON.stringify(failed.error), /the test has no child price/);
});

test('a signal that does not come in time is undefined', async () => {
  const { result } = await testWorkflow(order, { items: [] }, { ...given(), signals: {} });
  assert.equal(result?.address, 'none');
});

test('a step gives what the test says in its place', async () => {
  effects.length = 0;
  const steps = {
    charge: () => {
      throw new RangeError('no money');
    },
  };
  const { state, error } = await testWorkflow(order, { items: [] }, { ...given(), steps });
  assert.deepEqual([state, effects], ['failed', []]);
  assert.deepEqual(error, {
    name: 'RangeError',
    message: 'no money',
    step: 'step "charge"',
    code: undefined,
    details: undefined,
  });
  const { result } = await testWorkflow(order, { items: [] }, { ...given(), steps: { charge: 7 } });
  assert.equal(result?.charged, 7);
});
