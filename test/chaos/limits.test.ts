import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Client } from 'pg';
import { openNode } from '../../src/app/node.ts';
import { freshDatabase } from '../support/postgres.ts';
import { scaled } from '../support/scale.ts';
import { type Child, Nursery, scratch } from './children.ts';
import { groundOf, type StoreName } from './ground.ts';

const PROCESSES = 8;
const LIMIT = 3;

async function claimers(
  t: TestContext,
  kind: 'naive' | 'engine',
  url: string,
  total: number,
): Promise<readonly Child[]> {
  const nursery = new Nursery(t);
  const children: Child[] = [];
  for (let i = 0; i < PROCESSES; i++) {
    const child = nursery.start(new URL('./limits-child.ts', import.meta.url), [kind, url, `${total}`]);
    await child.hear('ready');
    children.push(child);
  }
  return children;
}

/** Looks again and again, as quickly as it can, until all are done. */
async function watch(
  children: readonly Child[],
  look: () => Promise<number>,
): Promise<{ most: number; looks: number; over: number }> {
  for (const child of children) child.tell({ word: 'go' });
  let running = true;
  const done = Promise.all(children.map((child) => child.hear('done'))).finally(() => {
    running = false;
  });
  const seen = { most: 0, looks: 0, over: 0 };
  while (running) {
    const active = await look();
    // A look at a file is over within its turn, and the children must be heard too.
    await turn();
    seen.looks++;
    seen.most = Math.max(seen.most, active);
    if (active > LIMIT) seen.over++;
  }
  await done;
  await Promise.all(children.map((child) => child.ended));
  return seen;
}

test('a limit that is a count in the claim overshoots on Postgres', { timeout: 120_000 }, async (t) => {
  const url = await freshDatabase('naive');
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  const total = 600;
  await client.query('CREATE TABLE naive (id int PRIMARY KEY, state int NOT NULL)');
  await client.query(`INSERT INTO naive SELECT i, 0 FROM generate_series(1, ${total}) i`);
  const children = await claimers(t, 'naive', url, total);
  const count = async (): Promise<number> =>
    (await client.query<{ n: number }>('SELECT count(*)::int AS n FROM naive WHERE state = 1')).rows[0]?.n ?? 0;
  const seen = await watch(children, count);
  t.diagnostic(`limit ${LIMIT}: ${seen.most} at once, ${seen.over} of ${seen.looks} looks above it`);
  assert.ok(seen.most > LIMIT, 'the count held this time; then this test shows nothing');
});

for (const store of ['postgres', 'sqlite'] satisfies StoreName[]) {
  test(`a limit is never exceeded by eight processes on ${store}, and nothing is left over`, {
    timeout: 400_000,
  }, async (t) => {
    const ground = await groundOf(store, scratch(t, 'limits'));
    const total = scaled(150, 1500);
    const node = await openNode(ground.url);
    t.after(() => node.close());
    const { engine } = node;
    await engine.limits.set('three', { concurrent: LIMIT, perKey: 2 });
    const keys = ['a', 'b', 'c'];
    await engine.pushMany(
      Array.from({ length: total }, (_, i) => ({
        queue: 'limited',
        handler: 'h',
        limits: [{ name: 'three', key: keys[i % 3] as string }],
      })),
    );
    const children = await claimers(t, 'engine', ground.url, total);
    let drift = 0;
    let edits = 0;
    const look = async (): Promise<number> => {
      const { running } = await engine.stats('limited');
      const [, ...byKey] = await engine.limits.use('three');
      for (const { active, key } of byKey) if (active > 2) drift = Math.max(drift, active + key.length);
      // Lowered and raised meanwhile; never above three.
      if (edits < 40) await engine.limits.set('three', { concurrent: 1 + (edits++ % LIMIT), perKey: 2 }, 'the test');
      else if (edits === 40) await engine.limits.set('three', { concurrent: LIMIT, perKey: 2 }, `${edits++}`);
      return running;
    };
    const seen = await watch(children, look);
    t.diagnostic(`limit ${LIMIT}: ${seen.most} at once in ${seen.looks} looks, ${edits} changes of the limit`);
    assert.ok(seen.most <= LIMIT, `${seen.most} ran at once`);
    assert.equal(drift, 0, 'a key had more than its share');
    assert.equal((await engine.stats('limited')).completed, total);
    assert.deepEqual(
      (await engine.limits.use('three')).map(({ active }) => active),
      [0, 0, 0, 0],
    );
  });
}
