import { fault } from '../../../core/errors.ts';
import { type Address, inRange, parseRange, type Range, reachOf, unmapped } from './address.ts';

const USUAL_PORTS: readonly number[] = [80, 443];

/** One allowed destination. `ports`: undefined means any. */
interface Rule {
  readonly covers: (host: string, address: Address) => boolean;
  readonly ports: readonly number[] | undefined;
}

/**
 * The destinations that an `http` task may reach: public addresses on ports 80 and 443, and the exceptions in the settings of the
 * worker. An exception is `HOST`, `HOST:PORT` or `HOST:*`, where HOST is
 *   - an address or a range (`127.0.0.1`, `10.0.0.0/8`, `[::1]`): allows every host that resolves to it;
 *   - a name (`build.internal`): allows that name, with public and private addresses. Never link-local and other special ones:
 *     otherwise the owner of the name could reach the metadata of the cloud;
 *   - `*`: any host, public addresses only, so that `*:8443` opens a port.
 */
export class Destinations {
  readonly #rules: readonly Rule[];

  constructor(exceptions: readonly string[] = []) {
    const usual: Rule = { covers: (_host, address) => reachOf(address) === 'public', ports: USUAL_PORTS };
    this.#rules = [usual, ...exceptions.map(parseRule)];
  }

  /** False: no address is allowed on this port, so none needs to be looked up. */
  allowsPort(port: number): boolean {
    return this.#rules.some((rule) => hasPort(rule, port));
  }

  allows(host: string, address: Address, port: number): boolean {
    return this.#rules.some((rule) => hasPort(rule, port) && rule.covers(normalName(host), address));
  }
}

function hasPort({ ports }: Rule, port: number): boolean {
  return ports === undefined || ports.includes(port);
}

function parseRule(text: string): Rule {
  const { host, port } = split(text);
  const ports = parsePorts(text, port);
  if (host === '*') return { covers: (_host, address) => reachOf(address) === 'public', ports };
  const range = parseRange(host);
  if (range !== undefined) return { covers: coversRange(range), ports };
  const name = normalName(host);
  // A typo in an address must not become a host name that a stranger may own.
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name) || /(^|\.)(\d+|0x[\da-f]*)$/.test(name)) throw refuse(text);
  return { covers: (given, address) => given === name && reachOf(address) !== 'special', ports };
}

function coversRange(range: Range): Rule['covers'] {
  return (_host, address) => inRange(unmapped(address), range);
}

/** `[::1]:80` and `::1`; a colon inside an IPv6 address is not the one before a port. */
function split(text: string): { readonly host: string; readonly port: string | undefined } {
  const bracketed = /^\[(?<host>[^\]]*)\](?::(?<port>.*))?$/.exec(text)?.groups;
  if (bracketed !== undefined) return { host: bracketed.host ?? '', port: bracketed.port };
  const [host = '', port, ...rest] = text.split(':');
  return rest.length > 0 ? { host: text, port: undefined } : { host, port };
}

function parsePorts(text: string, port: string | undefined): Rule['ports'] {
  if (port === undefined) return USUAL_PORTS;
  if (port === '*') return undefined;
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) throw refuse(text);
  return [Number(port)];
}

function normalName(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

function refuse(text: string): Error {
  const problem = `${JSON.stringify(text)} is not an exception, which is written like 127.0.0.1, 10.0.0.0/8:8080, [::1]:*, name.internal:8080 or *:8443`;
  return fault('INVALID_INPUT', { field: 'allow of http', problem });
}
