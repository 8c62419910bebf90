import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { type Bouncer, type BouncerOptions, findBouncer, startBouncer } from '../../../test/support/pgbouncer.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { postgresContract } from '../../../test/support/postgres-contract.ts';
import { full } from '../../../test/support/scale.ts';
import { realWorld } from '../../app/world.ts';
import { isEngineError } from '../../core/errors.ts';
import { open as openApp, task } from '../../index.ts';
import { storeContract } from '../../testing.ts';
import { parseAddress } from './connect/address.ts';
import { openSession } from './connect/open-session.ts';
import { openPostgres } from './open.ts';

/** At short scale: the topics that use most of what a pooler could break. */
const FEW = ['claim', 'settle', 'unique keys', "the caller's own transaction"];
/** All topics that claim, settle, take keys, fence or share. Topics that a pooler cannot affect are left out. */
const TOPICS = [
  'push',
  'unique keys',
  'operation ids',
  'claim',
  'settle',
  'return',
  'renew',
  'reap',
  'fences',
  'duties',
  'events',
  'triggers',
  'prune',
  "the caller's own transaction",
  'several processes',
];

const world = realWorld();
const url = await freshDatabase('pooler');

if (findBouncer() === undefined) {
  test('behind pgbouncer', { skip: 'pgbouncer is not installed here: apt-get install pgbouncer' }, () => {});
} else {
  const bouncer = await startBouncer(url);
  after(() => bouncer.stop());
  cases(bouncer);
  const topics = full ? TOPICS : FEW;
  storeContract(
    await postgresContract({
      name: 'postgres behind pgbouncer',
      url: `${bouncer.through(url)}&pooler=transaction`,
      direct: url,
      topics,
    }),
  );
}

async function another(t: TestContext, options: BouncerOptions): Promise<Bouncer> {
  const started = await startBouncer(url, options);
  t.after(() => started.stop());
  return started;
}

/** Pushes and runs some tasks through this address. */
async function work(at: string, count = 50): Promise<void> {
  const [pusher, worker] = [await openApp(at), await openApp(at)];
  try {
    const add = task('add', { run: async (n: unknown) => (n as number) + 1 });
    await worker.worker({ tasks: [add], slots: 8 }).start();
    const handles = await Promise.all(
      Array.from({ length: count }, (_, n) => pusher.push(add, n as never, n % 5 === 0 ? { unique: `k${n}` } : {})),
    );
    const results = await Promise.all(handles.map((handle) => handle.result()));
    assert.deepEqual(
      results,
      Array.from({ length: count }, (_, n) => n + 1),
    );
  } finally {
    await pusher.close();
    await worker.close();
  }
}

function cases(bouncer: Bouncer): void {
  test('an app and a worker work behind a pooler in transaction mode that the URL names', async () => {
    await work(`${bouncer.through(url)}&schema=named&pooler=transaction&pool=4`);
  });

  test('a pooler that the URL does not mention is noticed by its refusal of settings', async () => {
    const at = `${bouncer.through(url)}&schema=unnamed&pool=4`;
    const { connection, address } = await openSession(parseAddress(at), world, world.clock.monotonic() + 5000);
    await connection.close();
    assert.deepEqual([address.pooled, address.config.options], [true, undefined]);
    await work(at);
  });

  test('a pooler that swallows our settings is noticed too', async (t) => {
    const tolerant = await another(t, { ignores: ['options'] });
    const at = `${tolerant.through(url)}&schema=tolerant&pool=4`;
    const { connection, address } = await openSession(parseAddress(at), world, world.clock.monotonic() + 5000);
    await connection.close();
    assert.equal(address.pooled, true);
    await work(at);
  });

  test('a server without a pooler is not taken for one', async () => {
    const { connection, address } = await openSession(parseAddress(url), world, world.clock.monotonic() + 5000);
    await connection.close();
    assert.deepEqual([address.pooled, address.asked], [false, false]);
  });

  test('who says that there is none hears what to say instead, or is right where it swallows settings', async (t) => {
    const at = `${bouncer.through(url)}&schema=wrong&pooler=none`;
    const error = await openPostgres({ url: at, world }).then(
      () => assert.fail('it was opened'),
      (caught: unknown) => caught,
    );
    assert.ok(isEngineError(error, 'STORE_UNAVAILABLE'));
    assert.match(`${error.message} ${error.hint}`, /unsupported startup parameter.*pooler=transaction/);
    // Named statements reach the wrong session, which is detected. Each is repeated without its name.
    const tolerant = await another(t, { ignores: ['options'], size: 2 });
    await work(`${tolerant.through(url)}&schema=mistaken&pooler=none&pool=6`, 100);
  });

  test('a pooler in session mode works as well', async (t) => {
    const session = await another(t, { mode: 'session', size: 30, ignores: ['options'] });
    await work(`${session.through(url)}&schema=session&pool=4`);
    await work(`${session.through(url)}&schema=session&pool=4&pooler=none`);
  });

  test('settings that guard others from a stopped process come with each transaction', async () => {
    const store = await openPostgres({ url: `${bouncer.through(url)}&schema=guard&pooler=transaction`, world });
    await store.close();
    const { Database } = await import('./connect/database.ts');
    const { statements } = await import('./statements.ts');
    const address = parseAddress(`${bouncer.through(url)}&schema=guard&pooler=transaction`);
    const texts = statements(address.schema);
    const db = new Database({ ...address, texts, world, size: 1, deadlineMs: 5000 });
    const sql = `SELECT current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('lock_timeout') AS lock`;
    const read = (inside: boolean) => db[inside ? 'transaction' : 'run']((session) => session.raw(sql));
    assert.deepEqual(await read(true), [{ idle: '2s', lock: '4s' }]);
    assert.deepEqual(await read(false), [{ idle: '0', lock: '0' }], 'and go with it');
    await db.close();
  });
}
