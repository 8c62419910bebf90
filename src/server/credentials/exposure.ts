import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { isLoopback } from '../http/hosts.ts';

/** Headers by which a proxy says that it stands between. */
const BY_PROXY = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'] as const;

/** How this node is reached. */
export interface Surroundings {
  /** It was started with `--insecure-behind-proxy`: its operator says that TLS ends at a proxy in front of it. */
  readonly behindProxy: boolean;
}

type Request = Pick<IncomingMessage, 'headers' | 'socket'>;

/**
 * Whether others may read what is sent over the connection of this request. An envelope is sealed to a key that came over the same link: who
 * can change what a link carries can put another key there. So secrets go over TLS, or stay on this host. What came by a proxy on this
 * host came from elsewhere.
 */
export function isExposed({ headers, socket }: Request, { behindProxy }: Surroundings): boolean {
  if ((socket as Partial<TLSSocket>).encrypted === true) return false;
  const proto = headers['x-forwarded-proto'];
  // Whoever runs the node vouches for the way behind the proxy, and the proxy for the way before it, if it says something of that.
  if (behindProxy) return typeof proto === 'string' && proto !== 'https' && proto !== 'wss';
  if (BY_PROXY.some((name) => headers[name] !== undefined)) return true;
  return !isLoopback(socket.remoteAddress ?? '');
}
