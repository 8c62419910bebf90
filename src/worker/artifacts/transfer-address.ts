import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, type LookupFunction } from 'node:net';
import { fault } from '../../core/errors.ts';
import { isIn, isNeverDialled } from '../../workspace/git/host-address.ts';

export interface AddressRules {
  /** The address of the node in use. */
  readonly node: string;
  /**
   * Hosts beside the node that bytes may go to and come from, with or without a port. Undefined: any other host by https, and this one, also by http,
   * if the node is on it.
   */
  readonly hosts?: readonly string[] | undefined;
}

const HERE = new BlockList();
HERE.addSubnet('127.0.0.0', 8, 'ipv4');
HERE.addAddress('::1', 'ipv6');

/** The address that bytes travel to or from, if this worker lets them. A node may be malicious: it must not make its workers call whatever it cannot call itself. */
export function transferAddress(said: string, { node, hosts }: AddressRules): URL {
  const own = new URL(node.replace(/^ws/, 'http'));
  const url = URL.parse(said, own.href);
  if (url === null || !/^https?:$/.test(url.protocol)) throw refused(said, 'it is no address of http or https');
  if (url.username !== '' || url.password !== '') throw refused(url.host, 'it has a name or a password in it');
  if (url.origin === own.origin) return url;
  const bare = bareHost(url);
  if (isNeverDialled(bare))
    throw refused(url.host, 'it is an address on the link alone, where clouds keep the secrets of a host');
  if (hosts !== undefined) {
    if (hosts.includes(url.host) || hosts.includes(bare)) return url;
    throw refused(url.host, 'this worker exchanges artifacts with its node and the hosts that it allows');
  }
  if (isHere(bare)) {
    if (isHere(bareHost(own))) return url;
    throw refused(url.host, 'it is the host of this worker, and the node is elsewhere');
  }
  if (url.protocol === 'https:') return url;
  throw refused(url.host, 'it is another host than the node, and not reached by https');
}

/** Looks a name up, and fails where it leads to an address that is never used. The address that was checked is the one that is dialled. */
export const checkedLookup: LookupFunction = (name, options, done) => {
  lookup(name, { ...options, all: true }, (error: Error | null, found: LookupAddress[]) => {
    const bad = found?.find(({ address }) => isNeverDialled(address));
    const problem = bad === undefined ? error : refused(name, `it leads to ${bad.address}`);
    const first = found?.[0];
    if (problem !== null) done(problem, '', 0);
    else if (options.all === true) done(null, found);
    else if (first === undefined) done(new Error(`${name} has no address`), '', 0);
    else done(null, first.address, first.family);
  });
};

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function isHere(host: string): boolean {
  return /^(?:.+\.)?localhost$/.test(host) || isIn(HERE, host);
}

function refused(host: string, problem: string): Error {
  return fault(
    'FORBIDDEN',
    { problem: `bytes of artifacts do not go to or come from ${host.slice(0, 200)}: ${problem}` },
    { hint: 'Allow the host with the setting for artifact hosts of this worker, if it is where your artifacts lie.' },
  );
}
