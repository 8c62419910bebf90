import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idempotencyText } from './idempotency.ts';

const text = (inputs: string, more: { task?: string; run?: number } = {}): string =>
  idempotencyText({ task: 't', run: 1, inputs, ...more });

test('the same work is the same text, however its inputs are written', () => {
  assert.equal(text('{"a":1,"b":{"c":[1,2],"d":null}}'), text(' {"b": {"d": null, "c": [1, 2.0]}, "a": 1e0}'));
});

test('another input, task or execution is another text', () => {
  const texts = [
    text('null'),
    text('{}'),
    text('[]'),
    text('""'),
    text('{"a":null}'),
    text('{"a":1}'),
    text('{"a":"1"}'),
    text('{}', { task: 'u' }),
    text('{}', { run: 2 }),
  ];
  assert.equal(new Set(texts).size, texts.length);
});

test('no name can be made to look like another piece of work', () => {
  assert.notEqual(text('{}', { task: 't",1,"' }), text('{}', { task: 't' }));
  assert.notEqual(text('1', { task: 'a', run: 11 }), text('11', { task: 'a', run: 1 }));
});
