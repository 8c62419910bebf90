/** Where a repository lies: a URL that names a host and a path and nothing else, or a name below a root of the worker. */
import { readWorkspaceName, spelled } from './workspace-name.ts';

export type RepoAddress = RemoteRepo | RootedRepo;

export interface RemoteRepo {
  readonly kind: 'remote';
  readonly protocol: RepoProtocol;
  /** In one spelling: small letters, no port that goes without saying, nothing that could be a secret. */
  readonly url: string;
  readonly host: string;
  /** Undefined: the one of the protocol. */
  readonly port?: number | undefined;
}

/** `main/shop`: below the folder that the worker knows as the root `main`. */
export interface RootedRepo {
  readonly kind: 'root';
  readonly name: string;
}

export type RepoProtocol = 'https' | 'ssh' | 'http';

export const REPO_PROTOCOLS: readonly RepoProtocol[] = ['https', 'ssh', 'http'];
/** What a worker allows unless its operator says more. Plain http shows what it carries to everybody on the way. */
export const SAFE_PROTOCOLS: readonly RepoProtocol[] = ['https', 'ssh'];

const MOST = 2000;
const DEFAULT_PORTS: Readonly<Record<RepoProtocol, number>> = { https: 443, ssh: 22, http: 80 };
/** The URL parser leaves the host of ssh as it was written. */
const HOST =
  /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$|^\[[0-9a-f:.]{2,45}\]$/;
const USER = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/;
/** A program that git starts may read a segment with a dash in front as an option. */
const SEGMENT = /^(?!-)(?!\.{1,2}$)[A-Za-z0-9._~+@%-]{1,255}$/;
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//;
const HELPER = /^[A-Za-z0-9+.-]*::/;
const SCP = /^(?:([^@:/]*)@)?([^@:/[\]]+):(.*)$/s;

/** A text says what is wrong with it. It repeats nothing of the address, which may have a secret in it. */
export function readRepoAddress(
  text: string,
  protocols: readonly RepoProtocol[] = SAFE_PROTOCOLS,
): RepoAddress | string {
  if (text.length > MOST) return `it has more than ${MOST} characters`;
  if (/[\p{Cc}\s\\]/u.test(text) || !text.isWellFormed()) return 'it has a control character, a space or a backslash';
  if (text === '' || text.startsWith('-')) return 'it is empty or begins with "-"';
  if (HELPER.test(text)) return 'it names a helper program of git; only https and ssh are spoken';
  if (SCHEME.test(text)) return readUrl(text, protocols);
  const [, user, host, path] = SCP.exec(text) ?? [];
  if (host !== undefined && path !== undefined)
    return readUrl(`ssh://${user === undefined ? '' : `${user}@`}${host}/${path.replace(/^\//, '')}`, protocols);
  const name = readWorkspaceName(text);
  if (typeof name !== 'string') return { kind: 'root', name: spelled(name) };
  return 'it is neither a URL such as "https://host/path" nor a folder below a root of the worker such as "main/shop"';
}

function readUrl(text: string, protocols: readonly RepoProtocol[]): RemoteRepo | string {
  const protocol = REPO_PROTOCOLS.find((known) => text.toLowerCase().startsWith(`${known}://`));
  if (protocol === undefined || !protocols.includes(protocol)) return `its protocol is none of ${protocols.join(', ')}`;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'it is no URL';
  }
  if (url.password !== '') return 'it has a password in it; name a credential instead';
  if (url.username !== '' && protocol !== 'ssh') return 'it has a user or a token in it; name a credential instead';
  if (url.username !== '' && !USER.test(url.username)) return 'its user is no plain name';
  if (/[?#]/.test(text)) return 'it has a query or a fragment, which a repository has not; name a credential instead';
  const host = url.hostname.toLowerCase();
  if (!HOST.test(host)) return 'its host is no name of a host';
  const port = url.port === '' ? DEFAULT_PORTS[protocol] : Number(url.port);
  if (port === 0) return 'its port is not between 1 and 65535';
  const problem = wrongPath(url.pathname);
  if (problem !== undefined) return problem;
  const shown = port === DEFAULT_PORTS[protocol] ? '' : `:${port}`;
  const user = url.username === '' ? '' : `${url.username}@`;
  const path = url.pathname.replace(/\/$/, '');
  return {
    kind: 'remote',
    protocol,
    url: `${protocol}://${user}${host}${shown}${path}`,
    host,
    ...(shown === '' ? {} : { port }),
  };
}

function wrongPath(pathname: string): string | undefined {
  const segments = pathname.replace(/\/$/, '').split('/').slice(1);
  if (segments.length === 0) return 'it has no path';
  for (const segment of segments) {
    const plain = unescaped(segment);
    if (plain === undefined || !SEGMENT.test(segment) || !SEGMENT.test(plain))
      return 'a part of its path is empty, begins with "-", leads up, or has an unusual character';
  }
  return undefined;
}

function unescaped(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether a worker that lists these hosts may talk to this one: `github.com`, `github.com:8443`, or `*.example.com`. One that lists none talks to all of
 * them, but over plain http only to its own: everybody on the way could change what comes.
 */
export function hostAllowed({ host, port, protocol }: RemoteRepo, hosts: readonly string[] | undefined): boolean {
  if (hosts === undefined) return protocol !== 'http' || LOOPBACK.test(host);
  const own = port ?? DEFAULT_PORTS[protocol];
  return hosts.some((listed) => {
    const [, name = '', asked] = /^(.*?)(?::(\d+))?$/s.exec(listed.toLowerCase()) as unknown as readonly string[];
    if (asked !== undefined && Number(asked) !== own) return false;
    return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
  });
}
