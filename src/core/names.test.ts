import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from './errors.ts';
import { checkKey, checkName, checkWorkerId } from './names.ts';

function refusal(check: () => unknown): string {
  try {
    check();
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return error.message;
  }
  return assert.fail('it was accepted');
}

test('queues, workers and schedules have plain lower-case names', () => {
  for (const kind of ['queue', 'worker', 'schedule']) {
    for (const name of ['a', '0', 'default', 'gpu-1.eu_west', `a${'b'.repeat(62)}`]) {
      assert.equal(checkName(kind, name), name);
    }
    for (const name of ['', 'A', '-a', '.a', '_a', 'a b', 'a:b', 'a/b', 'a\n', `a${'b'.repeat(63)}`, 'é', 'ａ']) {
      assert.match(
        refusal(() => checkName(kind, name)),
        new RegExp(`^The ${kind} name is not valid: .*1 to 63 of a-z`),
      );
    }
  }
});

test('workers of other programs may also have capitals, colons and at signs in their names', () => {
  for (const name of ['a', 'gpu-1', 'host:123:run', 'Me@Laptop.local', `W${'x'.repeat(126)}`]) {
    assert.equal(checkWorkerId('worker name', name), name);
  }
  for (const name of ['', ':a', '@a', 'a b', 'a/b', 'ä', 'a\u0000', `W${'x'.repeat(127)}`, 5]) {
    assert.match(
      refusal(() => checkWorkerId('worker name', name)),
      /^The worker name is not valid: .* is not 1 to 127 letters/,
    );
  }
});

test('handlers may also have capitals, at signs, colons and slashes in their names', () => {
  for (const name of ['resizeImage', 'acme/video:encode', 'A', 'nightly@3', 'v1.2_x-y', `H${'x'.repeat(62)}`]) {
    assert.equal(checkName('handler', name), name);
  }
  for (const name of ['', '/a', ':a', 'a b', 'ä', 'a\u0000', `H${'x'.repeat(63)}`]) {
    assert.match(
      refusal(() => checkName('handler', name)),
      /1 to 63 of A-Z, a-z/,
    );
  }
});

test('a name that is not a text is refused by its type, and a long one is shown in part', () => {
  for (const name of [undefined, null, 5, {}, ['a']]) {
    assert.match(
      refusal(() => checkName('queue', name)),
      /a value of type/,
    );
  }
  assert.ok(refusal(() => checkName('queue', 'X'.repeat(100_000))).length < 300);
});

test('a key is any printable text of 1 to 255 characters, kept exactly', () => {
  for (const key of ['a', 'Order #42 / ünïcode \u{1f600}', 'x'.repeat(255), ' ', 'e\u0301']) {
    assert.equal(checkKey('unique key', key), key);
  }
});

test('a key that some store would refuse or change is refused with the reason', () => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    ['', /empty/],
    ['x'.repeat(256), /longer than 255/],
    ['a\u0000b', /control/],
    ['a\nb', /control/],
    ['a\u007f', /control/],
    ['a\u0085', /control/],
    ['a\ud800', /surrogate/],
    ['\udc00a', /surrogate/],
    [undefined, /must be a text/],
    [42, /must be a text/],
  ];
  for (const [key, reason] of wrong) {
    const message = refusal(() => checkKey('unique key', key));
    assert.match(message, reason);
    assert.match(message, /^The unique key is not valid/);
  }
});
