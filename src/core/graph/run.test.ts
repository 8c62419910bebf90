import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import {
  checkCancelNote,
  checkDefinition,
  checkDefinitionHash,
  checkRunTitle,
  MAX_DEFINITION_BYTES,
  type RunTitle,
} from './run.ts';

const refuses = (code: 'INVALID_INPUT' | 'TOO_LARGE', act: () => unknown): void =>
  assert.throws(act, (error) => isEngineError(error, code));

const HASH = 'ab'.repeat(32);

test('a run has a kind and a title, and may have a name and labels', () => {
  const run = { name: 'nightly/7 ü', kind: 'machine', title: 'Writer', labels: { team: 'a', none: '' } };
  assert.deepEqual(checkRunTitle(run), run);
  assert.deepEqual(checkRunTitle({ kind: 'a-1', title: 't' }), {
    name: undefined,
    kind: 'a-1',
    title: 't',
    labels: undefined,
  });
});

test('names, kinds, titles and labels that a store or a page could not show are refused', () => {
  const bad: readonly Partial<Record<keyof RunTitle, unknown>>[] = [
    { name: '' },
    { name: '.' },
    { name: '..' },
    { name: 'a\nb' },
    { name: 'x'.repeat(256) },
    { name: 7 },
    { kind: 'Machine' },
    { kind: 'x'.repeat(33) },
    { kind: undefined },
    { title: '' },
    { labels: [] },
    { labels: null },
    { labels: 'x' },
    { labels: { a: 1 } },
    { labels: { '': 'a' } },
    { labels: { [`k${'x'.repeat(63)}`]: 'a' } },
    { labels: { a: 'x'.repeat(256) } },
    { labels: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, 'v'])) },
  ];
  for (const part of bad) {
    refuses('INVALID_INPUT', () => checkRunTitle({ kind: 'task', title: 't', ...part } as RunTitle));
  }
});

test('a definition is a text of at most 4 MiB with its hash', () => {
  const definition = { hash: HASH, kind: 'machine', body: '{}' };
  assert.deepEqual(checkDefinition(definition), definition);
  assert.equal(checkDefinition({ ...definition, body: 'x'.repeat(MAX_DEFINITION_BYTES) }).kind, 'machine');
  for (const body of ['x'.repeat(MAX_DEFINITION_BYTES + 1), 'é'.repeat(MAX_DEFINITION_BYTES / 2 + 1)]) {
    refuses('TOO_LARGE', () => checkDefinition({ ...definition, body }));
  }
  for (const body of ['', 7 as never, 'a\u0000', '\ud800']) {
    refuses('INVALID_INPUT', () => checkDefinition({ ...definition, body }));
  }
  for (const hash of ['', 'AB'.repeat(32), 7]) refuses('INVALID_INPUT', () => checkDefinitionHash(hash));
  refuses('INVALID_INPUT', () => checkDefinition({ ...definition, kind: '' }));
});

test('the reason for a cancel is any text, as far as stores can keep it', () => {
  assert.equal(checkCancelNote('why', undefined), undefined);
  assert.equal(checkCancelNote('why', 'a\nb\u0000\ud800'), 'a\nb\ufffd\ufffd');
  for (const text of [7, 'x'.repeat(1001)]) refuses('INVALID_INPUT', () => checkCancelNote('why', text));
});
