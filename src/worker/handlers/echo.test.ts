import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { echo } from './echo.ts';
import { problemOf, tryOut } from './try-out.test.ts';

test('it returns its input, unknown fields included, and logs a line', async () => {
  const input = { a: [1, { b: null }], text: 'ü' };
  const { ended, lines } = await tryOut(echo, input);
  assert.deepEqual(ended, { kind: 'done', result: input });
  assert.deepEqual(lines, ['echo {"a":[1,{"b":null}],"text":"ü"}']);
});

test('it waits as long as it is told', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let over = false;
  const tried = tryOut(echo, { delay_ms: 5_000 }).then((result) => {
    over = true;
    return result;
  });
  await turn();
  t.mock.timers.tick(4_999);
  await turn();
  assert.equal(over, false);
  t.mock.timers.tick(1);
  assert.equal((await tried).ended.kind, 'done');
});

test('a stop ends the wait at once', async () => {
  const stop = new AbortController();
  const tried = tryOut(echo, { delay_ms: 86_400_000 }, stop.signal);
  stop.abort();
  assert.equal((await tried).ended.kind, 'failed');
});

test('it fails when it is told to, with the message it is given', async () => {
  assert.deepEqual(problemOf(await tryOut(echo, { fail: 'no luck' })), {
    kind: 'failed',
    message: 'no luck',
    code: undefined,
  });
  assert.equal(problemOf(await tryOut(echo, { fail: true })).message, 'It was told to fail.');
  assert.equal((await tryOut(echo, { fail: false })).ended.kind, 'done');
});

test('a wrong option is refused for good', async () => {
  const { kind, message } = problemOf(await tryOut(echo, { delay_ms: '5s' }));
  assert.equal(kind, 'giveUp');
  assert.match(message, /delay_ms: must be a whole number from 0 to 86400000/);
});
