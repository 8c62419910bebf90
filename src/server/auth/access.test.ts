import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { hashOf, newSecret } from '../../operate/secrets.ts';
import { VirtualWorld } from '../../testing.ts';
import { Access, type Principal, type TokenLookup } from './access.ts';

const ADMIN = newSecret('admin');

/** Tokens in memory, as a store would answer for them. */
class Book implements TokenLookup {
  readonly live = new Map<string, Principal>();
  fails = false;
  finds = 0;
  looks = 0;
  readonly noted: (readonly number[])[] = [];

  add(token: number, name = `token ${token}`): { readonly secret: string; readonly principal: Principal } {
    const secret = newSecret('read');
    const principal: Principal = { role: 'read', name, token };
    this.live.set(hashOf(secret), principal);
    return { secret, principal };
  }

  end(token: number): void {
    for (const [hash, one] of this.live) if (one.token === token) this.live.delete(hash);
  }

  async find(hash: string): Promise<Principal | undefined> {
    this.finds++;
    if (this.fails) throw new Error('the store is away');
    return this.live.get(hash);
  }

  async noteUsed(tokens: readonly number[]): Promise<void> {
    this.noted.push(tokens);
  }

  async alive(tokens: readonly number[]): Promise<readonly boolean[]> {
    this.looks++;
    if (this.fails) throw new Error('the store is away');
    const live = new Set([...this.live.values()].map(({ token }) => token));
    return tokens.map((token) => live.has(token));
  }
}

function scene(): { world: VirtualWorld; book: Book; access: Access } {
  const world = new VirtualWorld();
  const book = new Book();
  return { world, book, access: new Access(ADMIN, book, world) };
}

async function refused(asked: Promise<unknown>): Promise<string> {
  const error = await asked.then(
    () => assert.fail('it was let in'),
    (reason: unknown) => reason,
  );
  assert.ok(isEngineError(error, 'UNAUTHENTICATED'), String(error));
  return JSON.stringify(error);
}

test('the token of the node is the admin, and is looked up nowhere', async () => {
  const { access, book } = scene();
  book.fails = true;
  assert.deepEqual(await access.authenticate(ADMIN), { role: 'admin', name: 'admin', token: undefined });
  assert.equal(book.finds, 0);
});

test('whatever is wrong with a token, the answer is the same', async () => {
  const { access, book, world } = scene();
  const { secret } = book.add(7);
  await access.authenticate(secret);
  book.end(7);
  await world.advance(500);
  const bad = [undefined, '', 'x', ADMIN.slice(0, -1), `${ADMIN}x`, ADMIN.toUpperCase(), hashOf(ADMIN), secret];
  const answers = await Promise.all(bad.map((one) => refused(access.authenticate(one))));
  assert.equal(new Set(answers).size, 1, answers.join('\n'));
});

test('a token that was found is believed for half a second and looked up again after that', async () => {
  const { access, book, world } = scene();
  const { secret, principal } = book.add(7);
  assert.deepEqual(await access.authenticate(secret), principal);
  book.end(7);
  await world.advance(499);
  assert.deepEqual(await access.authenticate(secret), principal);
  assert.equal(book.finds, 1);
  await world.advance(1);
  await refused(access.authenticate(secret));
  assert.equal(book.finds, 2);
});

test('what was not found is asked for again at once, so that a new token is good at once', async () => {
  const { access, book } = scene();
  const { secret, principal } = book.add(7);
  book.end(7);
  await refused(access.authenticate(secret));
  book.live.set(hashOf(secret), principal);
  assert.deepEqual(await access.authenticate(secret), principal);
});

test('a belief counts from when the store was asked, however late it answered', async () => {
  const { access, book, world } = scene();
  const { secret, principal } = book.add(7);
  const answer = Promise.withResolvers<Principal>();
  const find = book.find.bind(book);
  book.find = () => answer.promise;
  const asked = access.authenticate(secret);
  world.elapse(400);
  answer.resolve(principal);
  assert.deepEqual(await asked, principal);
  book.find = find;
  book.end(7);
  world.elapse(100);
  await refused(access.authenticate(secret));
});

