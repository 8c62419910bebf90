/** Operators who edit the same worker and the same limit at once, through real nodes: nothing that anybody said is lost. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../src/app/store-url.ts';
import { realWorld } from '../../src/app/world.ts';
import type { Limit } from '../../src/core/limits/limit.ts';
import type { LimitChange } from '../../src/store/store.ts';
import { CLUSTER_SECRET, run, temporaryFolder } from '../support/leasehold.ts';
import { freshDatabase } from '../support/postgres.ts';
import { scaled } from '../support/scale.ts';
import { ask, reply, TOKEN } from './faces/cluster-scene.ts';

/** Of tags, and as many of the limit; what is read of its history ends at 1,000. */
const EDITS = scaled(200, 900);
/** Calls that one operator has under way. */
const HANDS = 12;
const WORKER = '/api/v1/workers/box';
const LIMIT = '/api/v1/limits/api';

interface Place {
  readonly store: string;
  readonly folder: string;
  /** Of its nodes. */
  readonly addresses: readonly string[];
}

interface Scene extends Place {
  readonly t: TestContext;
}

async function place(t: TestContext, kind: 'sqlite' | 'postgres', nodes: number): Promise<Scene> {
  const folder = temporaryFolder(t);
  const store = kind === 'sqlite' ? `sqlite:${join(folder, 'store.db')}` : `${await freshDatabase('edits')}&pool=3`;
  const addresses: string[] = [];
  for (const name of ['a', 'b'].slice(0, nodes)) {
    const cwd = join(folder, name);
    mkdirSync(cwd);
    const args = ['up', '--json', '--port', '0', '--name', name, '--store', store, '--no-worker'];
    addresses.push(
      await run(t, args, { cwd, env: { LEASEHOLD_TOKEN: TOKEN, LEASEHOLD_CLUSTER_SECRET: CLUSTER_SECRET } }).address(),
    );
  }
  return { t, store, folder, addresses };
}

const patch = <T>(address: string, path: string, body: object): Promise<T> => ask(address, path, body, 'PATCH');

/** So many things by one operator, some at a time and in no order, each through the next node. */
async function operate(
  { addresses }: Place,
  count: number,
  act: (n: number, address: string) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const hand = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await act(n, addresses[n % addresses.length] as string);
  };
  await Promise.all(Array.from({ length: HANDS }, hand));
}

async function history({ store }: Place): Promise<readonly LimitChange[]> {
  const opened = await openStore(store, { world: realWorld(), housekeeping: false });
  try {
    return await opened.limitHistory({ name: 'api', limit: 1000 });
  } finally {
    await opened.close();
  }
}

/** Each of two operators gives half of the tags and takes half of the old ones away; a third switches and ranks the worker. */
async function tagAll(scene: Scene): Promise<void> {
  const [address] = scene.addresses as [string];
  const old = Array.from({ length: EDITS }, (_, n) => `old${n}`);
  for (let at = 0; at < EDITS; at += 100) await patch(address, WORKER, { addTags: old.slice(at, at + 100) });
  const operator = (half: number): Promise<void> =>
    operate(scene, EDITS / 2, (i, at) => {
      const n = 2 * i + half;
      return patch(at, WORKER, { addTags: [`new${n}`], ...(i % 2 === 0 ? { removeTags: [`old${n}`] } : {}) });
    });
  await Promise.all([
    operator(0),
    operator(1),
    operate(scene, 10, (n, at) => patch(at, WORKER, n % 2 === 0 ? { enabled: false } : { priority: 7 })),
  ]);
  const { tags, enabled, priority } = await ask<{ tags: string[]; enabled: boolean; priority: number }>(
    address,
    WORKER,
  );
  const kept = old.filter((_, n) => Math.floor(n / 2) % 2 === 1);
  assert.deepEqual(tags.toSorted(), [...kept, ...old.map((_, n) => `new${n}`)].sort());
  assert.deepEqual([enabled, priority], [false, 7]);
}

/** What the nth edit says, and what it must make of the limit before it. Each value comes once. */
function editOf(n: number): { readonly body: object; readonly makes: (before: Limit) => object } {
  const value = 1000 + n;
  if (n % 3 === 0) return { body: { concurrent: value }, makes: (before) => ({ ...before, concurrent: value }) };
  if (n % 3 === 1) return { body: { backlog: value }, makes: (before) => ({ ...before, backlog: value }) };
  const rate = { max: 1_000_000, windowMs: 60_000, burst: value, perKey: false };
  return { body: { rate: { burst: value } }, makes: (before) => ({ ...before, rate }) };
}

