import { isIPv4, isIPv6 } from 'node:net';

/** 4 or 16 bytes. */
export type Address = readonly number[];

export interface Range {
  readonly address: Address;
  readonly bits: number;
}

/**
 * Where an address leads. `public`: the Internet. `private`: this host and networks of its owner. `special`: everything
 * else, such as link-local, multicast and the metadata services of clouds, which give credentials to every caller.
 */
export type Reach = 'public' | 'private' | 'special';

export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return text.split('.').map(Number);
  // A zone (fe80::1%eth0) makes it link-local, whatever comes before it.
  return isIPv6(text) && !text.includes('%') ? parseV6(text) : undefined;
}

/** `10.0.0.0/8`; an address alone is a range of one. */
export function parseRange(text: string): Range | undefined {
  const [base = '', bits, ...rest] = text.split('/');
  const address = parseAddress(base);
  if (address === undefined || rest.length > 0) return undefined;
  const all = address.length * 8;
  if (bits === undefined) return { address, bits: all };
  return /^\d{1,3}$/.test(bits) && Number(bits) <= all ? { address, bits: Number(bits) } : undefined;
}

export function inRange(address: Address, { address: base, bits }: Range): boolean {
  if (address.length !== base.length) return false;
  return base.every((byte, i) => {
    const shift = 8 - Math.min(Math.max(bits - 8 * i, 0), 8);
    return byte >> shift === (address[i] ?? 0) >> shift;
  });
}

/** An IPv4 address written as IPv6 (`::ffff:a.b.c.d`) is that IPv4 address: a socket makes no difference. */
export function unmapped(address: Address): Address {
  return inRange(address, range(MAPPED)) ? address.slice(12) : address;
}

export function reachOf(given: Address): Reach {
  const address = unmapped(given);
  if (SPECIAL.some((text) => inRange(address, range(text)))) return 'special';
  if (PRIVATE.some((text) => inRange(address, range(text)))) return 'private';
  if (address.length === 4) return 'public';
  // A translator forwards it as IPv4. It should do so only to the Internet, but that is not relied on.
  if (inRange(address, range(NAT64))) return reachOf(address.slice(12)) === 'public' ? 'public' : 'special';
  return inRange(address, range(GLOBAL_UNICAST)) && !isIsatap(address) ? 'public' : 'special';
}

/** The last four bytes, after 0:5efe, are the IPv4 address of a tunnel's end, in any prefix. */
function isIsatap(address: Address): boolean {
  return ((address[8] ?? 0) & 0xfd) === 0 && address[9] === 0 && address[10] === 0x5e && address[11] === 0xfe;
}

function parseV6(text: string): Address {
  const [head = '', tail] = text.split('::');
  const front = groups(head);
  if (tail === undefined) return front;
  const back = groups(tail);
  const zeros = Array.from({ length: 16 - front.length - back.length }, () => 0);
  return [...front, ...zeros, ...back];
}

function groups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** Read as they are asked for: most processes ask for none, and to read one loads half of what Node has for networks. */
const READ = new Map<string, Range>();

function range(text: string): Range {
  const known = READ.get(text);
  if (known !== undefined) return known;
  const read = parseRange(text) as Range;
  READ.set(text, read);
  return read;
}

const MAPPED = '::ffff:0:0/96';
const NAT64 = '64:ff9b::/96';
/** All of IPv6 that is assigned; nothing outside of it is public. */
const GLOBAL_UNICAST = '2000::/3';

const PRIVATE: readonly string[] = [
  '127.0.0.0/8', // this host
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10', // behind a provider's translator
  '::1/128', // this host
  'fc00::/7', // unique local
];

/** Checked first, so that single addresses inside private ranges can be listed here. From the registries of IANA, and clouds. */
const SPECIAL: readonly string[] = [
  '0.0.0.0/8', // this host, on Linux
  '169.254.0.0/16', // link-local: metadata of most clouds
  '192.0.0.0/24', // protocol assignments: metadata of Oracle
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // multicast tunnels
  '192.88.99.0/24', // 6to4 relays
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
  '100.100.100.200/32', // metadata of Alibaba
  '168.63.129.16/32', // host agent of Azure
  'fd00:ec2::/32', // metadata of Amazon
  'fd20:ce::/32', // metadata of Google
  '2001::/23', // protocol assignments, Teredo (which holds an IPv4 address)
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which holds an IPv4 address
  '3fff::/20', // documentation
];
