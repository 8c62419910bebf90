import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureMessage, fingerprint } from './fingerprint.ts';

const patternOf = (message: string): string => fingerprint(message).pattern;

test('errors that differ in numbers, ids, times, addresses, paths and quoted words have one fingerprint', () => {
  const alike: readonly (readonly [string, string, string])[] = [
    ['got 503 after 1.5 s', 'got 429 after 12 s', 'got <n> after <n> s'],
    ['no user "anna"', 'no user "bob the builder"', 'no user <word>'],
    ["no user 'anna'", 'no user `bob`', 'no user <word>'],
    ['open /tmp/a/b.txt:10:4', 'open ../x.json', 'open <path>'],
    ['open C:\\work\\a.txt', 'open ~/b', 'open <path>'],
    ['GET https://a.example/x?y=1 failed', 'GET http://b:80/ failed', 'GET <url> failed'],
    ['task_01hzx9w3k2m4 is gone', '5f0c6a52-8d11-4c0e-9f53-0f8a2f3b1c7d is gone', '<id> is gone'],
    ['task_01a1e4ae-cc2b-7000-8000-00000c8e110c ended', 'wrk_01a1e4ae-cb95-7000-8000-000004c3135d ended', '<id> ended'],
    ['commit 9fceb02d0ae598e9', 'commit 0x1f', 'commit <hex>'],
    ['since 2026-11-16T13:05:36.120Z', 'since 2025-01-01 00:00', 'since <time>'],
    ['two\n  lines', 'two lines', 'two lines'],
  ];
  for (const [one, other, pattern] of alike) {
    assert.equal(patternOf(one), pattern);
    assert.deepEqual(fingerprint(other), fingerprint(one));
  }
});

test('errors with other words have another fingerprint', () => {
  const ids = ['timeout', 'time out', 'no such user', "can't open", 'can open', ''].map((text) => fingerprint(text).id);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.every((id) => /^[0-9a-f]{16}$/.test(id)));
});

test('colours and other terminal sequences are not part of a pattern', () => {
  const painted = [
    '\u001b[31merror\u001b[0m: no disk left',
    '\u001b[1;38;5;196merror\u001b[m: no disk left',
    '\u009b31merror\u009b0m: no disk left',
    '\u001b]8;;https://a.example/why\u0007error\u001b]8;;\u001b\\: no disk left',
    '\u001b[2K\u001b[1Gerror: no disk left\u001b[?25h',
    '\u001b(Berror\u001b7: no disk left\u001b=',
  ];
  for (const text of painted) assert.equal(patternOf(text), 'error: no disk left');
  assert.equal(patternOf('read [31m of memory] and [0]'), 'read [<n>m of memory] and [<n>]');
});

test('words stay as they are: an apostrophe is no quote, and letters alone are no number', () => {
  assert.equal(patternOf("can't reach it, and don't ask"), "can't reach it, and don't ask");
  assert.equal(patternOf('deadbeef and facade'), 'deadbeef and facade');
  assert.equal(patternOf('read/write and either/or'), 'read/write and either/or');
});

test('a fingerprint is the same in every version: people link to it', () => {
  assert.deepEqual(fingerprint('connect ECONNREFUSED 10.0.0.1:5432'), {
    id: fingerprint('connect ECONNREFUSED 127.0.0.1:99').id,
    pattern: 'connect ECONNREFUSED <n>:<n>',
  });
  assert.equal(fingerprint('boom').id, 'c79493aadfdb257e');
});

test('a text of any length and any letters gives a short pattern, and takes no time', () => {
  const nasty = [
    '"',
    "'",
    '`',
    '/',
    '\\',
    '../',
    '0',
    'a/',
    'f',
    '\u0000',
    '\ud800',
    '<n>',
    'x_',
    '1,',
    '\u001b[',
    '\u001b]',
    '\u001b',
  ];
  const before = performance.now();
  for (const part of nasty) {
    const { pattern } = fingerprint(part.repeat(100_000));
    assert.ok(pattern.length <= 300 && pattern.isWellFormed(), part);
  }
  assert.ok(performance.now() - before < 2000);
});

test('the message of a failure is found in every form in which one is stored', () => {
  const error = JSON.stringify({ name: 'Error', message: 'say "no"', stack: 'x'.repeat(5000) });
  assert.equal(failureMessage(error, 'gave_up'), 'say "no"');
  assert.equal(failureMessage(error.slice(0, 200), 'gave_up'), 'say "no"');
  assert.equal(failureMessage('{"message":"cut o', 'gave_up'), 'cut o');
  assert.equal(failureMessage('"only a text"', 'gave_up'), 'only a text');
  assert.equal(failureMessage('no JSON at all', 'gave_up'), 'no JSON at all');
  assert.equal(failureMessage('{"message":7}', 'gave_up'), '{"message":7}');
  assert.equal(failureMessage('{"code":"X"}', 'gave_up'), '{"code":"X"}');
  assert.equal(failureMessage('null', 'gave_up'), 'null');
  assert.equal(failureMessage('""', 'gave_up'), '""');
  assert.equal(failureMessage('{"message":"half an escape \\', 'gave_up'), 'half an escape ');
});

test('a failure without an error gets its message from its reason', () => {
  assert.match(failureMessage(undefined, 'exhausted'), /lease ran out/);
  assert.match(failureMessage(undefined, 'timeout'), /too long/);
  assert.match(failureMessage(undefined, 'undeliverable'), /given back/);
  assert.match(failureMessage(undefined, 'gave_up'), /says nothing/);
});