/** Two operators change three bounds, each of them by itself. */
async function limitAll(scene: Scene): Promise<void> {
  const [address] = scene.addresses as [string];
  const rate = { max: 1_000_000, window: '1m' };
  await ask(address, '/api/v1/limits', { name: 'api', concurrent: 1, perKey: 3, strategy: 'refuse', rate });
  const answers = new Map<number, { readonly revision: number; readonly before: { readonly revision: number } }>();
  const operator = (half: number): Promise<void> =>
    operate(scene, EDITS / 2, async (i, at) => {
      const n = 2 * i + half;
      answers.set(n, await patch(at, LIMIT, editOf(n).body));
    });
  await Promise.all([operator(0), operator(1)]);
  const rows = (await history(scene)).toReversed();
  assert.equal(rows.length, 1 + EDITS);
  for (const [n, { revision, before }] of answers) {
    assert.equal(before.revision, revision - 1);
    const [was, is] = rows.slice(revision - 2, revision);
    assert.deepEqual(is?.limit, editOf(n).makes(was?.limit as Limit));
  }
  const last = await ask<{ revision: number; perKey: number; strategy: string }>(address, LIMIT);
  assert.deepEqual([last.revision, last.perKey, last.strategy], [1 + EDITS, 3, 'refuse']);
}

/** As often as two send a form that both have read, one of them is told that it came too late. */
async function formsMeet(scene: Scene): Promise<void> {
  const [first, second = first] = scene.addresses as [string, string?];
  for (let n = 0; n < 10; n++) {
    const { revision } = await ask<{ revision: number }>(first, LIMIT);
    const forms = [first, second].map((address, i) =>
      reply(address, LIMIT, { perKey: 100 + 2 * n + i, concurrent: 5, ifRevision: revision }, 'PATCH'),
    );
    const statuses = new Set((await Promise.all(forms)).map(({ status }) => status));
    assert.deepEqual(statuses, new Set([200, 409]));
  }
  assert.equal((await history(scene)).length, 1 + EDITS + 10);
}

/** Of several who make the same worker, or the same token, one does; nothing that the others said of the worker stays. */
async function madeOnce(scene: Scene): Promise<void> {
  const [address] = scene.addresses as [string];
  const made = new Map<string, number[]>([
    ['/api/v1/workers', []],
    ['/api/v1/tokens', []],
  ]);
  await operate(scene, 16, async (n, at) => {
    const [path, body] =
      n % 4 < 2
        ? ['/api/v1/workers', { name: 'one', tags: [`by${n}`], priority: n }]
        : ['/api/v1/tokens', { name: 'one', role: 'read' }];
    const { status } = await reply(at, path as string, body as object);
    if (status === 201) made.get(path as string)?.push(n);
    else assert.equal(status, 409);
  });
  assert.deepEqual(
    [...made.values()].map((winners) => winners.length),
    [1, 1],
  );
  const winner = made.get('/api/v1/workers')?.[0];
  const { tags, priority } = await ask<{ tags: string[]; priority: number }>(address, '/api/v1/workers/one');
  assert.deepEqual([tags, priority], [[`by${winner}`], winner]);
}

/** Commands beside each other, straight on the store and through a node. */
async function commandsToo({ t, store, folder, addresses }: Scene): Promise<void> {
  const [address] = addresses as [string];
  const reaches = [
    ['--store', store],
    ['--server', address, '--token', TOKEN],
  ];
  const outcomes = reaches.flatMap((reach, i) => {
    const tag = run(t, ['workers', 'tag', 'crate', '--add', `by${i}`, ...reach], { cwd: folder });
    const bound = i === 0 ? ['--concurrent', '7'] : ['--per-key', '8'];
    const limit = run(t, ['limits', 'set', 'fresh', ...bound, ...reach], { cwd: folder });
    return [tag, limit].map(async (command) => [await command.ended, command.stderr] as const);
  });
  for (const [{ code }, said] of await Promise.all(outcomes)) assert.equal(code, 0, said);
  const { tags } = await ask<{ tags: string[] }>(address, '/api/v1/workers/crate');
  assert.deepEqual(tags.toSorted(), ['by0', 'by1']);
  const limit = await ask<{ concurrent: number; perKey: number; revision: number }>(address, '/api/v1/limits/fresh');
  assert.deepEqual([limit.concurrent, limit.perKey, limit.revision], [7, 8, 2]);
}

for (const kind of ['sqlite', 'postgres'] as const) {
  for (const nodes of [1, 2]) {
    test(`nothing is lost of what operators say at once, on ${kind} through ${nodes === 1 ? 'a node' : 'two nodes'}`, async (t) => {
      const scene = await place(t, kind, nodes);
      await Promise.all([tagAll(scene), limitAll(scene)]);
      await formsMeet(scene);
      await madeOnce(scene);
      if (nodes === 2) await commandsToo(scene);
    });
  }
}
