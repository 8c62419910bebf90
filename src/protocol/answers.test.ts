import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOf, EnrolledAnswer, framesIn, grantsOf, JoinedAnswer, WireError } from './answers.ts';
import type { NewRequest } from './frames.ts';

const GRANT = {
  task: 7,
  attempt: 1,
  token: 'x',
  id: 'task_01a1de00-1c2a-7000-8000-00000d79a779',
  queue: 'work',
  handler: 'echo',
  payload: '1',
  tries: 1,
  maxTries: 3,
  createdAt: 1,
  suspect: false,
};
const LEASE = { task: 7, attempt: 1, token: 'x' };

test('a grant is what it says, without words of a newer node', () => {
  assert.deepEqual(grantsOf([{ ...GRANT, colour: 'red' }], 1), [GRANT]);
  assert.deepEqual(grantsOf(undefined, 1), []);
});

test('a grant with anything but numbers and short texts is refused', () => {
  for (const wrong of [
    { task: '../../etc/passwd' },
    { task: 1.5 },
    { task: 0 },
    { task: 2 ** 60 },
    { attempt: '1' },
    { attempt: -1 },
    { id: 'a\nb' },
    { id: 'x'.repeat(1000) },
    { handler: '' },
    { payload: { a: 1 } },
    { token: 7 },
    { timeoutMs: 0 },
    { suspect: 'yes' },
  ]) {
    assert.throws(() => grantsOf([{ ...GRANT, ...wrong }], 1), JSON.stringify(wrong));
  }
});

test('more grants than were asked for, and one task twice, are refused', () => {
  assert.throws(() => grantsOf([GRANT, { ...GRANT, task: 8 }], 1));
  assert.throws(() => grantsOf([GRANT, { ...GRANT, attempt: 2 }], 2), /twice/);
});

test('a message of a kind that is not known is left out, and nonsense is refused', () => {
  const frame = JSON.stringify([
    { type: 'weather', sun: 1 },
    { type: 'ok', re: 3, mood: 1 },
    { type: 'kill_task', task: 5 },
  ]);
  assert.deepEqual(framesIn(frame), [
    { type: 'ok', re: 3 },
    { type: 'kill_task', task: 5 },
  ]);
  for (const nonsense of [
    'null',
    '7',
    '"ok"',
    '{"type":7}',
    '{"type":"ok","re":"3"}',
    '{"type":"kill_task","task":"../x"}',
    '{"type":"connect_ok","leaseMs":-1}',
    '{"type":"connect_ok","leaseMs":1e12}',
    '{"type":"connect_ok","leaseMs":1000,"heartbeatMs":0}',
    '{"type":"refused","re":1}',
    JSON.stringify(Array.from({ length: 5001 }, () => ({ type: 'ok', re: 1 }))),
  ]) {
    assert.throws(() => framesIn(nonsense), nonsense.slice(0, 80));
  }
});

test('an error has a code of the catalogue, and texts of a bounded length', () => {
  const { code, message } = WireError.parse({ code: '__proto__', message: 'x'.repeat(100_000), more: 1 });
  assert.deepEqual([code, message.length], ['INTERNAL', 4000]);
  assert.equal(WireError.parse({ code: 'LEASE_LOST', message: '' }).code, 'LEASE_LOST');
  assert.equal(WireError.safeParse({ code: 'LEASE_LOST' }).success, false);
  assert.equal(WireError.safeParse({ code: 'LEASE_LOST', message: '', details: [] }).success, false);
});

test('each request is answered in its own form', () => {
  const renewal: NewRequest = { type: 'lease_renew', leases: [LEASE, LEASE] };
  assert.deepEqual(answerOf(renewal, ['held', 'lost']), ['held', 'lost']);
  assert.throws(() => answerOf(renewal, ['held']), /2 answers were asked for/);
  assert.throws(() => answerOf(renewal, ['held', 'maybe']));
  assert.throws(() => answerOf({ type: 'cancels' }, [{ task: '/', attempt: 1 }]));
  assert.throws(() => answerOf({ type: 'journal', lease: LEASE }, [{ key: 1, value: 'x' }]));
  assert.throws(() => answerOf({ type: 'waited', lease: LEASE }, { key: 'k', outcome: 'woken', leftMs: 'soon' }));
  assert.equal(answerOf({ type: 'waited', lease: LEASE }, undefined), undefined);
  assert.throws(() => answerOf({ type: 'results', lease: LEASE, tasks: [1] }, []));
  assert.throws(() => answerOf({ type: 'reusable', lease: LEASE }, { id: 4 }));
});

test('an end that was taken down is so in whichever words the node says it', () => {
  const failed: NewRequest = { type: 'task_failed', lease: LEASE, error: '1' };
  assert.equal(answerOf(failed, 'ready'), 'ready');
  assert.equal(answerOf(failed, { odd: true }), undefined);
  assert.equal(answerOf({ type: 'task_complete', lease: LEASE }, 'whatever'), undefined);
});

test('what goes into headers and files has one line', () => {
  assert.equal(JoinedAnswer.safeParse({ worker: 'w', session: 'a\r\nx: y', leaseMs: 1000 }).success, false);
  assert.equal(JoinedAnswer.safeParse({ worker: 'w', session: 'abc', leaseMs: 1000, more: 1 }).success, true);
  assert.equal(EnrolledAnswer.safeParse({ name: 'box', secret: 'a\nb' }).success, false);
});

test('an artifact is what it says, and one of another form is refused', () => {
  const asked: NewRequest = { type: 'artifact_find', lease: LEASE, name: 'a' };
  const artifact = {
    id: `art_${'0'.repeat(32)}`,
    task: 1,
    attempt: 1,
    name: 'out/ä.txt',
    type: 'text/plain',
    kind: 'file',
    size: 1,
    sha256: '0'.repeat(64),
    createdAt: 1,
  };
  assert.deepEqual(answerOf(asked, { ...artifact, more: 1 }), artifact);
  assert.equal(answerOf(asked, { ...artifact, kind: 'hologram' }).kind, 'file', 'a kind of a newer node');
  const wrong = [
    { id: '../x' },
    { size: -1 },
    { size: 1.5 },
    { sha256: 'f' },
    { name: 'a\nb' },
    { name: '' },
    { type: 'a\r\nb' },
  ];
  for (const one of wrong) assert.throws(() => answerOf(asked, { ...artifact, ...one }), JSON.stringify(one));
  const many = Array.from({ length: 1001 }, () => artifact);
  assert.throws(() => answerOf({ type: 'artifact_list', lease: LEASE }, many));
});

test('a transfer has one line for each header, and none that speaks for the worker', () => {
  const asked: NewRequest = { type: 'artifact_fetch', lease: LEASE, artifact: `art_${'0'.repeat(32)}` };
  const transfer = {
    method: 'GET',
    url: '/api/v1/artifacts/x/bytes?sig=y',
    headers: { 'x-amz-checksum-sha256': 'abc=' },
  };
  assert.deepEqual(answerOf(asked, transfer), transfer);
  for (const headers of [
    { authorization: 'Bearer x' },
    { host: 'a' },
    { cookie: 'a' },
    { 'transfer-encoding': 'chunked' },
    { 'x-amz-a': 'b\r\nhost: c' },
  ])
    assert.throws(() => answerOf(asked, { ...transfer, headers }), JSON.stringify(headers));
  for (const url of ['a b', 'http://x/\n', `/${'x'.repeat(8192)}`])
    assert.throws(() => answerOf(asked, { ...transfer, url }));
  assert.throws(() => answerOf(asked, { ...transfer, method: 'DELETE' }));
});
