import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { GOOD_FOR_MS, type SignedQuery, TransferSigner, type Way } from './transfer-signer.ts';

const ID = `art_${'a'.repeat(32)}`;
const CONTENT = { size: 5, sha256: 'b'.repeat(64) };

function signer(now: () => number, secret = 'lh_cls_one', cluster = 'c'): TransferSigner {
  return new TransferSigner(new ClusterSecret(secret, cluster), now);
}

function queryOf(url: string): SignedQuery {
  const query = new URL(url, 'http://node').searchParams;
  const [size, sha256, until, sig] = ['size', 'sha256', 'until', 'sig'].map((name) => query.get(name) as string);
  return { size: Number(size), sha256: sha256 as string, until: Number(until), sig: sig as string };
}

function isRefused(one: TransferSigner, way: Way, id: string, query: SignedQuery): boolean {
  try {
    one.check(way, id, query);
    return false;
  } catch (error) {
    assert.ok(isEngineError(error, 'FORBIDDEN'));
    return true;
  }
}

test('an address is good for its artifact, its way, its bytes and its time, and for nothing else', () => {
  let now = 1_000_000;
  const one = signer(() => now);
  const { method, url, headers } = one.sign('put', ID, CONTENT);
  assert.equal(method, 'PUT');
  assert.ok(url.startsWith(`/api/v1/artifacts/${ID}/bytes?`));
  assert.equal(headers['content-length'], '5');
  const query = queryOf(url);
  assert.equal(isRefused(one, 'put', ID, query), false);
  assert.equal(isRefused(one, 'get', ID, query), true, 'the other way');
  assert.equal(isRefused(one, 'put', `art_${'c'.repeat(32)}`, query), true, 'another artifact');
  assert.equal(isRefused(one, 'put', ID, { ...query, size: 6 }), true, 'another size');
  assert.equal(isRefused(one, 'put', ID, { ...query, sha256: 'd'.repeat(64) }), true, 'another hash');
  assert.equal(isRefused(one, 'put', ID, { ...query, until: query.until + 1 }), true, 'a longer time');
  assert.equal(isRefused(one, 'put', ID, { ...query, sig: `${query.sig.slice(0, -1)}_` }), true, 'another signature');
  assert.equal(isRefused(one, 'put', ID, { ...query, sig: '' }), true, 'none');
  assert.equal(isRefused(one, 'put', ID, { ...query, by: 'A'.repeat(16) }), true, 'the share of another worker');
  now += GOOD_FOR_MS - 1;
  assert.equal(isRefused(one, 'put', ID, query), false, 'until its last moment');
  now += 1;
  assert.equal(isRefused(one, 'put', ID, query), true, 'its time is over');
});

test('every node of a cluster accepts an address, and no node of another one', () => {
  const now = (): number => 0;
  const query = queryOf(signer(now).sign('get', ID, CONTENT).url);
  assert.equal(isRefused(signer(now), 'get', ID, query), false);
  assert.equal(isRefused(signer(now, 'lh_cls_two'), 'get', ID, query), true);
  assert.equal(isRefused(signer(now, 'lh_cls_one', 'other'), 'get', ID, query), true);
});
