import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { CatalogueEntry, ErrorCode } from './errors.ts';
import { CATALOGUE, EngineError, fault, invariant, isEngineError, isErrorCode } from './errors.ts';

const entries = Object.entries(CATALOGUE) as [ErrorCode, CatalogueEntry][];

test('the reference page and the catalogue list the same codes with the same status and the same retry advice', () => {
  const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');
  const families = page.split(/^## /m).slice(1);
  const listed = families.flatMap((section) => {
    const family = /^\w+/.exec(section)?.[0].toLowerCase();
    return [...section.matchAll(/^\| `(\w+)` \| (\d+) \| (yes|no) \|/gm)].map((row) => ({
      code: row[1],
      family,
      status: Number(row[2]),
      retryable: row[3] === 'yes',
    }));
  });
  const known = entries.map(([code, { family, status, retryable }]) => ({ code, family, status, retryable }));
  const byCode = (a: { code: string | undefined }, b: { code: string | undefined }): number =>
    String(a.code).localeCompare(String(b.code));
  assert.deepEqual(listed.sort(byCode), known.sort(byCode));
});

test('every message is a whole sentence with and without details, and every error says what to do next', () => {
  for (const [code, entry] of entries) {
    const bare = fault(code).message;
    assert.match(bare, /^[A-Z][^{}|]*\.$/, code);
    assert.match(entry.hint ?? '', /^[A-Z].*\.$/, code);
    const names = [...entry.message.matchAll(/\{(\w+)\|/g)].map((found) => found[1] ?? '');
    const filled = fault(code, Object.fromEntries(names.map((name) => [name, `<${name}>`]))).message;
    for (const name of names) assert.ok(filled.includes(`<${name}>`), `${code} shows ${name}`);
  }
});

test('the catalogue cannot be changed at run time', () => {
  assert.ok(Object.isFrozen(CATALOGUE));
  for (const [code, entry] of entries) assert.ok(Object.isFrozen(entry), code);
});

test('a fault carries code, status, retry advice, details, hint and cause', () => {
  const cause = new Error('disk I/O error');
  const error = fault('STORE_FULL', { path: '/data' }, { cause });
  assert.equal(error.name, 'EngineError');
  assert.equal(error.code, 'STORE_FULL');
  assert.equal(error.status, 507);
  assert.equal(error.retryable, true);
  assert.deepEqual(error.details, { path: '/data' });
  assert.equal(error.hint, CATALOGUE.STORE_FULL.hint);
  assert.equal(error.cause, cause);
  assert.match(String(error.stack), /^EngineError: The disk of the store is full/);
  assert.deepEqual(Object.keys(error), ['code', 'retryable', 'status', 'details', 'hint']);
});

test('a caller may replace the hint, and an error without a cause has none', () => {
  const error = fault('UNKNOWN_OPTION', { option: 'quue' }, { hint: 'Did you mean queue?' });
  assert.equal(error.hint, 'Did you mean queue?');
  assert.equal(error.message, 'There is no option quue.');
  assert.equal(Object.hasOwn(error, 'cause'), false);
});

test('a lost lease is never retried and tells the worker to stop', () => {
  const error = fault('LEASE_LOST', { task: 'task_1', attempt: 3 });
  assert.equal(error.message, 'The lease of task_1 is lost: attempt 3 is not the one that runs now.');
  assert.equal(error.retryable, false);
  assert.match(error.hint ?? '', /^Stop work/);
});

test('the wire form has code and message, hint and details only where there are any, never cause or stack', () => {
  const full = fault('NOT_FOUND', { kind: 'task', id: 'task_1' }, { cause: new Error('secret') });
  assert.deepEqual(JSON.parse(JSON.stringify(full)), {
    code: 'NOT_FOUND',
    message: 'There is no task task_1.',
    hint: CATALOGUE.NOT_FOUND.hint,
    details: { kind: 'task', id: 'task_1' },
  });
  const bare = new EngineError({ code: 'INTERNAL', message: 'Odd.', retryable: false, status: 500 });
  assert.deepEqual(bare.toJSON(), { code: 'INTERNAL', message: 'Odd.' });
});

test('an error made by another copy of the package is recognised by its brand', () => {
  const foreign = Object.assign(new Error('The store is busy.'), {
    [Symbol.for('leasehold.error')]: true,
    code: 'STORE_BUSY',
  });
  assert.ok(foreign instanceof EngineError);
  assert.ok(isEngineError(foreign, 'STORE_BUSY'));
});

test('nothing else is taken for an engine error', () => {
  for (const value of [undefined, null, 'STORE_BUSY', 1, () => 1, {}, new Error('no'), { code: 'STORE_BUSY' }]) {
    assert.equal(value instanceof EngineError, false);
    assert.equal(isEngineError(value), false);
  }
});

test('an engine error is recognised by its code', () => {
  const error: unknown = fault('TIMEOUT');
  assert.ok(isEngineError(error));
  assert.ok(isEngineError(error, 'TIMEOUT'));
  assert.equal(isEngineError(error, 'STORE_BUSY'), false);
});

test('an invariant that holds is silent and one that does not is an internal error', () => {
  invariant(true, 'never shown');
  assert.throws(
    () => invariant(false, 'the fence went back'),
    (error: unknown) => {
      assert.ok(isEngineError(error, 'INTERNAL'));
      assert.match(error.message, /the fence went back/);
      return true;
    },
  );
});

test('a detail in a message is one bounded, well-formed line, and an object never shows as [object Object]', () => {
  const show = (problem: unknown): string => fault('TASK_FAILED', { task: 't', problem }).message;
  assert.equal(show('line one\nline two\u0000'), 'The task t failed: line one line two .');
  assert.equal(show(`${'x'.repeat(199)}\u{1f600}`), `The task t failed: ${'x'.repeat(199)}\ufffd.`);
  assert.equal(show({ a: 1 }), 'The task t failed: its handler gave no reason.');
  assert.equal(show(null), 'The task t failed: its handler gave no reason.');
  assert.equal(show(false), 'The task t failed: false.');
  assert.equal(show(7n), 'The task t failed: 7.');
  assert.equal(fault('NOT_FOUND', Object.create({ id: 'inherited' })).message, 'There is no object of that name.');
});

test('a text from elsewhere is one of our codes or it is not', () => {
  assert.ok(isErrorCode('LEASE_LOST'));
  for (const text of ['', 'lease_lost', 'constructor', '__proto__']) assert.equal(isErrorCode(text), false, text);
});
