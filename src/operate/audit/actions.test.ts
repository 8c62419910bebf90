import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROUTES, type RouteName } from '../../protocol/routes.ts';
import { VirtualWorld } from '../../testing.ts';
import { AUDITED, isAudited, isOwnWork, NOT_AUDITED } from './actions.ts';
import { RefusalBudget } from './refusal-budget.ts';

const NAMES = Object.keys(ROUTES) as RouteName[];

test('every route that changes something is audited, or there is a reason why not', () => {
  const changing = NAMES.filter((name) => ROUTES[name].method !== 'GET');
  assert.ok(changing.length > 60);
  for (const name of changing) {
    const reason = NOT_AUDITED[name];
    assert.ok(
      isAudited(name) !== (reason !== undefined),
      `${name}: put it into AUDITED or, with the reason, into NOT_AUDITED of src/operate/audit/actions.ts, and not into both`,
    );
    assert.notEqual(reason, '');
  }
});

test('nothing is listed that is not there, and no look is audited', () => {
  const made = new Set<string>(['editTask', 'deleteTask']);
  for (const name of [...Object.keys(AUDITED), ...Object.keys(NOT_AUDITED)]) {
    assert.ok(made.has(name) || (name in ROUTES && ROUTES[name as RouteName].method !== 'GET'), name);
  }
});

test('whatever an admin alone may change is audited, and so is what grants or ends access', () => {
  for (const name of NAMES) {
    if (ROUTES[name].access === 'admin' && ROUTES[name].method !== 'GET') assert.ok(isAudited(name), name);
  }
  for (const name of ['login', 'createLogin', 'enrolWorker', 'rotateToken', 'rotateWorker', 'rotateTrigger']) {
    assert.ok(isAudited(name), name);
  }
  assert.equal(isAudited('toString'), false);
  assert.equal(isOwnWork('cancelTask'), true);
  assert.equal(isOwnWork('removeLimit'), false);
});

test('of a flood of refusals some are written, and the next one stands for the rest', () => {
  const world = new VirtualWorld();
  const budget = new RefusalBudget(world.clock);
  const strangers = Array.from({ length: 1000 }, () => budget.take(undefined));
  assert.equal(strangers.filter((times) => times !== undefined).length, 60);
  assert.equal(budget.take('7 anna'), 1);
  assert.equal(budget.skipped, 940);
});

test('an hour later refusals are written again, and the first tells how many there were', async () => {
  const world = new VirtualWorld();
  const budget = new RefusalBudget(world.clock);
  for (let i = 0; i < 100; i++) budget.take(undefined);
  for (let i = 0; i < 601; i++) budget.take('7 anna');
  await world.advance(3_600_001);
  assert.deepEqual([budget.take(undefined), budget.take(undefined), budget.take('7 anna')], [41, 1, 2]);
  for (let i = 0; i < 3000; i++) budget.take(`caller ${i}`);
  assert.equal(budget.take('7 anna'), 1);
});
