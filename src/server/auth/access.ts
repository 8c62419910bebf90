import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import { hashOf, sameHash } from '../../operate/secrets.ts';
import type { Role } from '../../protocol/route.ts';
import { TokenUse } from './token-use.ts';

/** An authenticated caller. */
export interface Principal {
  readonly role: Role;
  /** The name that histories record. */
  readonly name: string;
  /** The number of its token; undefined: the admin token of this node. */
  readonly token: number | undefined;
  /** When its session ends, in calendar time; undefined: it has no session. */
  readonly until?: number | undefined;
}

/** The key under which calls of one caller are counted. A rotated token keeps its name. */
export function callerOf({ name, token }: Pick<Principal, 'name' | 'token'>): string {
  return `${token === undefined ? 'node' : 'token'}:${name}`;
}

/** The token queries that access needs. */
export interface TokenLookup {
  find(hash: string): Promise<Principal | undefined>;
  alive(tokens: readonly number[]): Promise<readonly boolean[]>;
  /** Notes that these were used now; not there: nobody keeps it. */
  noteUsed?(tokens: readonly number[]): Promise<void>;
}

/** How long a token that was found is trusted. With it a revocation holds everywhere within a second. */
const CACHE_MS = 500;
const MAX_CACHED = 10_000;

/** Authenticates callers by their tokens, and ends connections whose token was revoked. */
export class Access {
  readonly #admin: string;
  readonly #tokens: TokenLookup;
  readonly #world: World;
  readonly #cache = new Map<string, { readonly principal: Principal; readonly until: number }>();
  readonly #listeners = new Map<number, Set<() => void>>();
  readonly #use: TokenUse;
  #stopPolling: (() => void) | undefined;

  constructor(adminToken: string, tokens: TokenLookup, world: World) {
    this.#admin = hashOf(adminToken);
    this.#tokens = tokens;
    this.#world = world;
    this.#use = new TokenUse(world, async (ids) => tokens.noteUsed?.(ids));
  }

  /** Distinguishes admin tokens without revealing anything of them. */
  get adminFingerprint(): string {
    return hashOf(`mark ${this.#admin}`);
  }

  /** The caller with this token. The error is the same for every kind of bad token. */
  async authenticate(secret: string | undefined): Promise<Principal> {
    if (secret === undefined) throw fault('UNAUTHENTICATED');
    const hash = hashOf(secret);
    if (sameHash(hash, this.#admin)) return { role: 'admin', name: 'admin', token: undefined };
    const now = this.#world.clock.monotonic();
    const cached = this.#cache.get(hash);
    if (cached !== undefined && cached.until > now) return this.#used(cached.principal);
    this.#cache.delete(hash);
    const principal = await this.#tokens.find(hash);
    if (principal === undefined) throw fault('UNAUTHENTICATED');
    this.#remember(hash, principal, now);
    return this.#used(principal);
  }

  #used(principal: Principal): Principal {
    this.#use.used(principal.token);
    return principal;
  }

  #remember(key: string, principal: Principal, now: number): void {
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(key, { principal, until: now + CACHE_MS });
  }

  /** The caller behind a session or cookie, as long as the token that it was issued for is valid. */
  async stillValid(principal: Principal & { readonly token: number }): Promise<Principal> {
    const key = `token ${principal.token}`;
    const now = this.#world.clock.monotonic();
    if ((this.#cache.get(key)?.until ?? 0) > now) return this.#used(principal);
    const [alive] = await this.#tokens.alive([principal.token]);
    if (alive !== true) throw fault('UNAUTHENTICATED');
    this.#remember(key, principal, now);
    return this.#used(principal);
  }

  /** Calls `end` when the token of a connection is revoked. Returns a function that stops this. */
  onRevoked({ token }: Principal, end: () => void): () => void {
    if (token === undefined) return () => {};
    const ends = this.#listeners.get(token) ?? new Set();
    this.#listeners.set(token, ends.add(end));
    this.#pollLater();
    return () => {
      ends.delete(end);
      // A new connection may have replaced the set meanwhile. Deleting that one would leave it without its revocation.
      if (ends.size === 0 && this.#listeners.get(token) === ends) this.#listeners.delete(token);
    };
  }

  close(): void {
    this.#stopPolling?.();
    this.#stopPolling = undefined;
    this.#listeners.clear();
    this.#use.close();
  }

  #pollLater(): void {
    this.#stopPolling ??= this.#world.timers.after(
      CACHE_MS,
      () => {
        void this.#poll().finally(() => {
          this.#stopPolling = undefined;
          if (this.#listeners.size > 0) this.#pollLater();
        });
      },
      { unref: true },
    );
  }

  /** A caller that was cut off is refused when it comes back. */
  #forget(token: number): void {
    for (const [hash, { principal }] of this.#cache) if (principal.token === token) this.#cache.delete(hash);
  }

  async #poll(): Promise<void> {
    const tokens = [...this.#listeners.keys()];
    // A store that does not answer says nothing about tokens: connections stay until it does.
    const alive = await this.#tokens.alive(tokens).catch(() => tokens.map(() => true));
    for (const [i, token] of tokens.entries()) {
      if (alive[i] === true) {
        // A connection uses its token as long as it is open.
        this.#use.used(token);
        continue;
      }
      this.#forget(token);
      const ends = this.#listeners.get(token) ?? [];
      this.#listeners.delete(token);
      for (const end of ends) end();
    }
  }
}
