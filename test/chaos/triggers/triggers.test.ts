import assert from 'node:assert/strict';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, open } from '../../../src/app/open.ts';
import { scaled } from '../../support/scale.ts';
import { Nursery, scratch } from '../children.ts';
import { groundOf, type StoreName } from '../ground.ts';

// Nodes are killed between an event and the push that it asks for, before the commit and after it, and at random: each event, and each file, is acted on once.

/** Each place at least once. */
const ROUNDS = scaled(3, 60);
const EVENTS = 10;
const FILES = 3;
const WHERE = ['before', 'after', 'random'] as const;

async function killed(t: TestContext, store: StoreName): Promise<void> {
  const folder = scratch(t, 'triggers');
  const { url } = await groundOf(store, folder);
  const inbox = join(folder, 'inbox');
  mkdirSync(inbox);
  const app = await open(url as 'sqlite:', { duties: false });
  t.after(() => app.close({ drainMs: 0 }));
  // Without a rate: what is looked at is who acts, not how fast.
  const push = { queue: 'next' };
  await app.triggers.put('added', { kind: 'event', on: 'work_added', queues: ['mail'], push, rate: 60_000 });
  await app.triggers.put('lost', { kind: 'event', on: 'worker_lost', push: { queue: 'losses' }, rate: 60_000 });
  await app.triggers.put('files', { kind: 'file', folder: inbox, push: { queue: 'files' }, rate: 60_000 });
  const nursery = new Nursery(t);
  const start = (where: string) => nursery.start(new URL('./trigger-child.ts', import.meta.url), [url, where, folder]);
  const happen = async (round: number): Promise<void> => {
    await app.engine.pushMany(Array.from({ length: EVENTS }, () => ({ queue: 'mail', handler: 'mail', input: {} })));
    for (let i = 0; i < FILES; i++) {
      writeFileSync(join(folder, 'part'), `${round}/${i}`);
      renameSync(join(folder, 'part'), join(inbox, `${round}-${i}.txt`));
    }
    const silent = { name: `w${round}`, incarnation: `w${round}`, slots: 1, tags: [], staleMs: 10 };
    await app.engine.store.workerRegister(silent);
  };
  let died = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const where = WHERE[round % WHERE.length] as (typeof WHERE)[number];
    // Two at once: one looks after events, and each after files.
    const children = [start(where === 'random' ? 'never' : where), start(where === 'random' ? 'never' : where)];
    await Promise.all(children.map((child) => Promise.race([child.hear('ready').catch(() => {}), child.ended])));
    await happen(round);
    if (where === 'random') {
      await pause(Math.random() * 1500);
      await Promise.all(children.map((child) => child.kill()));
    } else {
      await Promise.race([...children.map(({ ended }) => ended), pause(8000)]);
      died += children.filter(({ alive }) => !alive).length;
      await Promise.all(children.map((child) => child.kill()));
    }
  }
  assert.ok(died >= ROUNDS / 3, `${died} have died in the middle of a firing`);
  const last = start('never');
  await last.hear('ready');
  const wanted = { next: ROUNDS * EVENTS, files: ROUNDS * FILES, losses: ROUNDS };
  await until(app, wanted);
  // Time for one too many.
  await pause(1500);
  await last.kill();
  assert.deepEqual(await acted(app), wanted);
  const about = new Set((await inputs(app, 'next')).map(({ event }) => (event as { task: string }).task));
  assert.equal(about.size, wanted.next, 'each event once');
  const files = new Set((await inputs(app, 'files')).map(({ file }) => (file as { name: string }).name));
  assert.equal(files.size, wanted.files, 'each file once');
  const workers = new Set((await inputs(app, 'losses')).map(({ event }) => (event as { worker: string }).worker));
  assert.equal(workers.size, wanted.losses, 'each loss once');
  assert.deepEqual(
    (await app.triggers.list()).map(({ name, fired }) => [name, fired]),
    [
      ['added', wanted.next],
      ['files', wanted.files],
      ['lost', wanted.losses],
    ],
  );
}

async function acted(app: App): Promise<{ next: number; files: number; losses: number }> {
  const count = async (queue: string): Promise<number> => (await inputs(app, queue)).length;
  return { next: await count('next'), files: await count('files'), losses: await count('losses') };
}

async function inputs(app: App, queue: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const found: Record<string, unknown>[] = [];
  for (let before: number | undefined; ; ) {
    const page = await app.engine.list({ queue, limit: 500, ...(before === undefined ? {} : { before }) });
    found.push(...page.map(({ payload }) => JSON.parse(payload) as Record<string, unknown>));
    before = page.at(-1)?.task;
    if (page.length < 500) return found;
  }
}

async function until(app: App, wanted: { next: number; files: number; losses: number }): Promise<void> {
  const end = performance.now() + 60_000;
  for (;;) {
    const now = await acted(app);
    if (now.next >= wanted.next && now.files >= wanted.files && now.losses >= wanted.losses) return;
    assert.ok(performance.now() < end, `${JSON.stringify(now)} of ${JSON.stringify(wanted)}`);
    await pause(50);
  }
}

for (const store of ['sqlite', 'postgres'] as const) {
  test(`each event is acted on once, however its node is killed (${store})`, { timeout: 900_000 }, (t) =>
    killed(t, store),
  );
}
