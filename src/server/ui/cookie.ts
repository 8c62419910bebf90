import type { IncomingHttpHeaders } from 'node:http';
import { SESSION_MS } from './browser-sessions.ts';

export const COOKIE = 'leasehold_session';
/** Our cookie has a few hundred characters. */
const MOST_COOKIE = 4096;

/** The session cookie of a request. */
export function cookieOf({ cookie }: IncomingHttpHeaders): string | undefined {
  for (const part of cookie?.split(';') ?? []) {
    const [name, value] = part.split('=', 2);
    if (name?.trim() === COOKIE) return value === undefined || value.length > MOST_COOKIE ? undefined : value.trim();
  }
  return undefined;
}

/** No script reads it, no page of another site sends it, and under TLS it never travels in the clear. */
export function setCookie(value: string, { secure }: { readonly secure: boolean }): string {
  const age = value === '' ? 0 : Math.floor(SESSION_MS / 1000);
  return `${COOKIE}=${value}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}
