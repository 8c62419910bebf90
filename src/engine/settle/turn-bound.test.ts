import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_JOURNAL_BYTES, MAX_JOURNAL_ENTRIES } from '../../core/task/journal-bound.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { EntryRequest } from './turn-request.ts';

/** The code of its refusal; undefined: it was not refused. */
const codeOf = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    (error: { readonly code: string }) => error.code,
  );

async function rig(t: { after: (end: () => unknown) => void }) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  await engine.push({ queue: 'q', handler: 'h' });
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.ok(grant);
  return { engine, grant, other: new Engine({ store, world }) };
}

test('the checkpoints of a task have a bound in bytes, over all its attempts and processes', async (t) => {
  const { engine, other, grant } = await rig(t);
  const value = 'x'.repeat(512 * 1024 - 10);
  const answers: (string | undefined)[] = [];
  for (let i = 0; i < 24; i++) {
    answers.push(await codeOf((i % 2 ? engine : other).turn(grant, { entries: [{ key: `k${i}`, value }] })));
  }
  assert.equal(answers.filter((answer) => answer === undefined).length, MAX_JOURNAL_BYTES / (512 * 1024));
  assert.equal(answers.at(-1), 'TOO_LARGE');
  assert.equal(
    await codeOf(engine.turn(grant, { then: { go: 'complete', result: 1 } })),
    undefined,
    'it can still end',
  );
});

test('the checkpoints of a task have a bound in number', async (t) => {
  const { engine, grant } = await rig(t);
  const entries = (from: number): EntryRequest[] =>
    Array.from({ length: 1000 }, (_, i) => ({ key: `${from + i}`, value: 1 }));
  for (let at = 0; at < MAX_JOURNAL_ENTRIES; at += 1000) await engine.turn(grant, { entries: entries(at) });
  assert.equal(await codeOf(engine.turn(grant, { entries: [{ key: 'more', value: 1 }] })), 'TOO_LARGE');
});

test('a task with few checkpoints costs no look at its journal', async (t) => {
  const { engine, grant } = await rig(t);
  let looks = 0;
  const { store } = engine;
  const journalSize = store.journalSize.bind(store);
  Object.assign(store, {
    journalSize: (params: { task: number }) => {
      looks++;
      return journalSize(params);
    },
  });
  for (let i = 0; i < 100; i++) await engine.turn(grant, { entries: [{ key: `${i}`, value: 'x'.repeat(1000) }] });
  assert.equal(looks, 0);
});
