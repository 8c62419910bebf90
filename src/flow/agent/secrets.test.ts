import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secrets } from './secrets.ts';

const KEY = 'sk-0123456789';

test('a value is hidden in a text, also as JSON writes it, and as a whole where it is longer than another', () => {
  const secrets = new Secrets([KEY, `${KEY}-long`, 'say "hello"', undefined]);
  assert.equal(secrets.hide(`${KEY}-long, ${KEY}.`), '[secret], [secret].');
  assert.equal(secrets.hide(JSON.stringify({ a: 'say "hello"' })), '{"a":"[secret]"}');
});

test('a short one is found in words that are none, and is left', () => {
  assert.equal(new Secrets(['short']).hide('a short word'), 'a short word');
});

test('in a value all texts and names are looked at, and nothing else', () => {
  const secrets = new Secrets([KEY, '12345678', 'disabled']);
  const given = { [KEY]: [`<${KEY}>`, 12345678, null, true], deep: { at: 'disabled' } };
  assert.deepEqual(secrets.hideIn(given), {
    '[secret]': ['<[secret]>', 12345678, null, true],
    deep: { at: '[secret]' },
  });
});

test('a value without any is given back as it is', () => {
  const given = { a: [1, undefined], when: new Date(0) };
  assert.equal(new Secrets([KEY]).hideIn(given), given);
  assert.equal(new Secrets([]).hideIn(undefined), undefined);
});

test('the beginning of one at the end of a text is told by its length', () => {
  const secrets = new Secrets([KEY, 'abcabcabd']);
  assert.deepEqual(
    ['', 'nothing', 'ends with sk-01', `ends with ${KEY}`, 'xabcabc', 'xabcabca'].map((one) => secrets.begunIn(one)),
    [0, 0, 5, 0, 6, 7],
  );
});

test('of a result the error is told without them', () => {
  const error = { code: 'server_error', type: `T ${KEY}`, message: `no such key: ${KEY}`, retryable: false };
  assert.deepEqual(new Secrets([KEY]).hideInError({ content: KEY, error }), {
    content: KEY,
    error: { ...error, type: 'T [secret]', message: 'no such key: [secret]' },
  });
});
