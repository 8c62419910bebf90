/** Codes, cookies and guessing, on a clock that is turned by hand. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { VirtualWorld } from '../../testing.ts';
import { Access, type Principal } from '../auth/access.ts';
import { BrowserSessions, SESSION_MS } from './browser-sessions.ts';
import { COOKIE, cookieOf, setCookie } from './cookie.ts';
import { FailedLogins } from './failed-logins.ts';
import { CODE_MS, LoginCodes } from './login-codes.ts';
import { LoginService } from './login-service.ts';

const ADMIN: Principal = { role: 'admin', name: 'admin', token: undefined };
const ANNA: Principal = { role: 'operator', name: 'anna', token: 7 };
const KEY = 'ab'.repeat(16);

class Rig {
  readonly world = new VirtualWorld();
  /** Tokens that are live. */
  readonly live = new Set([7]);
  readonly access: Access;
  readonly sessions: BrowserSessions;

  constructor(admin = 'an-admin-token', key = KEY) {
    const book = {
      find: async () => undefined,
      alive: async (tokens: readonly number[]) => tokens.map((token) => this.live.has(token)),
    };
    this.access = new Access(admin, book, this.world);
    this.sessions = new BrowserSessions(key, this.access, this.world.clock);
  }
}

describe('codes of login links', () => {
  test('a code lets in once, as whoever made it', () => {
    const codes = new LoginCodes(new VirtualWorld().clock);
    const { code } = codes.make(ANNA);
    assert.match(code, /^lh_login_[\w-]{43}$/);
    assert.deepEqual(codes.take(code), ANNA);
    assert.equal(codes.take(code), undefined);
  });

  test('a code is good for ten minutes', () => {
    const world = new VirtualWorld();
    const codes = new LoginCodes(world.clock);
    const [early, late] = [codes.make(ADMIN), codes.make(ADMIN)];
    assert.equal(early.expiresAt, Math.floor(world.clock.wall() + CODE_MS));
    world.elapse(CODE_MS - 1);
    assert.deepEqual(codes.take(early.code), ADMIN);
    world.elapse(1);
    assert.equal(codes.take(late.code), undefined);
  });

  test('another text lets nobody in, and uses up no code', () => {
    const codes = new LoginCodes(new VirtualWorld().clock);
    const { code } = codes.make(ADMIN);
    for (const text of ['', code.slice(0, -1), `${code}x`, code.toUpperCase(), 'lh_login_']) {
      assert.equal(codes.take(text), undefined);
    }
    assert.deepEqual(codes.take(code), ADMIN);
  });

  test('of more codes than are kept the oldest are good no longer', () => {
    const codes = new LoginCodes(new VirtualWorld().clock);
    const [first, second] = [codes.make(ADMIN), codes.make(ADMIN)];
    for (let i = 0; i < 999; i++) codes.make(ADMIN);
    assert.equal(codes.take(first.code), undefined);
    assert.deepEqual(codes.take(second.code), ADMIN);
  });
});

describe('sessions of browsers', () => {
  test('a cookie names who it was given to, at every node of the cluster', async () => {
    const [one, other] = [new Rig(), new Rig()];
    const cookie = one.sessions.begin(ANNA);
    const { until, ...principal } = await other.sessions.read(cookie);
    assert.deepEqual(principal, ANNA);
    assert.equal(until, Math.floor(one.world.clock.wall() + SESSION_MS));
    assert.equal((await other.sessions.read(one.sessions.begin(ADMIN))).role, 'admin');
  });

  test('a session is over after twelve hours', async () => {
    const { world, sessions } = new Rig();
    const cookie = sessions.begin(ADMIN);
    world.elapse(SESSION_MS - 1000);
    await sessions.read(cookie);
    world.elapse(1000);
    assert.equal(await refusal(sessions.read(cookie)), 'UNAUTHENTICATED');
  });

  test('a session ends with the token that it was begun with', async () => {
    const { world, live, sessions } = new Rig();
    const cookie = sessions.begin(ANNA);
    await sessions.read(cookie);
    live.delete(7);
    world.elapse(1000);
    assert.equal(await refusal(sessions.read(cookie)), 'UNAUTHENTICATED');
  });

  test('one that was begun with the admin token ends when that is another', async () => {
    const cookie = new Rig().sessions.begin(ADMIN);
    assert.equal(await refusal(new Rig('another-admin-token').sessions.read(cookie)), 'UNAUTHENTICATED');
  });

  test('a cookie that anybody has changed, or of another cluster, is none', async () => {
    const { sessions } = new Rig();
    const cookie = sessions.begin(ANNA);
    const [text = '', signature = ''] = cookie.split('.');
    const said = JSON.parse(Buffer.from(text, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...said, role: 'admin' })).toString('base64url');
    const bad = [
      '',
      '.',
      text,
      `${forged}.${signature}`,
      `${text}.${signature}x`,
      `${text}.${signature}=`,
      `${text}=.${signature}`,
      `${text}.${signature}.`,
      new Rig(undefined, 'cd'.repeat(16)).sessions.begin(ANNA),
    ];
    for (const one of bad) assert.equal(await refusal(sessions.read(one)), 'UNAUTHENTICATED', one);
    assert.doesNotMatch(Buffer.from(text, 'base64url').toString(), /an-admin-token/);
  });

  test('a session that was ended is over at once, and others go on', async () => {
    const { sessions } = new Rig();
    const [one, other] = [sessions.begin(ADMIN), sessions.begin(ADMIN)];
    sessions.end(one);
    assert.equal(await refusal(sessions.read(one)), 'UNAUTHENTICATED');
    await sessions.read(other);
  });

  test('what is remembered of ended sessions is bounded', async () => {
    const { sessions } = new Rig();
    for (let i = 0; i < 10_001; i++) sessions.end(sessions.begin(ADMIN));
    const last = sessions.begin(ADMIN);
    sessions.end(last);
    assert.equal(await refusal(sessions.read(last)), 'UNAUTHENTICATED');
  });
});

