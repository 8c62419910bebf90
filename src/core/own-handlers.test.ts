import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OWN_HANDLERS, REVIEW_HANDLER } from './own-handlers.ts';

test('the handler of reviews is one of those that nobody else asks for', () => {
  assert.ok(OWN_HANDLERS.has(REVIEW_HANDLER));
  assert.ok(!OWN_HANDLERS.has('machine'));
});
