import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Address, inRange, parseAddress, parseRange, type Range, reachOf } from './address.ts';

const reach = (text: string): string => reachOf(parseAddress(text) as Address);
const words = (text: string): string[] => text.trim().split(/\s+/);

test('addresses of the Internet are public', () => {
  const cases = `
    1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 9.255.255.255 11.0.0.0
    172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 223.255.255.255 169.253.255.255 169.255.0.0
    198.17.255.255 198.20.0.0 168.63.129.15 1.0.0.0 2606:4700::1111 2a00:1450:4001::200e 2001:200::1
    ::ffff:8.8.8.8 64:ff9b::8.8.8.8`;
  for (const text of words(cases)) assert.equal(reach(text), 'public', text);
});

test('this host and networks of its owner are private', () => {
  const cases = `
    127.0.0.1 127.255.255.255 10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.1 100.64.0.0
    100.127.255.255 ::1 0:0:0:0:0:0:0:1 fc00:: fdff:ffff::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.1.2.3
    0:0:0:0:0:ffff:c0a8:101`;
  for (const text of words(cases)) assert.equal(reach(text), 'private', text);
});

test('whatever else there is, is special', () => {
  const cases = `
    0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.0 169.254.255.255 192.0.0.192 192.0.2.1 198.18.0.1 198.19.255.255
    198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 192.88.99.1 100.100.100.200
    168.63.129.16 192.31.196.1 192.52.193.1 192.175.48.1 :: ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:0.0.0.0
    ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe
    64:ff9b:1::8.8.8.8 100::1 5f00::1 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1 fd00:ec2::254 fd20:ce::254
    4000::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 2002:7f00:1:: 2002:808:808::1 3fff::1
    2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:127.0.0.1 2a00::0:5efe:8.8.8.8`;
  for (const text of words(cases)) assert.equal(reach(text), 'special', text);
});

test('what is not an address is none', () => {
  for (const text of [
    '',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '01.2.3.4',
    ':::',
    '1::2::3',
    'fe80::1%eth0',
    '12345::',
  ]) {
    assert.equal(parseAddress(text), undefined, text);
  }
});

test('every written form of an IPv6 address has the same bytes', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), (words) => {
      const full = words.map((word) => word.toString(16)).join(':');
      const bytes = words.flatMap((word) => [word >> 8, word & 0xff]);
      const short = new URL(`http://[${full}]`).hostname.slice(1, -1);
      assert.deepEqual(parseAddress(full), bytes);
      assert.deepEqual(parseAddress(short), bytes);
      const dotted = `${words
        .slice(0, 6)
        .map((word) => word.toString(16))
        .join(':')}:${bytes.slice(12).join('.')}`;
      assert.deepEqual(parseAddress(dotted), bytes);
    }),
    { seed: 35 },
  );
});

test('a range holds what shares its first bits', () => {
  const within = (address: string, range: string): boolean =>
    inRange(parseAddress(address) as Address, parseRange(range) as Range);
  assert.equal(within('10.255.0.1', '10.0.0.0/8'), true);
  assert.equal(within('11.0.0.1', '10.0.0.0/8'), false);
  assert.equal(within('172.31.0.0', '172.16.0.0/12'), true);
  assert.equal(within('172.32.0.0', '172.16.0.0/12'), false);
  assert.equal(within('1.2.3.4', '0.0.0.0/0'), true);
  assert.equal(within('::1', '0.0.0.0/0'), false);
  assert.equal(within('10.0.0.1', '10.0.0.1'), true);
  assert.equal(within('10.0.0.2', '10.0.0.1'), false);
  assert.equal(within('fd12::1', 'fc00::/7'), true);
  assert.equal(within('fe12::1', 'fc00::/7'), false);
  for (const text of ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', 'fc00::/129', 'x/8', '10.0.0.0/8x']) {
    assert.equal(parseRange(text), undefined, text);
  }
});
