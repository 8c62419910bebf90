import type { WorkerSetting } from './setting-store.ts';

/** The part of the port for tokens: who may come in over the network. Times are calendar time. */
export interface TokenStore {
  /** A hash that is there already, of an ended token too, is CONFLICT: nothing is added and nothing ends. */
  tokenAdd(params: TokenAdding): Promise<TokenRecord>;
  /** A live token by its hash: not revoked, not expired, and if it is a code, not used. */
  tokenFind(params: { readonly hash: string }): Promise<TokenRecord | undefined>;
  /**
   * Uses up a live code and adds what it is exchanged for, all or nothing; of several at once one gets it. Undefined: the hash
   * is that of no live code.
   */
  tokenExchange(params: TokenExchange): Promise<TokenRecord | undefined>;
  /** Which of these are live, in order; of a number that was never given, or is pruned, false. */
  tokenAlive(params: { readonly ids: readonly number[] }): Promise<readonly boolean[]>;
  /** Newest first, ended ones too, until they are pruned. */
  tokenList(): Promise<readonly TokenRecord[]>;
  /** Ends one at once and for good. False: there is none of that number that is live. */
  tokenRevoke(params: { readonly id: number }): Promise<boolean>;
}

/** `bearer` comes with every request; `secret` belongs to one worker's name; `code` is good once, to enrol a worker. */
export type TokenKind = 'bearer' | 'secret' | 'code';
export type TokenRole = 'admin' | 'operator' | 'read' | 'worker';

export interface NewToken {
  readonly kind: TokenKind;
  readonly role: TokenRole;
  /** A label; of a secret or a code the name of the worker. */
  readonly name: string;
  /** SHA-256 of the token as 64 hex digits; the token itself is never stored. */
  readonly hash: string;
  /** Its first characters, by which people know it in a list. */
  readonly prefix: string;
  /** Who made it. */
  readonly by: string;
  /** Good for so long; not given: until it is revoked. */
  readonly ttlMs?: number | undefined;
}

/**
 * All other live tokens of the new one's kind and name end after so long, in the same transaction; none ends later than it
 * would have. 0: at once and for good, as if they were revoked. Of several rotations at once one token is left.
 */
export interface Rotation {
  readonly graceMs: number;
}

export interface TokenAdding {
  readonly token: NewToken;
  readonly replaces?: Rotation | undefined;
  /** Only if no live token of these kinds has its name, else it is CONFLICT too: of several at once one is added. */
  readonly unless?: readonly TokenKind[] | undefined;
  /** What is said of the worker of its name, in the same write: who has the secret finds it. */
  readonly setting?: Omit<WorkerSetting, 'name'> | undefined;
}

export interface TokenExchange {
  /** Of the code. */
  readonly hash: string;
  readonly token: NewToken;
  readonly replaces?: Rotation | undefined;
}

export interface TokenRecord extends Omit<NewToken, 'hash' | 'ttlMs'> {
  /** Never given to another token, also when this one is pruned. */
  readonly id: number;
  readonly createdAt: number;
  readonly expiresAt?: number | undefined;
  /** When a code was exchanged. */
  readonly usedAt?: number | undefined;
  readonly revokedAt?: number | undefined;
}
