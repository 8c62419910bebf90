import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keysOf } from './keys.ts';

test('letters are themselves, controls have names', () => {
  assert.deepEqual(keysOf('jk1?/é日'), ['j', 'k', '1', '?', '/', 'é', '日']);
  assert.deepEqual(keysOf('\t\r\u007f\u0003\u001a\u000c'), ['tab', 'enter', 'backspace', 'ctrl-c', 'ctrl-z', 'ctrl-l']);
});

test('arrows and their like are known in each form that terminals send', () => {
  assert.deepEqual(keysOf('\u001b[A\u001bOB\u001b[1;5C'), ['up', 'down', 'right']);
  assert.deepEqual(keysOf('\u001b[5~\u001b[6~\u001b[H\u001b[4~\u001b[Z'), [
    'pageup',
    'pagedown',
    'home',
    'end',
    'backtab',
  ]);
});

test('an escape alone is the key, also before a letter', () => {
  assert.deepEqual(keysOf('\u001b'), ['escape']);
  assert.deepEqual(keysOf('\u001bq'), ['escape', 'q']);
});

test('sequences that nobody knows and controls without a name are no keys', () => {
  assert.deepEqual(keysOf('\u001b[200~\u001b[<0;3;4M\u001b[15~\u0000\u0001\u202e'), []);
});
