/** Codes, cookies and guessing, on a clock that is turned by hand. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openNode } from '../../app/node.ts';
import { isEngineError } from '../../core/errors.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { hashOf } from '../../operate/secrets.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import type { Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Access, type Principal } from '../auth/access.ts';
import { TokenService } from '../auth/token-service.ts';
import { BrowserSessions, SESSION_MS } from './browser-sessions.ts';
import { COOKIE, cookieOf, setCookie } from './cookie.ts';
import { FailedLogins } from './failed-logins.ts';
import { CODE_MS, LoginCodes } from './login-codes.ts';
import { LoginService } from './login-service.ts';

const ADMIN: Principal = { role: 'admin', name: 'admin', token: undefined };
const SECRET = 'the secret of the cluster';

let stores = 0;

/** A node of a cluster with one token, of Anna; another node is on the same store. */
class Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly anna: Principal & { readonly token: number };
  readonly access: Access;
  readonly sessions: BrowserSessions;

  private constructor(node: Pick<Rig, 'world' | 'store' | 'anna'>, admin: string, secret: string) {
    ({ world: this.world, store: this.store, anna: this.anna } = node);
    const { store, world } = node;
    const access = new Access(admin, new TokenService(store), world);
    this.access = access;
    const adminKey = new ClusterSecret(secret, store.clusterKey).key('admin token');
    this.sessions = new BrowserSessions({ store, access, adminKey, world });
  }

  static async open(t: TestContext): Promise<Rig> {
    const world = new VirtualWorld();
    const node = await openNode(`memory:browsers-${++stores}`, { world, duties: false, housekeeping: false });
    t.after(() => node.close());
    const { store } = node.engine;
    const { id } = await store.tokenAdd({
      token: { kind: 'bearer', role: 'operator', name: 'anna', hash: hashOf('anna'), prefix: '', by: '' },
    });
    return new Rig({ world, store, anna: { role: 'operator', name: 'anna', token: id } }, 'an-admin-token', SECRET);
  }

  other(admin = 'an-admin-token', secret = SECRET): Rig {
    return new Rig(this, admin, secret);
  }

  get logins(): LoginService {
    return new LoginService(this.sessions, this.access, this.world.clock);
  }
}

