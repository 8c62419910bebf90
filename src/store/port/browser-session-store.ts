import type { TokenRole } from './token-store.ts';

/** The part of the port for sessions of browsers, which begin with a token and end before it or with it. Times are calendar time. */
export interface BrowserSessionStore {
  /**
   * Adds a session. Undefined: its token is not live, and nothing was added. A hash that exists is CONFLICT. Of the
   * sessions of the same token, or of the same admin token, the newest `most` stay.
   */
  browserSessionAdd(params: NewBrowserSession): Promise<BrowserSessionRecord | undefined>;
  /** A live session by its hash: neither ended nor expired, and its token is live. Role and name are those of the token now. */
  browserSessionFind(params: { readonly hash: string }): Promise<BrowserSessionRecord | undefined>;
  /** Which of these have neither ended nor expired, in order. It does not look at their tokens. */
  browserSessionAlive(params: { readonly ids: readonly number[] }): Promise<readonly boolean[]>;
  /** Ends a session for good. False: there is none of that hash. */
  browserSessionEnd(params: { readonly hash: string }): Promise<boolean>;
}

export interface NewBrowserSession {
  /** SHA-256 of the session's id as 64 hex digits; the id itself is never stored. */
  readonly hash: string;
  /** The token that it began with, or a mark of the admin token. */
  readonly began: { readonly token: number } | { readonly admin: string };
  readonly ttlMs: number;
  readonly most: number;
}

export interface BrowserSessionRecord {
  /** Never used again. */
  readonly id: number;
  readonly began: BrowserSessionOrigin;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** What a session began with, as it is now. */
export type BrowserSessionOrigin =
  | { readonly token: number; readonly role: TokenRole; readonly name: string }
  | { readonly admin: string };
