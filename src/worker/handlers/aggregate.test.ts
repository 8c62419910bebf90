import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aggregate } from './aggregate.ts';
import { problemOf, tryOut } from './try-out.test.ts';

test('it returns all that it was given, with its number', async () => {
  const input = { cpu: { cores: 8 }, memory: null, text: 'ü' };
  assert.deepEqual((await tryOut(aggregate, input)).ended, {
    kind: 'done',
    result: { results: input, result_count: 3 },
  });
  assert.deepEqual((await tryOut(aggregate, {})).ended, { kind: 'done', result: { results: {}, result_count: 0 } });
});

test('what has no names is refused for good', async () => {
  for (const input of [[1], 'text', 7]) assert.equal(problemOf(await tryOut(aggregate, input)).kind, 'giveUp');
});
