import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Gate } from './gate.ts';

test('everybody who waits passes with the next opening, and who comes later waits for the one after', async () => {
  const gate = new Gate();
  const passed: string[] = [];
  void gate.next().then(() => passed.push('a'));
  void gate.next().then(() => passed.push('b'));
  gate.open();
  const later = gate.next().then(() => passed.push('c'));
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(passed, ['a', 'b']);
  gate.open();
  await later;
  assert.deepEqual(passed, ['a', 'b', 'c']);
});

test('an opening that nobody waits for is forgotten', async () => {
  const gate = new Gate();
  gate.open();
  const won = await Promise.race([gate.next().then(() => 'passed'), new Promise((r) => setImmediate(r, 'waits'))]);
  assert.equal(won, 'waits');
});
