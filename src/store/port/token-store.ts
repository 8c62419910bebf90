import type { WorkerSetting } from './setting-store.ts';

/** The part of the port for tokens, which give access over the network. Times are calendar time. */
export interface TokenStore {
  /** A hash that exists, even of an ended token, is CONFLICT: nothing is added and nothing ends. */
  tokenAdd(params: TokenAdding): Promise<TokenRecord>;
  /** A live token by its hash: not revoked, not expired, and if it is a code, not used. */
  tokenFind(params: { readonly hash: string }): Promise<TokenRecord | undefined>;
  /**
   * Uses up a live code and adds the token that it is exchanged for, all or nothing. Of concurrent calls one succeeds.
   * Undefined: the hash is that of no live code.
   */
  tokenExchange(params: TokenExchange): Promise<TokenRecord | undefined>;
  /** Which of these are live, in order. False for a number that was never used or is pruned. */
  tokenAlive(params: { readonly ids: readonly number[] }): Promise<readonly boolean[]>;
  /** Newest first, ended ones too, until they are pruned. */
  tokenList(): Promise<readonly TokenRecord[]>;
  /**
   * Notes that these were used now, or before they were revoked. A time only moves on, and a number that is not there is
   * passed over. The caller sees to it that this is rare: it is a write.
   */
  tokenUsed(params: { readonly ids: readonly number[] }): Promise<void>;
  /** Ends a token at once and for good. False: there is no live token of that number. */
  tokenRevoke(params: { readonly id: number }): Promise<boolean>;
}

/** `bearer` is sent with every request. `secret` belongs to one worker's name. `code` works once, to enrol a worker. */
export type TokenKind = 'bearer' | 'secret' | 'code';
export type TokenRole = 'admin' | 'operator' | 'read' | 'worker';

export interface NewToken {
  readonly kind: TokenKind;
  readonly role: TokenRole;
  /** A label, or the name of the worker for a secret or a code. */
  readonly name: string;
  /** SHA-256 of the token as 64 hex digits; the token itself is never stored. */
  readonly hash: string;
  /** Its first characters, to recognize it in a list. */
  readonly prefix: string;
  /** Who made it. */
  readonly by: string;
  /** Live for this long; not given: until it is revoked. */
  readonly ttlMs?: number | undefined;
}

/**
 * All other live tokens of the same kind and name end after this long, in the same transaction. None ends later than it
 * would have. 0: at once and for good, as if revoked. After concurrent rotations one token is left.
 */
export interface Rotation {
  readonly graceMs: number;
}

export interface TokenAdding {
  readonly token: NewToken;
  readonly replaces?: Rotation | undefined;
  /** Adds the token only if no live token of these kinds has its name, else CONFLICT. Of concurrent calls one succeeds. */
  readonly unless?: readonly TokenKind[] | undefined;
  /** A setting for the worker of its name, in the same write: the worker finds it when it uses the secret. */
  readonly setting?: Omit<WorkerSetting, 'name'> | undefined;
}

export interface TokenExchange {
  /** The hash of the code. */
  readonly hash: string;
  readonly token: NewToken;
  readonly replaces?: Rotation | undefined;
}

export interface TokenRecord extends Omit<NewToken, 'hash' | 'ttlMs'> {
  /** Never used again, even after the token is pruned. */
  readonly id: number;
  readonly createdAt: number;
  readonly expiresAt?: number | undefined;
  /** When a code was exchanged. */
  readonly usedAt?: number | undefined;
  /** When it was last noted as used: up to a minute or so before its last use. */
  readonly lastUsedAt?: number | undefined;
  readonly revokedAt?: number | undefined;
}
