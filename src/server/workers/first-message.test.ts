import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFirst, readPath } from './first-message.ts';

const first = (value: unknown) => readFirst([Buffer.from(JSON.stringify(value)), false]);
const PLAIN = { type: 'connect', name: 'a', secret: 's', version: '1.0.0', credentials: ['discord'] };
const OWN = { ...PLAIN, credentials: undefined, incarnation: 'i', slots: 1, tags: [], handlers: [], holding: [] };

test('who says nothing of incarnations, slots, handlers and leases is a dazflow agent', () => {
  assert.deepEqual(first(PLAIN), { kind: 'dazflow', connect: PLAIN, byPath: false });
  assert.equal(first({ type: 'connect', name: 'a', secret: 's' }).kind, 'dazflow');
  assert.equal(first({ ...PLAIN, version: null, credentials: null }).kind, 'dazflow');
});

test('what an agent says beyond the words of dazflow is not looked at', () => {
  assert.deepEqual(first({ ...PLAIN, hostname: 'box', tags: ['root'] }).connect, PLAIN);
});

test('who says one of our own things must say them all', () => {
  assert.equal(first(OWN).kind, 'worker');
  for (const field of ['incarnation', 'slots', 'handlers', 'holding'] as const) {
    assert.throws(() => first({ ...PLAIN, [field]: OWN[field] }), { code: 'INVALID_INPUT' }, field);
    assert.throws(() => first({ ...OWN, [field]: undefined }), { code: 'INVALID_INPUT' }, field);
  }
  assert.deepEqual(first({ ...OWN, extra: 1 }), first(OWN));
});

test('a greeting without a name or a secret is none', () => {
  for (const bad of [null, 7, [], [PLAIN], {}, { ...PLAIN, type: 'hello' }, { ...PLAIN, name: 7 }]) {
    assert.throws(() => first(bad), { code: 'INVALID_INPUT' }, JSON.stringify(bad));
  }
  assert.throws(() => first({ type: 'connect', name: 'a' }), { code: 'INVALID_INPUT' });
  assert.throws(() => readFirst([Buffer.from(JSON.stringify(PLAIN)), true]), { code: 'INVALID_INPUT' });
});

test('an address says a name and a secret, and nothing else', () => {
  const found = (url: string): unknown => {
    const coming = readPath(url);
    return coming?.kind === 'dazflow' ? [coming.connect.name, coming.connect.secret, coming.byPath] : undefined;
  };
  assert.deepEqual(found('/ws/agent/a/lh_wrk_x'), ['a', 'lh_wrk_x', true]);
  assert.deepEqual(found('/ws/agent/gpu%2D1/a%2Fb'), ['gpu-1', 'a/b', true]);
  const others = [
    '/ws/agent',
    '/ws/agent/',
    '/ws/agent/a',
    '/ws/agent/a/',
    '/ws/agent//s',
    '/ws/agent/a/s/',
    '/ws/agents/a/s',
  ];
  const odd = [
    '/ws/agent/a/s?x=1',
    '/ws/agent/a/s#x',
    '/ws/agent/%/s',
    `/ws/agent/a/${'s'.repeat(513)}`,
    '/WS/agent/a/s',
  ];
  for (const url of [...others, ...odd]) assert.equal(found(url), undefined, url);
});
