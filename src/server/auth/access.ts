import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import { hashOf, sameHash } from '../../operate/secrets.ts';
import type { Role } from '../../protocol/route.ts';
import { LivenessPoll } from './liveness-poll.ts';
import { TokenUse } from './token-use.ts';

/** An authenticated caller. */
export interface Principal {
  readonly role: Role;
  /** The name that histories record. */
  readonly name: string;
  /** The number of its token; undefined: the admin token of this node. */
  readonly token: number | undefined;
  /** The number of its browser session; undefined: it has none. */
  readonly session?: number | undefined;
  /** When that session ends, in calendar time. */
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
export const CACHE_MS = 500;
export const MAX_CACHED = 10_000;

/** Authenticates callers by their tokens, and ends connections whose token was revoked. */
export class Access {
  readonly #admin: string;
  readonly #tokens: TokenLookup;
  readonly #world: World;
  readonly #cache = new Map<string, { readonly principal: Principal; readonly until: number }>();
  readonly #use: TokenUse;
  readonly #poll: LivenessPoll;

  constructor(adminToken: string, tokens: TokenLookup, world: World) {
    this.#admin = hashOf(adminToken);
    this.#tokens = tokens;
    this.#world = world;
    this.#use = new TokenUse(world, async (ids) => tokens.noteUsed?.(ids));
    this.#poll = new LivenessPoll({
      alive: (ids) => this.#lookedUp(ids),
      everyMs: CACHE_MS,
      world,
      onEnded: (token) => this.#forget(token),
    });
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
    return token === undefined ? () => {} : this.#poll.watch(token, end);
  }

  close(): void {
    this.#use.close();
    this.#poll.close();
  }

  /** A caller that was cut off is refused when it comes back. */
  #forget(token: number): void {
    for (const [hash, { principal }] of this.#cache) if (principal.token === token) this.#cache.delete(hash);
  }

  /** A connection uses its token as long as it is open. */
  async #lookedUp(ids: readonly number[]): Promise<readonly boolean[]> {
    const alive = await this.#tokens.alive(ids);
    for (const [i, id] of ids.entries()) if (alive[i] === true) this.#use.used(id);
    return alive;
  }
}
