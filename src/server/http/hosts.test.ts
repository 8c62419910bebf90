import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hosts, hostOf, isLoopback } from './hosts.ts';

test('loopback is all of 127/8, ::1 and localhost, and nothing that only looks like it', () => {
  for (const name of ['127.0.0.1', '127.255.0.9', '::1', '0:0:0:0:0:0:0:1', 'localhost', 'LocalHost']) {
    assert.equal(isLoopback(name), true, name);
  }
  for (const name of ['', '128.0.0.1', '0.0.0.0', '::', '127.1', '127.0.0.1.nip.io', 'localhost.evil.example', '::2']) {
    assert.equal(isLoopback(name), false, name);
  }
});

test('its own name, loopback and what was configured are ours, with any port and in any case', () => {
  const hosts = new Hosts('192.0.2.7', ['Tasks.Example.org', '[2001:db8::1]']);
  for (const header of [
    '192.0.2.7',
    '192.0.2.7:7420',
    'TASKS.example.org:443',
    '[2001:db8::1]:7420',
    'localhost:',
    '[::1]',
    '127.0.0.1:1',
  ]) {
    assert.equal(hosts.isOurs(header), true, header);
  }
});

test('a name of somebody else, or none at all, is not ours', () => {
  const hosts = new Hosts('127.0.0.1', ['tasks.example.org']);
  for (const header of [
    undefined,
    '',
    ':7420',
    '[]',
    '[]:80',
    'evil.example',
    'tasks.example.org.evil.example',
    'evil.example#tasks.example.org',
    'evil.example/@localhost',
    'user@localhost',
    'localhost:80:90',
    'localhost:http',
    'localhost.',
    ' localhost',
    'localhost, evil.example',
    '192.0.2.7',
    '[::1',
    '::1',
  ]) {
    assert.equal(hosts.isOurs(header), false, String(header));
  }
});

test('bound to all addresses, each address of the host is ours and no name is', () => {
  for (const host of ['0.0.0.0', '::']) {
    const hosts = new Hosts(host);
    assert.equal(hosts.isOurs('192.0.2.7:7420'), true);
    assert.equal(hosts.isOurs('[2001:db8::1]'), true);
    assert.equal(hosts.isOurs('rebound.example'), false);
  }
  assert.equal(new Hosts('127.0.0.1').isOurs('192.0.2.7'), false);
});

test('a page may call only where it came from', () => {
  const hosts = new Hosts('127.0.0.1', ['tasks.example.org']);
  const may = (origin: string, host: string): boolean => hosts.isOurPage(origin, host);
  assert.ok(may('http://127.0.0.1:7420', '127.0.0.1:7420'));
  assert.ok(may('https://tasks.example.org', 'Tasks.Example.org'));
  assert.ok(may('http://[::1]:7420', '[::1]:7420'));
  for (const [origin, host] of [
    ['http://127.0.0.1:9999', '127.0.0.1:7420'],
    ['http://localhost:7420', '127.0.0.1:7420'],
    ['http://evil.example', '127.0.0.1:7420'],
    ['http://evil.example', 'evil.example'],
    ['null', '127.0.0.1:7420'],
    ['', '127.0.0.1:7420'],
    ['file://', '127.0.0.1:7420'],
    ['http://127.0.0.1:7420@evil.example', '127.0.0.1:7420'],
  ] as const) {
    assert.equal(may(origin, host), false, `${origin} at ${host}`);
  }
  assert.equal(hosts.isOurPage('http://127.0.0.1', undefined), false);
});

test('of several Host headers none counts', () => {
  const said = (...hosts: string[]) => ({
    headers: { host: hosts[0] },
    rawHeaders: ['Accept', 'host', ...hosts.flatMap((host, i) => [i % 2 === 0 ? 'Host' : 'HOST', host])],
  });
  assert.equal(hostOf(said('localhost')), 'localhost');
  assert.equal(hostOf(said('localhost', 'localhost')), undefined);
  assert.equal(hostOf(said('localhost', 'evil.example')), undefined);
  assert.equal(hostOf({ headers: {}, rawHeaders: [] }), undefined);
});
