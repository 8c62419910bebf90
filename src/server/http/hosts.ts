import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP } from 'node:net';

let known: BlockList | undefined;

/** Made when it is first needed, and so is its module: most commands ask for no address. */
function loopbacks(): BlockList {
  if (known !== undefined) return known;
  known = new (process.getBuiltinModule('node:net').BlockList)();
  known.addSubnet('127.0.0.0', 8, 'ipv4');
  known.addAddress('::1', 'ipv6');
  return known;
}

export function isLoopback(name: string): boolean {
  const bare = name.toLowerCase();
  if (bare === 'localhost') return true;
  const family = isIP(bare);
  return family !== 0 && loopbacks().check(bare, family === 6 ? 'ipv6' : 'ipv4');
}

/**
 * The `Host` of a request. Of several Node reports the first, and a proxy in front may have gone by another, so several
 * count as none.
 */
export function hostOf({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string | undefined {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length === 1 ? headers.host : undefined;
}

/** The `Sec-Fetch-Site` of our own pages and of an address that was typed; programs send none. */
const OWN_SITE: ReadonlySet<unknown> = new Set([undefined, 'same-origin', 'none']);

export const isOwnSite = (site: unknown): boolean => OWN_SITE.has(site);

/** The names that this server answers to: its own, those that always mean this host, and the configured ones. */
export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #addresses: boolean;

  /** Bound to all addresses (`0.0.0.0`, `::`), each address of this host counts, but no name of a foreign DNS. */
  constructor(host: string, names: readonly string[] = []) {
    this.#names = new Set([host, ...names].map((name) => bareOf(name.toLowerCase())));
    this.#addresses = host === '0.0.0.0' || host === '::';
  }

  /**
   * Whether a `Host` header means this server. A foreign DNS name that points here would let a web page elsewhere read the
   * answers.
   */
  isOurs(header: string | undefined): boolean {
    const name = header === undefined ? undefined : /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(header)?.[1];
    if (name === undefined || name === '') return false;
    const bare = bareOf(name.toLowerCase());
    return this.#names.has(bare) || isLoopback(bare) || (this.#addresses && isIP(bare) !== 0);
  }

  /** Whether a page of this origin may call: only our own. */
  isOurPage(origin: string, header: string | undefined): boolean {
    const url = URL.canParse(origin) ? new URL(origin) : undefined;
    return url !== undefined && url.host === header?.toLowerCase() && this.isOurs(header);
  }
}

function bareOf(name: string): string {
  return name.replace(/^\[(.*)\]$/, '$1');
}
