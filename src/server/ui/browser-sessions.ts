import { createHmac, type KeyObject } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Engine } from '../../engine/engine.ts';
import { hashOf, newSecret } from '../../operate/secrets.ts';
import { type Access, CACHE_MS, MAX_CACHED, type Principal } from '../auth/access.ts';
import { LivenessPoll } from '../auth/liveness-poll.ts';

/** A session ends after this time, used or not. Nothing renews it. */
export const SESSION_MS = 12 * 3_600_000;
/** Sessions of one token at a time; a login beyond ends the oldest. */
const MOST_SESSIONS = 100;

type BrowserSessionStore = Pick<
  Engine['store'],
  'browserSessionAdd' | 'browserSessionFind' | 'browserSessionAlive' | 'browserSessionEnd'
>;
type BrowserSessionRecord = NonNullable<Awaited<ReturnType<BrowserSessionStore['browserSessionFind']>>>;

export interface BrowserSessionsOptions {
  readonly store: BrowserSessionStore;
  readonly access: Pick<Access, 'adminFingerprint'>;
  /** The key under which the store may know the admin token that a session began with. */
  readonly adminKey: KeyObject;
  readonly world: Pick<World, 'clock' | 'timers'>;
}

/**
 * Sessions of browsers. The cookie is 256 random bits; the store has their hash, so that every node knows the session and
 * who reads the store has no cookie. A session is worth what its token is worth now. A session, and its end, that this node has
 * not looked up for half a second is looked up again.
 */
export class BrowserSessions {
  readonly #store: BrowserSessionStore;
  readonly #world: BrowserSessionsOptions['world'];
  /** Of the admin token of this node. A node with another one does not take its sessions. */
  readonly #adminMark: string;
  readonly #cache = new Map<string, { readonly principal: Principal; readonly until: number }>();
  readonly #poll: LivenessPoll;

  constructor({ store, access, adminKey, world }: BrowserSessionsOptions) {
    this.#store = store;
    this.#world = world;
    this.#adminMark = createHmac('sha256', adminKey).update(access.adminFingerprint).digest('hex');
    const alive = (ids: readonly number[]): Promise<readonly boolean[]> => store.browserSessionAlive({ ids });
    this.#poll = new LivenessPoll({ alive, everyMs: CACHE_MS, world, onEnded: (id) => this.#forget(id) });
  }

  /** Begins a session and answers its cookie. One that another session made ends when that would: nothing renews a session. */
  async begin({ token, session, until }: Principal): Promise<string> {
    const [alive] = session === undefined ? [true] : await this.#store.browserSessionAlive({ ids: [session] });
    if (alive !== true) throw fault('UNAUTHENTICATED');
    const cookie = newSecret('session');
    const began = token === undefined ? { admin: this.#adminMark } : { token };
    const leftMs = until === undefined ? SESSION_MS : Math.max(1, Math.floor(until - this.#world.clock.wall()));
    const ttlMs = Math.min(SESSION_MS, leftMs);
    const made = await this.#store.browserSessionAdd({ hash: hashOf(cookie), began, ttlMs, most: MOST_SESSIONS });
    // Its token has ended since it was looked up.
    if (made === undefined) throw fault('UNAUTHENTICATED');
    return cookie;
  }

  /** The caller of a valid session. The error is the same for every kind of bad cookie. */
  async read(cookie: string): Promise<Principal> {
    const hash = hashOf(cookie);
    const { clock } = this.#world;
    const cached = this.#cache.get(hash);
    if (cached !== undefined && cached.until > clock.monotonic() && (cached.principal.until ?? 0) > clock.wall()) {
      return cached.principal;
    }
    this.#cache.delete(hash);
    const now = clock.monotonic();
    const found = await this.#store.browserSessionFind({ hash });
    const principal = found && this.#principalOf(found);
    if (principal === undefined) throw fault('UNAUTHENTICATED');
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(hash, { principal, until: now + CACHE_MS });
    return principal;
  }

  /** Ends the session: here at once, at every other node within a second. The browser drops the cookie. */
  async end(cookie: string): Promise<void> {
    const hash = hashOf(cookie);
    await this.#store.browserSessionEnd({ hash });
    this.#cache.delete(hash);
  }

  /** Calls `end` when the session of a connection has ended, at whichever node. Returns a function that stops this. */
  onEnded({ session }: Principal, end: () => void): () => void {
    return session === undefined ? () => {} : this.#poll.watch(session, end);
  }

  close(): void {
    this.#poll.close();
  }

  #principalOf({ id, began, expiresAt }: BrowserSessionRecord): Principal | undefined {
    const own = { session: id, until: expiresAt };
    if ('token' in began) return { role: began.role, name: began.name, token: began.token, ...own };
    return began.admin === this.#adminMark ? { role: 'admin', name: 'admin', token: undefined, ...own } : undefined;
  }

  #forget(session: number): void {
    for (const [hash, { principal }] of this.#cache) if (principal.session === session) this.#cache.delete(hash);
  }
}