test('a cookie is found among others, and one that is too long is none', () => {
  assert.equal(cookieOf({}), undefined);
  assert.equal(cookieOf({ cookie: 'a=1' }), undefined);
  assert.equal(cookieOf({ cookie: `a=1; ${COOKIE}=x.y; b=2` }), 'x.y');
  assert.equal(cookieOf({ cookie: `${COOKIE}x=1;${COOKIE}=z` }), 'z');
  assert.equal(cookieOf({ cookie: COOKIE }), undefined);
  assert.equal(cookieOf({ cookie: `${COOKIE}=${'x'.repeat(5000)}` }), undefined);
});

test('a cookie is for no script, for no other site, and under TLS for TLS alone', () => {
  assert.equal(
    setCookie('v', { secure: true }),
    'leasehold_session=v; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure',
  );
  assert.equal(setCookie('', { secure: false }), 'leasehold_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict');
});

describe('who guesses', () => {
  test('after ten failures an address waits for the rest of their minute, and others do not', () => {
    const world = new VirtualWorld();
    const failed = new FailedLogins(world.clock);
    for (let i = 0; i < 10; i++) {
      failed.check('1.2.3.4');
      failed.failed('1.2.3.4');
      world.elapse(1000);
    }
    assert.throws(
      () => failed.check('1.2.3.4'),
      (error) => isEngineError(error, 'TOO_MANY') && error.details?.retryAfterMs === 50_000,
    );
    failed.check('5.6.7.8');
    world.elapse(50_000);
    failed.check('1.2.3.4');
  });

  test('very many addresses are remembered only for as long as there is room', () => {
    const failed = new FailedLogins(new VirtualWorld().clock);
    for (let i = 0; i < 10; i++) failed.failed('first');
    for (let i = 0; i < 10_000; i++) failed.failed(`a${i}`);
    failed.check('first');
  });

  test('a login that fails counts, one that succeeds does not, and in between nobody is let in', async () => {
    const { world, access } = new Rig();
    const service = new LoginService(KEY, access, world.clock);
    for (let i = 0; i < 9; i++)
      assert.equal(await refusal(service.login({ token: 'wrong' }, 'here')), 'UNAUTHENTICATED');
    for (let i = 0; i < 20; i++) await service.login({ token: 'an-admin-token' }, 'here');
    assert.equal(await refusal(service.login({ code: 'wrong' }, 'here')), 'UNAUTHENTICATED');
    assert.equal(await refusal(service.login({ token: 'an-admin-token' }, 'here')), 'TOO_MANY');
    await service.login({ token: 'an-admin-token' }, 'elsewhere');
  });

  test('a code of a token that has ended since lets nobody in', async () => {
    const { world, live, access } = new Rig();
    const service = new LoginService(KEY, access, world.clock);
    const codeOf = (url: string): string => url.split('#code=')[1] ?? '';
    const { cookie } = await service.login({ code: codeOf(service.link(ANNA, 'http://x').url) }, 'here');
    assert.equal((await service.sessions.read(cookie)).name, 'anna');
    const { url } = service.link(ANNA, 'http://x');
    live.delete(7);
    world.elapse(1000);
    assert.equal(await refusal(service.login({ code: codeOf(url) }, 'here')), 'UNAUTHENTICATED');
  });

  test('a link leads to an address that a browser can open', () => {
    const { world, access } = new Rig();
    const service = new LoginService(KEY, access, world.clock);
    assert.match(service.link(ADMIN, 'http://0.0.0.0:7420').url, /^http:\/\/127\.0\.0\.1:7420\/ui\/#code=lh_login_/);
    assert.match(service.link(ADMIN, 'http://[::]:7420').url, /^http:\/\/\[::1\]:7420\/ui\//);
    assert.match(service.link(ADMIN, 'https://node.example/').url, /^https:\/\/node\.example\/ui\//);
  });

  test('texts of any length are no proof', async () => {
    const { world, access } = new Rig();
    const service = new LoginService(KEY, access, world.clock);
    const long = 'x'.repeat(1_000_000);
    assert.equal(await refusal(service.login({ token: long }, 'a')), 'UNAUTHENTICATED');
    assert.equal(await refusal(service.login({ code: long }, 'a')), 'UNAUTHENTICATED');
  });
});
