import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, parseAddress } from './address.ts';
import { Destinations } from './destinations.ts';

const at = (text: string): Address => parseAddress(text) as Address;

test('without exceptions, public addresses on the usual ports are allowed and nothing else', () => {
  const none = new Destinations();
  assert.equal(none.allows('example.com', at('93.184.216.34'), 443), true);
  assert.equal(none.allows('example.com', at('93.184.216.34'), 80), true);
  assert.equal(none.allows('example.com', at('93.184.216.34'), 22), false);
  assert.equal(none.allows('example.com', at('10.0.0.1'), 443), false);
  assert.equal(none.allows('localhost', at('127.0.0.1'), 80), false);
  assert.equal(none.allowsPort(443), true);
  assert.equal(none.allowsPort(8080), false);
});

test('an address or a range is an exception for every host that leads there, on the usual ports or its own', () => {
  const some = new Destinations(['127.0.0.1', '10.0.0.0/8:8080', '[::1]:*', 'fd00::/8']);
  assert.equal(some.allows('a', at('127.0.0.1'), 80), true);
  assert.equal(some.allows('a', at('::ffff:127.0.0.1'), 80), true);
  assert.equal(some.allows('a', at('127.0.0.1'), 8080), false);
  assert.equal(some.allows('a', at('127.0.0.2'), 80), false);
  assert.equal(some.allows('b', at('10.9.9.9'), 8080), true);
  assert.equal(some.allows('b', at('10.9.9.9'), 80), false);
  assert.equal(some.allows('b', at('64:ff9b::10.9.9.9'), 8080), false, 'a translator is not that network');
  assert.equal(some.allows('c', at('::1'), 6379), true);
  assert.equal(some.allows('d', at('fd12::1'), 443), true);
  assert.equal(some.allows('d', at('fd12::1'), 444), false);
});

test('a name is an exception for itself alone, wherever it leads but to special addresses', () => {
  const some = new Destinations(['Build.Internal.:8080']);
  assert.equal(some.allows('build.internal', at('10.0.0.1'), 8080), true);
  assert.equal(some.allows('BUILD.internal.', at('93.184.216.34'), 8080), true);
  assert.equal(some.allows('build.internal', at('10.0.0.1'), 80), false);
  assert.equal(some.allows('other.internal', at('10.0.0.1'), 8080), false);
  assert.equal(some.allows('x.build.internal', at('10.0.0.1'), 8080), false);
  assert.equal(some.allows('build.internal', at('169.254.169.254'), 8080), false);
  assert.equal(some.allows('build.internal', at('0.0.0.0'), 8080), false);
});

test('a port can be opened for the Internet, which opens nothing else', () => {
  const some = new Destinations(['*:8443']);
  assert.equal(some.allows('example.com', at('93.184.216.34'), 8443), true);
  assert.equal(some.allows('example.com', at('10.0.0.1'), 8443), false);
  assert.equal(some.allows('example.com', at('93.184.216.34'), 8444), false);
});

test('what is not an exception is refused, and never taken for a name', () => {
  const wrong = [
    '',
    ':80',
    '10.0.0.0/33',
    '10.0.0',
    '10.0.0.256',
    '127.1',
    '0x7f000001',
    '::1:x::',
    '[::1',
    '[::1]x',
    'a b',
    'a/b',
    '*.example.com',
    'host:0',
    'host:65536',
    'host:http',
    'http://host',
    'a..b',
  ];
  for (const text of wrong) {
    assert.throws(() => new Destinations([text]), { code: 'INVALID_INPUT' }, text);
  }
});
