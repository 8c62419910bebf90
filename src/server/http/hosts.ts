import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

const loopbacks = new BlockList();
loopbacks.addSubnet('127.0.0.0', 8, 'ipv4');
loopbacks.addAddress('::1', 'ipv6');

export function isLoopback(name: string): boolean {
  const bare = name.toLowerCase();
  if (bare === 'localhost') return true;
  const family = isIP(bare);
  return family !== 0 && loopbacks.check(bare, family === 6 ? 'ipv6' : 'ipv4');
}

/** The one name that a request says. Of several Node tells the first, and something in front of us may have gone by another. */
export function hostOf({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string | undefined {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length === 1 ? headers.host : undefined;
}

/** Names under which this server may be asked for: its own, those that always mean this machine, and what was configured. */
export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #addresses: boolean;

  /** `any`: bound to all addresses of the machine, so that each of them is meant, but no name of somebody else's DNS. */
  constructor(host: string, names: readonly string[] = []) {
    this.#names = new Set([host, ...names].map((name) => bareOf(name.toLowerCase())));
    this.#addresses = host === '0.0.0.0' || host === '::';
  }

  /** Whether a `Host` header means us. A name that another DNS points here would let a web page elsewhere read us. */
  isOurs(header: string | undefined): boolean {
    const name = header === undefined ? undefined : /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(header)?.[1];
    if (name === undefined || name === '') return false;
    const bare = bareOf(name.toLowerCase());
    return this.#names.has(bare) || isLoopback(bare) || (this.#addresses && isIP(bare) !== 0);
  }

  /** Whether a page of this origin may call: only one of our own. */
  isOurPage(origin: string, header: string | undefined): boolean {
    const url = URL.canParse(origin) ? new URL(origin) : undefined;
    return url !== undefined && url.host === header?.toLowerCase() && this.isOurs(header);
  }
}

function bareOf(name: string): string {
  return name.replace(/^\[(.*)\]$/, '$1');
}
