import type { Handlers } from '../http/route-handler.ts';
import { cookieOf, setCookie } from '../ui/cookie.ts';

export interface LoginRouteOptions {
  readonly version: string;
  /** Whether browsers come over TLS, to this server or to a proxy in front. */
  readonly secure: boolean;
}

export function loginRoutes({
  version,
  secure,
}: LoginRouteOptions): Handlers<'login' | 'logout' | 'createLogin' | 'me'> {
  return {
    async login({ body, logins, request, reply }) {
      const { principal, cookie } = await logins.login(body, request.ip);
      reply.header('set-cookie', setCookie(cookie, { secure }));
      return { name: principal.name, role: principal.role };
    },

    async logout({ logins, principal, request, reply }) {
      const cookie = cookieOf(request.headers);
      // A caller with a token has no session to end, and the cookie may be anything.
      if (cookie !== undefined && principal.session !== undefined) await logins.sessions.end(cookie);
      reply.header('set-cookie', setCookie('', { secure }));
      return {};
    },

    createLogin: ({ logins, principal, address }) => logins.link(principal, address),

    me({ principal, engine, address, startedAt }) {
      const { leaseMs, retentionMs, workerStaleMs, store } = engine;
      return {
        name: principal.name,
        role: principal.role,
        node: { version, address, store: store.capabilities.name, startedAt },
        settings: { leaseMs, retentionMs, workerStaleMs },
      };
    },
  };
}
