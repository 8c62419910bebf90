import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostAllowed, type RemoteRepo, type RepoProtocol, readRepoAddress } from './repo-address.ts';

const ALL: readonly RepoProtocol[] = ['https', 'ssh', 'http'];

function remote(text: string): RemoteRepo {
  const read = readRepoAddress(text, ALL);
  assert.ok(typeof read !== 'string' && read.kind === 'remote', JSON.stringify(read));
  return read;
}

test('an address has one spelling', () => {
  for (const [given, url] of [
    ['HTTPS://GitHub.com:443/Org/shop.git/', 'https://github.com/Org/shop.git'],
    ['https://host:8443/a', 'https://host:8443/a'],
    ['http://127.0.0.1:80/a', 'http://127.0.0.1/a'],
    ['ssh://git@Host:22/~ada/a', 'ssh://git@host/~ada/a'],
    ['ssh://[::1]:2222/a', 'ssh://[::1]:2222/a'],
    ['git@host.example.com:org/shop', 'ssh://git@host.example.com/org/shop'],
    ['host:/srv/shop', 'ssh://host/srv/shop'],
  ] as const)
    assert.equal(remote(given).url, url);
  assert.deepEqual(readRepoAddress('main/shop'), { kind: 'root', name: 'main/shop' });
  const { host, port, protocol } = remote('https://host:8443/a');
  assert.deepEqual([host, port, protocol, remote('https://host/a').port], ['host', 8443, 'https', undefined]);
});

test('what could start a program, carry a secret or lead elsewhere is refused, and is not repeated', () => {
  const secret = 'hunter2';
  for (const text of [
    '',
    '-x',
    `ext::sh -c ${secret}`,
    'ext::sh',
    'FD::17',
    '::x',
    'file:///etc',
    'git://host/x',
    'http://host/x',
    `https://ada:${secret}@host/x`,
    `https://${secret}@host/x`,
    `ssh://git:${secret}@host/x`,
    'ssh://a%20b@host/x',
    'ssh://-o@host/x',
    `https://host/x?${secret}`,
    'https://host/x#y',
    'ssh://-oProxyCommand=x/y',
    'ssh://host_/x',
    'git@-oProxyCommand=x:y',
    'https://host',
    'https://host/',
    'https://host//x',
    'https://host/-x',
    'https://host/a/%2e%2e%2fb',
    'https://host/%zz',
    'https://host/%2dx',
    'https://host/$(id)',
    'https://host:0/x',
    'https://host:65536/x',
    'https://[::1/x',
    'https://host/a\tb',
    'https://host\\x',
    'https://host/\ud800',
    '../x',
    '/etc',
    'C:',
    'main/../x',
    `https://host/${'x'.repeat(2000)}`,
  ]) {
    const read = readRepoAddress(text);
    assert.equal(typeof read, 'string', text.slice(0, 80));
    assert.ok(!(read as string).includes(secret));
  }
});

test('a worker that lists hosts asks no other', () => {
  const allowed = (text: string, ...hosts: readonly string[]) => hostAllowed(remote(text), hosts);
  assert.ok(hostAllowed(remote('https://any/x'), undefined));
  assert.ok(!hostAllowed(remote('http://any/x'), undefined) && allowed('http://any/x', 'any'));
  for (const own of ['127.0.0.1:99', 'localhost', '[::1]:8'])
    assert.ok(hostAllowed(remote(`http://${own}/x`), undefined), own);
  assert.ok(!allowed('https://any/x'));
  assert.ok(allowed('https://github.com/x', 'other', 'GitHub.com'));
  assert.ok(!allowed('https://github.com.evil.org/x', 'github.com'));
  assert.ok(!allowed('https://evilgithub.com/x', '*.github.com') && !allowed('https://github.com/x', '*.github.com'));
  assert.ok(allowed('https://a.github.com/x', '*.github.com'));
  assert.ok(
    allowed('https://host/x', 'host:443') &&
      !allowed('https://host:8443/x', 'host:443') &&
      allowed('ssh://host:8443/x', 'host:8443'),
  );
});
