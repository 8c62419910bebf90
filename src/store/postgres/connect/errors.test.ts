import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault } from '../../../core/errors.ts';
import { judge, translate } from './errors.ts';

const withCode = (code: string, message = 'the server says so'): Error => Object.assign(new Error(message), { code });

/** Codes of the server or the socket, what is done about each, and the error that a caller gets in the end. */
const CODES = [
  ['40001', 'again', 'STORE_BUSY'],
  ['40P01', 'again', 'STORE_BUSY'],
  ['55P03', 'again', 'STORE_BUSY'],
  ['55006', 'again', 'STORE_BUSY'],
  ['53300', 'crowded', 'STORE_BUSY'],
  ['53400', 'crowded', 'STORE_BUSY'],
  ['53200', 'crowded', 'STORE_BUSY'],
  ['53000', 'crowded', 'STORE_BUSY'],
  ['57P01', 'lost', 'STORE_UNAVAILABLE'],
  ['57P02', 'lost', 'STORE_UNAVAILABLE'],
  ['57P03', 'lost', 'STORE_UNAVAILABLE'],
  ['57P05', 'lost', 'STORE_UNAVAILABLE'],
  ['25P03', 'lost', 'STORE_UNAVAILABLE'],
  ['25P04', 'lost', 'STORE_UNAVAILABLE'],
  ['08000', 'lost', 'STORE_UNAVAILABLE'],
  ['08006', 'lost', 'STORE_UNAVAILABLE'],
  ['08P01', 'lost', 'STORE_UNAVAILABLE'],
  ['ECONNREFUSED', 'lost', 'STORE_UNAVAILABLE'],
  ['ECONNRESET', 'lost', 'STORE_UNAVAILABLE'],
  ['EPIPE', 'lost', 'STORE_UNAVAILABLE'],
  ['ENOENT', 'lost', 'STORE_UNAVAILABLE'],
  ['ENOTFOUND', 'lost', 'STORE_UNAVAILABLE'],
  ['26000', 'pooled', 'INTERNAL'],
  ['42P05', 'pooled', 'INTERNAL'],
  ['25006', 'final', 'STORE_READONLY'],
  ['53100', 'final', 'STORE_FULL'],
  ['57014', 'final', 'STORE_BUSY'],
  ['XX001', 'final', 'STORE_CORRUPT'],
  ['XX002', 'final', 'STORE_CORRUPT'],
  ['28P01', 'final', 'STORE_UNAVAILABLE'],
  ['28000', 'final', 'STORE_UNAVAILABLE'],
  ['3D000', 'final', 'STORE_UNAVAILABLE'],
  ['42501', 'final', 'STORE_UNAVAILABLE'],
  ['42P01', 'final', 'INTERNAL'],
  ['23505', 'final', 'INTERNAL'],
  ['22021', 'final', 'INTERNAL'],
] as const;

const MESSAGES = [
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'timeout expired',
  'Query read timeout',
];

test('each code has one answer', () => {
  for (const [code, verdict, told] of CODES) {
    assert.equal(judge(withCode(code)), verdict, code);
    const error = translate(withCode(code), 'db.example/work');
    assert.equal(error.code, told, code);
    assert.equal(error.details?.['sqlstate'], code);
    assert.equal(error.details['server'], 'db.example/work');
  }
});

test('what the driver says without a code is known by its words', () => {
  for (const message of MESSAGES) {
    assert.equal(judge(new Error(message)), 'lost', message);
    assert.equal(translate(new Error(message), 'db').code, 'STORE_UNAVAILABLE', message);
  }
  assert.equal(judge(new Error('something else')), 'final');
  for (const odd of [undefined, null, 'text', 7, {}, { code: 7, message: 8 }]) {
    assert.equal(judge(odd), 'final');
    assert.equal(translate(odd, 'db').code, 'INTERNAL');
  }
});

test('an error of ours stays as it is', () => {
  const closed = fault('STORE_CLOSED');
  assert.equal(judge(closed), 'final');
  assert.equal(translate(closed, 'db'), closed);
});

test('a plan that a migration made wrong is no end of anything', () => {
  assert.equal(judge(withCode('0A000', 'cached plan must not change result type')), 'stale');
  assert.equal(judge(withCode('0A000', 'something else is not supported')), 'final');
});

test('a wrong password and a pooler come with what to do about them', () => {
  assert.match(translate(withCode('28P01'), 'db').hint ?? '', /user, the password/);
  const pooler = translate(withCode('08P01', 'unsupported startup parameter: options'), 'db');
  assert.equal(pooler.code, 'STORE_UNAVAILABLE');
  assert.match(pooler.hint ?? '', /pooler=transaction/);
});