test('who lives by a token is ended within half a second of its end, and others are not', async () => {
  const { access, book, world } = scene();
  const ended: string[] = [];
  const [bad, good] = [book.add(7).principal, book.add(8).principal];
  access.onRevoked(bad, () => ended.push('bad, first'));
  access.onRevoked(bad, () => ended.push('bad, second'));
  access.onRevoked(good, () => ended.push('good'));
  access.onRevoked(await access.authenticate(ADMIN), () => ended.push('admin'));
  await world.advance(400);
  book.end(7);
  await world.advance(499);
  assert.deepEqual(ended, ['bad, first', 'bad, second']);
  await world.advance(5000);
  assert.equal(ended.length, 2);
});

test('once a connection was ended for its token, the next request with it is refused', async () => {
  const { access, book, world } = scene();
  const { secret, principal } = book.add(7);
  const ended = Promise.withResolvers<void>();
  access.onRevoked(principal, ended.resolve);
  await world.advance(400);
  await access.authenticate(secret);
  book.end(7);
  await world.advance(100);
  await ended.promise;
  await refused(access.authenticate(secret));
});

test('who comes back under a token that has ended, while its old connection is torn down, is ended too', async () => {
  const { access, book, world } = scene();
  const { principal } = book.add(7);
  const ended: string[] = [];
  const stopFirst = access.onRevoked(principal, () => ended.push('first'));
  book.end(7);
  await world.advance(500);
  const stopSecond = access.onRevoked(principal, () => ended.push('second'));
  stopFirst();
  await world.advance(500);
  assert.deepEqual(ended, ['first', 'second']);
  stopSecond();
  await world.advance(500);
  assert.deepEqual(world.waits, [], 'nobody is watched any more');
});

test('a store that cannot be asked throws nobody out, and says so to who comes', async () => {
  const { access, book, world } = scene();
  const { secret, principal } = book.add(7);
  let ended = false;
  access.onRevoked(principal, () => (ended = true));
  book.fails = true;
  await world.advance(5000);
  assert.ok(book.looks >= 9);
  assert.equal(ended, false);
  await assert.rejects(access.authenticate(secret), /the store is away/);
  book.fails = false;
  book.end(7);
  await world.advance(500);
  assert.equal(ended, true);
});

test('nothing is asked of the store while nobody lives by a token, and nothing after the close', async () => {
  const { access, book, world } = scene();
  const { principal } = book.add(7);
  const stop = access.onRevoked(principal, () => {});
  stop();
  stop();
  await world.advance(5000);
  assert.ok(book.looks <= 1);
  access.onRevoked(principal, () => assert.fail('closed'));
  access.close();
  book.end(7);
  const before = book.looks;
  await world.advance(5000);
  assert.equal(book.looks, before);
  assert.deepEqual(world.waits, []);
});

test('more tokens than are remembered are let in all the same', async () => {
  const { access, book } = scene();
  const secrets = Array.from({ length: 10_050 }, (_, i) => book.add(i + 1).secret);
  for (const secret of secrets) await access.authenticate(secret);
  assert.equal((await access.authenticate(secrets.at(-1))).token, 10_050);
});

test('the use of tokens is noted together, once a minute for each, also of connections that stay open', async () => {
  const { world, book, access } = scene();
  const [one, two] = [book.add(1), book.add(2)];
  for (let i = 0; i < 50; i++) await access.authenticate(one.secret);
  await access.authenticate(two.secret);
  await access.authenticate(ADMIN);
  assert.deepEqual(book.noted, []);
  await world.advance(1000);
  assert.deepEqual(book.noted, [[1, 2]]);
  await world.advance(50_000);
  await access.authenticate(one.secret);
  await world.advance(2000);
  assert.equal(book.noted.length, 1);
  const stop = access.onRevoked(two.principal, () => {});
  await world.advance(10_000);
  await access.authenticate(one.secret);
  await world.advance(2000);
  assert.deepEqual(
    book.noted
      .slice(1)
      .flat()
      .toSorted((a, b) => a - b),
    [1, 2],
  );
  await world.advance(62_000);
  assert.deepEqual(
    book.noted
      .slice(1)
      .flat()
      .filter((id) => id === 2).length,
    2,
  );
  stop();
  access.close();
});

test('a wrong token is noted nowhere', async () => {
  const { world, book, access } = scene();
  await refused(access.authenticate(newSecret('read')));
  await world.advance(5000);
  assert.deepEqual(book.noted, []);
});
