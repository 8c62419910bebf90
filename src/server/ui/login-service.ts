import { fault, isEngineError } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';
import type { BodyOf } from '../../protocol/routes.ts';
import type { Access, Principal } from '../auth/access.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import { FailedLogins } from './failed-logins.ts';
import { LoginCodes } from './login-codes.ts';

/** The bound of a secret, as for a header. */
const MOST_SECRET = 512;

/** Logs browsers in, by the code of a login link or by a token. */
export class LoginService {
  readonly sessions: BrowserSessions;
  readonly #codes: LoginCodes;
  readonly #failed: FailedLogins;
  readonly #access: Access;

  constructor(sessions: BrowserSessions, access: Access, clock: Clock) {
    this.sessions = sessions;
    this.#codes = new LoginCodes(clock);
    this.#failed = new FailedLogins(clock);
    this.#access = access;
  }

  /** Logs in and makes the session cookie. */
  async login(
    proof: BodyOf<'login'>,
    address: string,
  ): Promise<{ readonly principal: Principal; readonly cookie: string }> {
    const principal = await this.#who(proof).catch((error: unknown) => {
      if (isEngineError(error, 'UNAUTHENTICATED')) {
        // Only a wrong guess is held up. Whoever is right comes in, whatever others behind the same address have sent.
        this.#failed.check(address);
        this.#failed.failed(address);
      }
      throw error;
    });
    if (principal.role === 'worker') {
      throw fault('FORBIDDEN', { problem: 'the secret of a worker does not log a browser in' });
    }
    return { principal, cookie: await this.sessions.begin(principal) };
  }

  /** A link that logs a browser in once, as this caller. The code stands behind the #, which browsers do not send. */
  link(principal: Principal, address: string): { readonly url: string; readonly expiresAt: number } {
    const { code, expiresAt } = this.#codes.make(principal);
    return { url: `${reachable(address)}/ui/#code=${code}`, expiresAt };
  }

  async #who(proof: BodyOf<'login'>): Promise<Principal> {
    if ('token' in proof) return this.#access.authenticate(proof.token.length > MOST_SECRET ? '' : proof.token);
    const principal = proof.code.length > MOST_SECRET ? undefined : this.#codes.take(proof.code);
    if (principal === undefined) {
      const hint = 'The link was used, or its ten minutes are over; "leasehold login" makes another.';
      throw fault('UNAUTHENTICATED', undefined, { hint });
    }
    // A login code ends with the token or the session that made it.
    const { token } = principal;
    return token === undefined ? principal : this.#access.stillValid({ ...principal, token });
  }
}

/** A server that listens on all addresses is reached on loopback. */
function reachable(address: string): string {
  return address.replace(/\/$/, '').replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
