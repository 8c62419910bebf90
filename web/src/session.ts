/** Who is logged in, and with which role. */

import { client, isRefusal, type Me } from './api.ts';
import { startFeed, stopFeed, unauthenticated } from './live/feed.ts';
import { clearCache } from './live/resource.ts';
import { Signal, useSignal } from './live/signal.ts';

export type Session =
  | { readonly state: 'loading' }
  | { readonly state: 'in'; readonly me: Me }
  | { readonly state: 'out'; readonly problem?: unknown }
  | { readonly state: 'unreachable'; readonly problem: unknown };

export const session = new Signal<Session>({ state: 'loading' });

/** Asks the node who is logged in, by the cookie of the browser. */
export async function loadSession(): Promise<void> {
  try {
    const me = await client.call('me');
    unauthenticated.set(false);
    session.set({ state: 'in', me });
    startFeed();
  } catch (problem) {
    session.set(
      isRefusal(problem, 'UNAUTHENTICATED', 'UNAUTHORIZED', 'FORBIDDEN')
        ? { state: 'out' }
        : { state: 'unreachable', problem },
    );
  }
}

/** The code of a login link is behind the #, which no browser sends. It leaves the address bar once it is read. */
function takeLoginCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code') ?? undefined;
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

let started = false;

/** Runs when the page opens: logs in by a link, or by the cookie of an earlier visit. */
export async function startSession(): Promise<void> {
  if (started) return;
  started = true;
  const code = takeLoginCode();
  if (code === undefined) return loadSession();
  try {
    await logIn({ code });
  } catch (problem) {
    // A user who is logged in stays so: following a link twice does no harm.
    await loadSession();
    if (session.value.state === 'out')
      session.set({
        state: 'out',
        problem: isRefusal(problem, 'UNAUTHENTICATED')
          ? 'This link no longer works. A login link works once, for ten minutes.'
          : problem,
      });
  }
}

export async function logIn(by: { readonly token: string } | { readonly code: string }): Promise<void> {
  await client.call('login', { body: by });
  clearCache();
  await loadSession();
}

export async function logOut(): Promise<void> {
  stopFeed();
  await client.call('logout').catch(() => {});
  clearCache();
  session.set({ state: 'out' });
}

unauthenticated.subscribe(() => {
  if (!unauthenticated.value || session.value.state !== 'in') return;
  stopFeed();
  clearCache();
  session.set({ state: 'out', problem: 'Your session has ended. Log in again to continue.' });
});

const RANK = { worker: 0, read: 1, operator: 2, admin: 3 } as const;

export function useMe(): Me {
  const now = useSignal(session);
  if (now.state !== 'in') throw new Error('nobody is logged in');
  return now.me;
}

/** Whether the user has at least this role. Actions that need more are not shown. */
export function useMay(role: 'read' | 'operator' | 'admin'): boolean {
  return RANK[useMe().role] >= RANK[role];
}

/** The address at which others reach this node: its own setting, or else the origin of this page. */
export function addressOf(me: Me): string {
  return me.node.address === '' ? location.origin : me.node.address;
}
