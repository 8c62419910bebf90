import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from '../../app/open.ts';
import { isEngineError } from '../../core/errors.ts';
import { EngineSnapshot } from '../engine-snapshot.ts';
import { budgetsOf, setBudgets } from './run-budgets.ts';

test('money is said in dollars and kept in millionths, and other units are as they are', async (t) => {
  const app = await open('memory:');
  t.after(() => app.close());
  const { engine } = app;
  const snapshot = new EngineSnapshot(engine);
  const { task } = await engine.push({ queue: 'q', handler: 'h' });
  assert.deepEqual(await budgetsOf(snapshot, task), []);
  const changes = [
    { unit: 'money', hard: 2.5 },
    { unit: 'tokens', soft: 10 },
  ] as const;
  const views = [
    { unit: 'tokens', soft: 10, taken: 0, spent: 0, waiting: false },
    { unit: 'money', hard: 2.5, taken: 0, spent: 0, waiting: false },
  ];
  assert.deepEqual(await setBudgets(snapshot, task, changes), views);
  assert.deepEqual(await budgetsOf(snapshot, task), views);
  const kept = await engine.budgets.get(task);
  assert.deepEqual(
    kept.map(({ unit, hard }) => [unit, hard]),
    [
      ['tokens', undefined],
      ['money', 2_500_000],
    ],
  );
  await assert.rejects(setBudgets(snapshot, 9999, [{ unit: 'ms', hard: 1 }]), (error) =>
    isEngineError(error, 'NOT_FOUND'),
  );
});
