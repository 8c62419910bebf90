import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExactNumber, messageOf, parseExact, prettyJson, previewOf } from './json.ts';

test('large and odd numbers keep their digits', () => {
  const text = '{"big":12345678901234567890,"neat":1.5,"odd":1.10,"far":1e400,"list":[9007199254740993,1]}';
  const value = parseExact(text) as Record<string, unknown>;
  assert.deepEqual(value.big, new ExactNumber('12345678901234567890'));
  assert.equal(value.neat, 1.5);
  assert.equal(prettyJson(value).replaceAll(/\s/g, ''), text);
});

test('a preview is one line of bounded length', () => {
  assert.equal(previewOf({ a: 1, b: ['x', null], c: {} }), '{a: 1, b: ["x", null], c: {}}');
  const long = previewOf({ text: 'x'.repeat(1e6), rest: Array.from({ length: 1e5 }, () => 1) }, 50);
  assert.equal(long.length, 51);
  assert.ok(long.endsWith('…'));
});

test('an error is told by its message, with its code', () => {
  assert.equal(messageOf({ message: 'exit code 3', code: 'EXIT' }), 'EXIT: exit code 3');
  assert.equal(messageOf('boom'), 'boom');
  assert.equal(messageOf({ odd: 1 }), '{odd: 1}');
  assert.equal(messageOf(undefined), '');
});

test('a key that is called __proto__ is a key', () => {
  assert.equal(prettyJson(parseExact('{"__proto__":1}')), '{\n  "__proto__": 1\n}');
});
