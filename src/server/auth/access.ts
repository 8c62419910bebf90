import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import { hashOf, sameHash } from '../../operate/secrets.ts';
import type { Role } from '../../protocol/route.ts';

/** Who calls. */
export interface Principal {
  readonly role: Role;
  /** For histories: who did it. */
  readonly name: string;
  /** The number of its token; undefined: the admin token of this node. */
  readonly token: number | undefined;
  /** When its session is over, in calendar time; undefined: it has none. */
  readonly until?: number | undefined;
}

/** By which its calls are counted together. A token that was rotated keeps its name. */
export function callerOf({ name, token }: Pick<Principal, 'name' | 'token'>): string {
  return `${token === undefined ? 'node' : 'token'}:${name}`;
}

/** What is asked of the store about tokens. */
export interface TokenLookup {
  find(hash: string): Promise<Principal | undefined>;
  alive(tokens: readonly number[]): Promise<readonly boolean[]>;
}

/** A token that was found is believed for so long: a revocation holds everywhere within a second. */
const CACHE_MS = 500;
const MAX_CACHED = 10_000;

/** Lets callers in by their tokens, and ends what lives by a token that has ended. */
export class Access {
  readonly #admin: string;
  readonly #tokens: TokenLookup;
  readonly #world: World;
  readonly #cache = new Map<string, { readonly principal: Principal; readonly until: number }>();
  readonly #listeners = new Map<number, Set<() => void>>();
  #stopPolling: (() => void) | undefined;

  constructor(adminToken: string, tokens: TokenLookup, world: World) {
    this.#admin = hashOf(adminToken);
    this.#tokens = tokens;
    this.#world = world;
  }

  /** Tells this admin token from another one, and nothing of it. */
  get adminFingerprint(): string {
    return hashOf(`mark ${this.#admin}`);
  }

  /** Who has this token. Whatever is wrong with it, the answer is the same. */
  async authenticate(secret: string | undefined): Promise<Principal> {
    if (secret === undefined) throw fault('UNAUTHENTICATED');
    const hash = hashOf(secret);
    if (sameHash(hash, this.#admin)) return { role: 'admin', name: 'admin', token: undefined };
    const now = this.#world.clock.monotonic();
    const cached = this.#cache.get(hash);
    if (cached !== undefined && cached.until > now) return cached.principal;
    this.#cache.delete(hash);
    const principal = await this.#tokens.find(hash);
    if (principal === undefined) throw fault('UNAUTHENTICATED');
    this.#remember(hash, principal, now);
    return principal;
  }

  #remember(key: string, principal: Principal, now: number): void {
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(key, { principal, until: now + CACHE_MS });
  }

  /** Who speaks by something that was given for a token, if that is live still. */
  async stillValid(principal: Principal & { readonly token: number }): Promise<Principal> {
    const key = `token ${principal.token}`;
    const now = this.#world.clock.monotonic();
    if ((this.#cache.get(key)?.until ?? 0) > now) return principal;
    const [alive] = await this.#tokens.alive([principal.token]);
    if (alive !== true) throw fault('UNAUTHENTICATED');
    this.#remember(key, principal, now);
    return principal;
  }

  /** Calls `end` when the token of a connection has ended. The answer stops that. */
  onRevoked({ token }: Principal, end: () => void): () => void {
    if (token === undefined) return () => {};
    const ends = this.#listeners.get(token) ?? new Set();
    this.#listeners.set(token, ends.add(end));
    this.#pollLater();
    return () => {
      ends.delete(end);
      // Not the set of somebody who came back while this one was torn down: nobody would end it any more.
      if (ends.size === 0 && this.#listeners.get(token) === ends) this.#listeners.delete(token);
    };
  }

  close(): void {
    this.#stopPolling?.();
    this.#stopPolling = undefined;
    this.#listeners.clear();
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

  /** Who was cut off hears the same when it comes back. */
  #forget(token: number): void {
    for (const [hash, { principal }] of this.#cache) if (principal.token === token) this.#cache.delete(hash);
  }

  async #poll(): Promise<void> {
    const tokens = [...this.#listeners.keys()];
    // A store that cannot be asked says nothing about tokens: who is in stays in until it can.
    const alive = await this.#tokens.alive(tokens).catch(() => tokens.map(() => true));
    for (const [i, token] of tokens.entries()) {
      if (alive[i] === true) continue;
      this.#forget(token);
      const ends = this.#listeners.get(token) ?? [];
      this.#listeners.delete(token);
      for (const end of ends) end();
    }
  }
}