describe('codes of login links', () => {
  const ANNA: Principal = { role: 'operator', name: 'anna', token: 7 };

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
  test('a cookie names who it was given to, at every node of the cluster', async (t) => {
    const one = await Rig.open(t);
    const other = one.other();
    const { until, session, ...principal } = await other.sessions.read(await one.sessions.begin(one.anna));
    assert.deepEqual(principal, one.anna);
    assert.equal(until, Math.floor(one.world.clock.wall() + SESSION_MS));
    assert.ok(session !== undefined);
    assert.equal((await other.sessions.read(await one.sessions.begin(ADMIN))).role, 'admin');
  });

  test('a session is over after twelve hours, however often it is used', async (t) => {
    const { world, sessions } = await Rig.open(t);
    const cookie = await sessions.begin(ADMIN);
    for (let hour = 1; hour < 12; hour++) {
      world.elapse(SESSION_MS / 12);
      await sessions.read(cookie);
    }
    world.elapse(SESSION_MS / 12 - 100);
    await sessions.read(cookie);
    world.elapse(100);
    assert.equal(await refusal(sessions.read(cookie)), 'UNAUTHENTICATED', 'also one that was looked up a moment ago');
  });

  test('a session renews itself by no login link: what it lets in ends when it does, and nobody comes in once it is ended', async (t) => {
    for (const admin of [true, false]) {
      const rig = await Rig.open(t);
      const { world, sessions, logins } = rig;
      const cookie = await sessions.begin(admin ? ADMIN : rig.anna);
      const codeOf = async (): Promise<string> =>
        logins.link(await sessions.read(cookie), '').url.split('#code=')[1] as string;
      world.elapse(SESSION_MS - CODE_MS / 2);
      const second = (await logins.login({ code: await codeOf() }, 'here')).cookie;
      assert.equal((await sessions.read(second)).until, (await sessions.read(cookie)).until);
      const code = await codeOf();
      await sessions.end(cookie);
      assert.equal(await refusal(logins.login({ code }, 'here')), 'UNAUTHENTICATED');
      await sessions.read(second);
      world.elapse(CODE_MS / 2);
      assert.equal(await refusal(sessions.read(second)), 'UNAUTHENTICATED');
    }
  });

  test('a session ends with the token that it was begun with, and none begins with one that has ended', async (t) => {
    const { world, store, sessions, anna } = await Rig.open(t);
    const cookie = await sessions.begin(anna);
    await sessions.read(cookie);
    await store.tokenRevoke({ id: anna.token });
    world.elapse(1000);
    assert.equal(await refusal(sessions.read(cookie)), 'UNAUTHENTICATED');
    assert.equal(await refusal(sessions.begin(anna)), 'UNAUTHENTICATED');
  });

  test('one that was begun with the admin token ends when that is another, or the secret of the cluster', async (t) => {
    const rig = await Rig.open(t);
    const cookie = await rig.sessions.begin(ADMIN);
    await rig.other().sessions.read(cookie);
    for (const other of [rig.other('another-admin-token'), rig.other(undefined, 'another secret')])
      assert.equal(await refusal(other.sessions.read(cookie)), 'UNAUTHENTICATED');
  });

  test('a cookie is 256 random bits, and no other text is one', async (t) => {
    const { sessions, anna } = await Rig.open(t);
    const cookie = await sessions.begin(anna);
    assert.match(cookie, /^lh_ses_[\w-]{43}$/);
    assert.notEqual(await sessions.begin(anna), cookie);
    const bad = ['', '.', cookie.slice(1), `${cookie}=`, `${cookie} `, cookie.toUpperCase(), hashOf(cookie)];
    for (const one of bad) assert.equal(await refusal(sessions.read(one)), 'UNAUTHENTICATED', one);
  });

  test('a session that was ended is over here at once, elsewhere within a second, and others go on', async (t) => {
    const here = await Rig.open(t);
    const there = here.other();
    const [one, two] = [await here.sessions.begin(ADMIN), await here.sessions.begin(ADMIN)];
    for (const cookie of [one, two]) await there.sessions.read(cookie);
    await here.sessions.end(one);
    assert.equal(await refusal(here.sessions.read(one)), 'UNAUTHENTICATED');
    here.world.elapse(999);
    assert.equal(await refusal(there.sessions.read(one)), 'UNAUTHENTICATED');
    await there.sessions.read(two);
  });

  test('connections of a session end with it, at every node', async (t) => {
    const here = await Rig.open(t);
    const there = here.other();
    const cookies = [await here.sessions.begin(ADMIN), await here.sessions.begin(ADMIN)] as const;
    const ended: number[] = [];
    for (const [i, cookie] of cookies.entries())
      there.sessions.onEnded(await there.sessions.read(cookie), () => ended.push(i));
    there.sessions.onEnded(ADMIN, () => ended.push(9));
    await here.sessions.end(cookies[0]);
    await here.world.advance(1000);
    assert.deepEqual(ended, [0]);
    there.sessions.close();
  });

  test('a page asks the store at most twice a second who it is', async (t) => {
    const { world, store, access, sessions } = await Rig.open(t);
    const cookie = await sessions.begin(ADMIN);
    let asked = 0;
    const counting: Store = Object.create(store, {
      browserSessionFind: { value: (params: { hash: string }) => (asked++, store.browserSessionFind(params)) },
    });
    const adminKey = new ClusterSecret(SECRET, store.clusterKey).key('admin token');
    const counted = new BrowserSessions({ store: counting, access, adminKey, world });
    for (let i = 0; i < 40; i++) {
      await counted.read(cookie);
      world.elapse(50);
    }
    assert.equal(asked, 4);
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

  test('a login that fails counts, one that succeeds does not, and too many wrong guesses keep nobody out', async (t) => {
    const service = (await Rig.open(t)).logins;
    for (let i = 0; i < 9; i++)
      assert.equal(await refusal(service.login({ token: 'wrong' }, 'here')), 'UNAUTHENTICATED');
    for (let i = 0; i < 20; i++) await service.login({ token: 'an-admin-token' }, 'here');
    assert.equal(await refusal(service.login({ code: 'wrong' }, 'here')), 'UNAUTHENTICATED');
    assert.equal(await refusal(service.login({ token: 'wrong' }, 'here')), 'TOO_MANY');
    for (const where of ['here', 'elsewhere']) await service.login({ token: 'an-admin-token' }, where);
  });

  test('a code of a token that has ended since lets nobody in', async (t) => {
    const { world, store, logins: service, anna: ANNA } = await Rig.open(t);
    const codeOf = (url: string): string => url.split('#code=')[1] ?? '';
    const { cookie } = await service.login({ code: codeOf(service.link(ANNA, 'http://x').url) }, 'here');
    assert.equal((await service.sessions.read(cookie)).name, 'anna');
    const { url } = service.link(ANNA, 'http://x');
    await store.tokenRevoke({ id: ANNA.token });
    world.elapse(1000);
    assert.equal(await refusal(service.login({ code: codeOf(url) }, 'here')), 'UNAUTHENTICATED');
  });

  test('a link leads to an address that a browser can open', async (t) => {
    const service = (await Rig.open(t)).logins;
    assert.match(service.link(ADMIN, 'http://0.0.0.0:7420').url, /^http:\/\/127\.0\.0\.1:7420\/ui\/#code=lh_login_/);
    assert.match(service.link(ADMIN, 'http://[::]:7420').url, /^http:\/\/\[::1\]:7420\/ui\//);
    assert.match(service.link(ADMIN, 'https://node.example/').url, /^https:\/\/node\.example\/ui\//);
  });

  test('texts of any length are no proof', async (t) => {
    const service = (await Rig.open(t)).logins;
    const long = 'x'.repeat(1_000_000);
    assert.equal(await refusal(service.login({ token: long }, 'a')), 'UNAUTHENTICATED');
    assert.equal(await refusal(service.login({ code: long }, 'a')), 'UNAUTHENTICATED');
  });
});
