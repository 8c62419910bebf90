import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault } from '../core/errors.ts';
import { errorOfAnswer, errorOfFetch, isTransient, wasNeverSent } from './problem.ts';

const URL = 'http://node';

test('what a node refuses comes back as the error that it was', () => {
  const error = fault('UNIQUE_CONFLICT', { key: 'k', task: 7 }, { hint: 'Choose another.' });
  const back = errorOfAnswer(JSON.parse(JSON.stringify({ error })), error.status, URL);
  for (const field of ['code', 'message', 'status', 'retryable', 'hint', 'details'] as const)
    assert.deepEqual(back[field], error[field], field);
  assert.equal(errorOfAnswer({ error: { code: 'CONFLICT' } }, 409, URL).hint, fault('CONFLICT').hint);
});

test('an error that is a text, with its code beside it, is that error', () => {
  const error = errorOfAnswer({ error: 'the run is completed', code: 'CONFLICT' }, 400, URL);
  assert.deepEqual([error.code, error.message], ['CONFLICT', 'the run is completed']);
});

test('who has no good token is told how to give one; what a node says of a code stays', () => {
  const plain = errorOfAnswer({ error: fault('UNAUTHENTICATED').toJSON() }, 401, URL);
  assert.match(plain.hint ?? '', /LEASEHOLD_TOKEN/);
  const code = fault('UNAUTHENTICATED', {}, { hint: 'The code was used.' });
  assert.equal(errorOfAnswer({ error: code.toJSON() }, 401, URL).hint, 'The code was used.');
});

test('an answer that is none of ours says that there is no node, and is tried again only behind a proxy', () => {
  for (const answer of [undefined, null, 'text', {}, { error: 'no' }, { error: { code: 'toString' } }]) {
    const error = errorOfAnswer(answer, 404, URL);
    assert.equal(error.code, 'NODE_UNREACHABLE');
    assert.match(error.message, /is not a node \(HTTP 404\)/);
    assert.equal(isTransient(error), false);
  }
  assert.equal(isTransient(errorOfAnswer(undefined, 502, URL)), true);
});

test('of a request that got no answer it is known whether it was sent, and whether there is hope', () => {
  const failed = (code: string): unknown => Object.assign(new TypeError('fetch failed'), { cause: { code } });
  const refused = errorOfFetch(failed('ECONNREFUSED'), URL);
  assert.deepEqual([isTransient(refused), wasNeverSent(refused)], [true, true]);
  assert.match(refused.message, /nobody listens there/);
  const broken = errorOfFetch(failed('ECONNRESET'), URL);
  assert.deepEqual([isTransient(broken), wasNeverSent(broken)], [true, false]);
  const unknown = errorOfFetch(failed('ENOTFOUND'), URL);
  assert.deepEqual([isTransient(unknown), wasNeverSent(unknown)], [false, false]);
  const untrusted = errorOfFetch(failed('DEPTH_ZERO_SELF_SIGNED_CERT'), URL);
  assert.equal(isTransient(untrusted), false);
  assert.match(untrusted.hint ?? '', /NODE_EXTRA_CA_CERTS/);
  const both = Object.assign(new AggregateError([{ code: 'ECONNREFUSED' }, { code: 'ECONNREFUSED' }]), {});
  assert.equal(wasNeverSent(errorOfFetch(new TypeError('fetch failed', { cause: both }), URL)), true);
  assert.equal(isTransient(errorOfFetch(new TypeError('Failed to fetch'), URL)), true, 'a browser says no more');
});

test('what passes by itself is told from what does not', () => {
  assert.deepEqual(
    [fault('STORE_BUSY'), fault('TIMEOUT'), fault('LIMIT_REACHED'), fault('CONFLICT'), new Error('x')].map(isTransient),
    [true, true, false, false, false],
  );
});
