/** Where a host leads that a worker is told to speak with: looked at before, and the address that was looked at is the one that is dialled. */
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { fault } from '../../core/errors.ts';
import type { RemoteRepo } from '../../core/workspace/repo-address.ts';

/** Where clouds tell a host its own secrets, and what else is on the link alone. */
const NEVER = new BlockList();
NEVER.addSubnet('169.254.0.0', 16, 'ipv4');
NEVER.addSubnet('fe80::', 10, 'ipv6');
NEVER.addAddress('fd00:ec2::254', 'ipv6');
NEVER.addAddress('100.100.100.200', 'ipv4');
NEVER.addAddress('192.0.0.192', 'ipv4');
NEVER.addAddress('0.0.0.0', 'ipv4');
NEVER.addAddress('::', 'ipv6');

/** An address of the fourth version within one of the sixth counts as what it is. */
export function isIn(list: BlockList, host: string): boolean {
  const version = isIP(host);
  return version !== 0 && list.check(host, version === 4 ? 'ipv4' : 'ipv6');
}

/** Whether nothing of a task ever goes there, whatever the operator lists: `host` is a name or an address, without brackets. */
export function isNeverDialled(host: string): boolean {
  return host === 'metadata' || host === 'metadata.google.internal' || isIn(NEVER, host);
}

/** Addresses of a name, in the order in which they are tried. */
export type LookUp = (name: string) => Promise<readonly string[]>;

export const lookUpHere: LookUp = async (name) => (await lookup(name, { all: true })).map(({ address }) => address);

/** What git and ssh are told to dial in place of a name. */
export interface Pinned {
  readonly host: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

const PORTS: Readonly<Record<RemoteRepo['protocol'], number>> = { https: 443, ssh: 22, http: 80 };

/** Undefined: the host is an address itself. Refuses what is never dialled. */
export async function pinnedHost(
  { host, port, protocol }: RemoteRepo,
  lookUp: LookUp = lookUpHere,
): Promise<Pinned | undefined> {
  requireDialled({ host });
  const bare = bareOf(host);
  if (isIP(bare) !== 0) return undefined;
  const addresses = await lookUp(bare).catch((cause: unknown) => {
    throw fault('WORKSPACE_FAILED', { problem: `the host ${bare} is not found` }, { cause });
  });
  const bad = addresses.find(isNeverDialled);
  if (bad !== undefined) throw refused(bare, bad);
  if (addresses.length === 0) throw fault('WORKSPACE_FAILED', { problem: `the host ${bare} has no address` });
  return { host, port: port ?? PORTS[protocol], addresses };
}

/** For git over http: it asks nobody again. */
export function pinnedSettings({ host, port, addresses }: Pinned): Readonly<Record<string, string>> {
  return { 'http.curloptResolve': `${host}:${port}:${addresses.join(',')}` };
}

/** By its words alone. */
export function requireDialled({ host }: Pick<RemoteRepo, 'host'>): void {
  const bare = bareOf(host);
  if (isNeverDialled(bare)) throw refused(bare, bare);
}

const bareOf = (host: string): string => host.replace(/^\[|\]$/g, '').replace(/\.$/, '');

function refused(host: string, address: string): Error {
  const where = host === address ? host : `${host}, which leads to ${address}`;
  return fault(
    'FORBIDDEN',
    { problem: `no repository is asked of ${where}: it is an address on the link alone, where clouds keep secrets` },
    { hint: 'Name a host that has an address of its own.' },
  );
}
