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
const BELIEF_MS = 500;
const MAX_BELIEFS = 10_000;

/** Lets callers in by their tokens, and ends what lives by a token that has ended. */
export class Access {
  readonly #admin: string;
  readonly #book: TokenLookup;
  readonly #world: World;
  readonly #beliefs = new Map<string, { readonly principal: Principal; readonly until: number }>();
  readonly #living = new Map<number, Set<() => void>>();
  #stopWatch: (() => void) | undefined;

  constructor(adminToken: string, book: TokenLookup, world: World) {
    this.#admin = hashOf(adminToken);
    this.#book = book;
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
    const belief = this.#beliefs.get(hash);
    if (belief !== undefined && belief.until > now) return belief.principal;
    this.#beliefs.delete(hash);
    const principal = await this.#book.find(hash);
    if (principal === undefined) throw fault('UNAUTHENTICATED');
    this.#believe(hash, principal, now);
    return principal;
  }

  #believe(key: string, principal: Principal, now: number): void {
    if (this.#beliefs.size >= MAX_BELIEFS) this.#beliefs.clear();
    this.#beliefs.set(key, { principal, until: now + BELIEF_MS });
  }

  /** Who speaks by something that was given for a token, if that is live still. */
  async stillValid(principal: Principal & { readonly token: number }): Promise<Principal> {
    const key = `token ${principal.token}`;
    const now = this.#world.clock.monotonic();
    if ((this.#beliefs.get(key)?.until ?? 0) > now) return principal;
    const [alive] = await this.#book.alive([principal.token]);
    if (alive !== true) throw fault('UNAUTHENTICATED');
    this.#believe(key, principal, now);
    return principal;
  }

  /** Calls `end` when the token of a connection has ended. The answer stops that. */
  onRevoked({ token }: Principal, end: () => void): () => void {
    if (token === undefined) return () => {};
    const ends = this.#living.get(token) ?? new Set();
    this.#living.set(token, ends.add(end));
    this.#watch();
    return () => {
      ends.delete(end);
      // Not the set of somebody who came back while this one was torn down: nobody would end it any more.
      if (ends.size === 0 && this.#living.get(token) === ends) this.#living.delete(token);
    };
  }

  close(): void {
    this.#stopWatch?.();
    this.#stopWatch = undefined;
    this.#living.clear();
  }

  #watch(): void {
    this.#stopWatch ??= this.#world.timers.after(
      BELIEF_MS,
      () => {
        void this.#look().finally(() => {
          this.#stopWatch = undefined;
          if (this.#living.size > 0) this.#watch();
        });
      },
      { unref: true },
    );
  }

  /** Who was cut off hears the same when it comes back. */
  #disbelieve(token: number): void {
    for (const [hash, { principal }] of this.#beliefs) if (principal.token === token) this.#beliefs.delete(hash);
  }

  async #look(): Promise<void> {
    const tokens = [...this.#living.keys()];
    // A store that cannot be asked says nothing about tokens: who is in stays in until it can.
    const alive = await this.#book.alive(tokens).catch(() => tokens.map(() => true));
    for (const [i, token] of tokens.entries()) {
      if (alive[i] === true) continue;
      this.#disbelieve(token);
      const ends = this.#living.get(token) ?? [];
      this.#living.delete(token);
      for (const end of ends) end();
    }
  }
}
