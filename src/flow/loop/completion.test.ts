import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completionOf, COMPLETION_TOKEN as TOKEN } from './completion.ts';

test('the token completes a loop as the last line that is not blank', () => {
  for (const output of [TOKEN, `done\n${TOKEN}`, `done\r\n  ${TOKEN}  \r\n\n\t\n`, `${TOKEN}\n${TOKEN}`]) {
    assert.equal(completionOf(output, 'trailing'), 'complete', JSON.stringify(output));
  }
});

test('the exact mode allows nothing beside the token but blanks', () => {
  assert.equal(completionOf(` \n${TOKEN}\n `, 'exact'), 'complete');
  assert.equal(completionOf(`done\n${TOKEN}`, 'exact'), 'malformed');
});

test('a token that is not last, or stands within a line, does not complete', () => {
  assert.equal(completionOf(`${TOKEN}\none more thing`, 'trailing'), 'malformed');
  assert.equal(completionOf(`I will say ${TOKEN} later`, 'trailing'), 'malformed');
  assert.equal(completionOf(`${TOKEN}.`, 'trailing'), 'malformed');
});

test('an output without the token, or none at all, does not complete', () => {
  for (const output of ['', ' \n', 'done', '<promise>complete</promise>', '<promise>COMPLETE']) {
    assert.equal(completionOf(output, 'trailing'), 'none', JSON.stringify(output));
    assert.equal(completionOf(output, 'exact'), 'none');
  }
});
