import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBudget } from './body-budget.ts';

const shares = { known: 100, perCaller: 60, strangers: 10 };

test('one caller has its share and no more, and what it gives back it may take again', () => {
  const budget = new BodyBudget(shares);
  assert.equal(budget.take('a', 60), undefined);
  assert.equal(budget.take('a', 1)?.code, 'TOO_MANY');
  budget.give('a', 20);
  assert.equal(budget.take('a', 20), undefined);
  assert.equal(budget.held, 60);
});

test('all callers together have the whole, and a refusal takes nothing', () => {
  const budget = new BodyBudget(shares);
  assert.equal(budget.take('a', 60), undefined);
  assert.equal(budget.take('b', 50)?.retryable, true);
  assert.equal(budget.take('b', 40), undefined);
  assert.equal(budget.take('c', 1)?.code, 'TOO_MANY');
  budget.give('b', 40);
  budget.give('a', 60);
  assert.equal(budget.held, 0);
});

test('strangers share a part of their own: they take nothing from callers with a token, nor these from them', () => {
  const budget = new BodyBudget(shares);
  assert.equal(budget.take(undefined, 10), undefined);
  assert.equal(budget.take(undefined, 1)?.code, 'TOO_MANY');
  assert.equal(budget.take('a', 60), undefined);
  assert.equal(budget.take('b', 40), undefined);
  budget.give(undefined, 10);
  assert.equal(budget.take(undefined, 10), undefined);
});
