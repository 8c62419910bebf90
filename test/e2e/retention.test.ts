/**
 * Runs that take many times as long as finished tasks are kept: of what they need until their end nothing is missing. In real
 * time, by the timers of the product itself; both stores at once.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { open, openNode, task } from '../../src/index.ts';
import { freshDatabase } from '../support/postgres.ts';

/** The least that can be set. */
const RETENTION_MS = 1000;
/** Of each child after the one before: the last ends four retentions after the first. */
const APART_MS = 700;
const CHILDREN = 7;
const LONG = 'x'.repeat(60_000);

const late = task('late', {
  async run(n: number, ctx) {
    if (n > 0) await ctx.wait('nap', { for: n * APART_MS });
    // Together above what a wait remembers of its children: the parent reads them again.
    return { n, text: LONG };
  },
});

/** Sums what its children came to, when the first have long been old. */
const sum = task('sum', {
  async run(count: number, ctx) {
    const first = await ctx.step('first', () => 'remembered');
    const children = await Promise.all(Array.from({ length: count }, (_, n) => ctx.spawn(late, n)));
    const { value } = await ctx.wait('all', { children });
    const again = await ctx.wait<string>('word', { signal: 'kept' });
    const nap = await ctx.wait('and on', { for: 2 * RETENTION_MS });
    return {
      sum: value.reduce((total, { result }) => total + (result?.n ?? Number.NaN), 0),
      lengths: value.map(({ result }) => result?.text.length),
      first,
      word: again.value,
      nap: nap.outcome,
    };
  },
});

const gather = task('gather', {
  async run(_: null, ctx) {
    return (await ctx.dependencies()).map(({ state, result }) => [state, (result as { n: number } | undefined)?.n]);
  },
});

for (const store of ['sqlite', 'postgres'] as const) {
  test(`a run, a graph and a signal outlive a retention of one second on ${store}`, async (t) => {
    const address = await addressOf(store, t);
    const app = await open(address, { retentionMs: RETENTION_MS, duties: false });
    // The housekeeping is here, and removes what it may whenever something happens.
    const node = await openNode(address, { retentionMs: RETENTION_MS });
    const end = new AbortController();
    const pruned = prune(node, end.signal);
    t.after(async () => {
      end.abort();
      await pruned;
      await app.close();
      await node.close();
    });
    const worker = app.worker({ tasks: [late, sum, gather], slots: 4 });
    await worker.start();
    await app.signal('kept', 'early');
    const parent = await app.push(sum, CHILDREN);
    const { c: last } = await app.pushGraph([
      { name: 'a', task: late, input: 0 },
      { name: 'b', task: late, input: CHILDREN - 1 },
      { name: 'c', task: gather, input: null, after: ['a', 'b'] },
    ]);
    assert.deepEqual(await last?.result(), [
      ['completed', 0],
      ['completed', CHILDREN - 1],
    ]);
    assert.deepEqual(await parent.result(), {
      sum: (CHILDREN * (CHILDREN - 1)) / 2,
      lengths: Array.from({ length: CHILDREN }, () => LONG.length),
      first: 'remembered',
      word: 'early',
      nap: 'woken',
    });
  });
}

async function prune(node: Awaited<ReturnType<typeof openNode>>, signal: AbortSignal): Promise<void> {
  for await (const _ of node.engine.events({ signal })) await node.roster.tick('pruner');
}

async function addressOf(store: 'sqlite' | 'postgres', t: TestContext): Promise<string> {
  if (store === 'postgres') return freshDatabase('retention');
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-retention-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return `sqlite:${join(folder, 'work.db')}`;
}
