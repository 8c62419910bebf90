import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggest } from './suggest.ts';

test('one slip in a short word and two in a longer one are forgiven: a swap, a gap, a letter too many, a wrong one', () => {
  const known = ['--port', '--host', '--data-dir', '--lease-duration'];
  for (const [word, meant] of [
    ['--prot', '--port'],
    ['--prt', '--port'],
    ['--porrt', '--port'],
    ['--bost', '--host'],
    ['--PORT', '--port'],
    ['--datadir', '--data-dir'],
    ['--leas-durration', '--lease-duration'],
  ] as const) {
    assert.equal(suggest(word, known), meant, word);
  }
});

test('a word that is near nothing gets no suggestion', () => {
  for (const word of ['--x', '--pp', '--verbose', '--lease', '']) {
    assert.equal(suggest(word, ['--port', '--host', '--lease-duration']), undefined, word);
  }
});

test('the nearest word wins', () => {
  assert.equal(suggest('restore', ['store', 'restart', 'restores']), 'restores');
});
