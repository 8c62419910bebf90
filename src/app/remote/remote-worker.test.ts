import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeAddress } from './remote-worker.ts';

const at = (url: string, insecure = false): string => nodeAddress(url, { insecure });
const problem = (url: string): RegExp | object => ({ code: 'INVALID_INPUT', message: new RegExp(url) });

test('the address of a node is its origin, for every protocol', () => {
  assert.equal(at('http://127.0.0.1:7420/'), 'http://127.0.0.1:7420');
  assert.equal(at('ws://localhost:7420/ws/agent?x=1'), 'http://localhost:7420');
  assert.equal(at('wss://tasks.example.org'), 'https://tasks.example.org');
  assert.equal(at('https://tasks.example.org:8443/a/b'), 'https://tasks.example.org:8443');
  for (const bad of ['', 'tasks.example.org', 'ftp://tasks.example.org', 'file:///etc/passwd']) {
    assert.throws(() => at(bad), /address of the node/, bad);
  }
});

test('without TLS an address beyond this host is refused, unless --insecure is given', () => {
  for (const here of ['http://127.8.9.1', 'http://localhost:1', 'http://[::1]:7420', 'ws://LOCALHOST']) at(here);
  const there = ['http://10.0.0.1', 'http://tasks.example.org', 'ws://[fe80::1]', 'http://127.0.0.1.example.org'];
  for (const url of there) {
    assert.throws(() => at(url), problem('in the clear'), url);
    assert.equal(at(url, true), url.replace('ws:', 'http:'));
  }
});
