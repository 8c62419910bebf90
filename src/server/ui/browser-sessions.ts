import { createHmac, createSecretKey, type KeyObject, randomUUID, timingSafeEqual } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';
import type { Role } from '../../protocol/route.ts';
import type { Access, Principal } from '../auth/access.ts';

export const SESSION_MS = 12 * 3_600_000;
/** Sessions that were ended early and are remembered until they would end anyway. */
const MOST_ENDED = 10_000;

/** The signed content of a cookie. */
interface Session {
  readonly id: string;
  readonly role: Role;
  readonly name: string;
  /** The number of the token that it began with. It ends with that token. */
  readonly token?: number;
  /** For a session that began with the admin token: its fingerprint. Another admin token ends the session. */
  readonly admin?: string;
  /** Calendar time. */
  readonly until: number;
}

/**
 * Sessions of browsers. The cookie carries the whole session, signed with the key of the cluster, so that every node can go
 * on with it.
 */
export class BrowserSessions {
  readonly #key: KeyObject;
  readonly #access: Pick<Access, 'stillValid' | 'adminFingerprint'>;
  readonly #clock: Clock;
  /** Sessions that were ended here, with the time at which their cookies expire. */
  readonly #ended = new Map<string, number>();

  constructor(clusterKey: string, access: Pick<Access, 'stillValid' | 'adminFingerprint'>, clock: Clock) {
    this.#key = createSecretKey(createHmac('sha256', clusterKey).update('browser sessions').digest());
    this.#access = access;
    this.#clock = clock;
  }

  begin({ role, name, token }: Principal): string {
    const session: Session = {
      id: randomUUID(),
      role,
      name,
      ...(token === undefined ? { admin: this.#access.adminFingerprint } : { token }),
      until: Math.floor(this.#clock.wall() + SESSION_MS),
    };
    const text = Buffer.from(JSON.stringify(session)).toString('base64url');
    return `${text}.${this.#sign(text)}`;
  }

  /** The caller of a valid session. The error is the same for every kind of bad cookie. */
  async read(cookie: string): Promise<Principal> {
    const { id, role, name, token, admin, until } = this.#session(cookie);
    if (until <= this.#clock.wall() || this.#ended.has(id)) throw fault('UNAUTHENTICATED');
    if (token !== undefined) return { ...(await this.#access.stillValid({ role, name, token })), until };
    if (admin !== this.#access.adminFingerprint) throw fault('UNAUTHENTICATED');
    return { role, name, token: undefined, until };
  }

  /** Ends the session on this node at once. The browser drops the cookie. */
  end(cookie: string): void {
    const { id, until } = this.#session(cookie);
    const now = this.#clock.wall();
    if (this.#ended.size >= MOST_ENDED) {
      for (const [one, last] of this.#ended) if (last <= now || this.#ended.size >= MOST_ENDED) this.#ended.delete(one);
    }
    this.#ended.set(id, until);
  }

  #session(cookie: string): Session {
    const [text = '', ...rest] = cookie.split('.');
    // Compared as texts: several texts decode to the same bytes.
    const given = Buffer.from(rest.join('.'));
    const right = Buffer.from(this.#sign(text));
    if (given.length !== right.length || !timingSafeEqual(given, right)) throw fault('UNAUTHENTICATED');
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as Session;
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}
