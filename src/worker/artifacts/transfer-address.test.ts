import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { type AddressRules, checkedLookup, transferAddress } from './transfer-address.ts';

const NODE: AddressRules = { node: 'https://node.example:7420' };

function refused(url: string, rules: AddressRules = NODE): void {
  assert.throws(
    () => transferAddress(url, rules),
    (error) => isEngineError(error, 'FORBIDDEN'),
    url,
  );
}

test('an address without a host is at the node, however the link reaches it', () => {
  const path = '/api/v1/artifacts/art_1/bytes?until=1&sig=x';
  assert.equal(transferAddress(path, NODE).href, `https://node.example:7420${path}`);
  assert.equal(transferAddress(path, { node: 'ws://127.0.0.1:7420' }).href, `http://127.0.0.1:7420${path}`);
  assert.equal(transferAddress(path, { ...NODE, hosts: [] }).host, 'node.example:7420');
});

test('another host is used by https, and this host also without, if the node is on it', () => {
  assert.equal(transferAddress('https://bucket.s3.example/k?x=1', NODE).host, 'bucket.s3.example');
  const here = ['http://127.0.0.1:9000/b/k', 'http://localhost:9000/b', 'http://[::1]:9000/b', 'https://127.0.0.2/b'];
  for (const node of ['http://127.0.0.1:7420', 'ws://localhost:7420', 'https://[::1]:7420'])
    for (const url of here) assert.equal(transferAddress(url, { node }).href, url);
  // What listens on the host of a worker for that host alone is nothing that a node elsewhere could call.
  for (const url of [...here, 'http://[::ffff:127.0.0.1]:9000/b', 'https://localhost:9000/b', 'https://a.localhost/b'])
    refused(url);
  assert.equal(transferAddress('http://127.0.0.1:9000/b', { ...NODE, hosts: ['127.0.0.1:9000'] }).port, '9000');
  for (const url of [
    'http://bucket.s3.example/k',
    'http://10.0.0.1/k',
    '//elsewhere.example/k'.replace('//', 'http://'),
  ])
    refused(url);
});

test('where hosts are allowed, no others are used', () => {
  const rules = { ...NODE, hosts: ['s3.internal', 'minio:9000'] };
  for (const url of ['http://s3.internal/k', 'https://s3.internal:444/k', 'http://minio:9000/k'])
    assert.equal(transferAddress(url, rules).href, url);
  for (const url of [
    'https://bucket.s3.example/k',
    'http://127.0.0.1:9000/k',
    'http://minio:9001/k',
    'https://s3.internal.evil/k',
  ])
    refused(url, rules);
});

test('an address where clouds keep the secrets of a host is never used', () => {
  const hosts = [
    '169.254.169.254',
    '[::ffff:169.254.169.254]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '100.100.100.200',
    'metadata.google.internal',
  ];
  for (const host of [...hosts, '2852039166', '0xa9fea9fe', '0.0.0.0']) {
    refused(`https://${host}/latest/meta-data`);
    refused(`http://${host}/latest/meta-data`, { ...NODE, hosts: [host, '169.254.169.254'] });
  }
});

test('nothing but http is an address, and none has a name or a password in it', () => {
  for (const url of [
    'file:///etc/passwd',
    'ftp://node.example/x',
    'data:text/plain,x',
    'https://a:b@node.example:7420/',
    'https://user@s3.example/',
    'http://',
  ])
    refused(url);
});

test('a name that leads to a forbidden address is not dialled', async () => {
  const looked = (name: string) =>
    new Promise<unknown>((resolve) =>
      checkedLookup(name, { all: false }, (error, address) => resolve(error ?? address)),
    );
  assert.match(String(await looked('127.0.0.1')), /^127\.0\.0\.1$/);
  assert.ok(isEngineError(await looked('169.254.169.254'), 'FORBIDDEN'));
  assert.ok(isEngineError(await looked('0.0.0.0'), 'FORBIDDEN'));
});
