import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, open } from '../../../src/app/open.ts';
import { workflow } from '../../../src/worker/workflow/workflow.ts';
import { scaled } from '../../support/scale.ts';
import { type Child, Nursery, scratch } from '../children.ts';
import { groundOf, type StoreName } from '../ground.ts';

// Workflows in code that wait for a decision are rows: a worker with thousands of them keeps and does no more than one with a few, whether it has seen them begin or not.

const FEW = 50;
/** Of those that wait, how many are decided. */
const DECIDED = 20;
const ask = workflow('ask', async (n: number): Promise<unknown> => n);

interface Look {
  /** MiB that are alive after a collection. */
  readonly heap: number;
  readonly cpuMs: number;
}

async function waiting(t: TestContext, store: StoreName, count: number): Promise<void> {
  const { url } = await groundOf(store, scratch(t, 'waiting'));
  const app = await open(url as 'sqlite:');
  t.after(() => app.close({ drainMs: 0 }));
  const nursery = new Nursery(t);
  const work = async (): Promise<Child> => {
    const child = nursery.start(new URL('./waiting-child.ts', import.meta.url), [url]);
    await child.hear('working');
    return child;
  };
  const begin = (from: number, to: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: to - from }, (_, i) => app.run(ask, from + i, { executionId: `run/${from + i}` })),
    );

  const first = await work();
  await begin(0, FEW);
  await until(app, { waiting: FEW });
  const few = await look(first, 'few');
  await begin(FEW, count);
  await until(app, { waiting: count });
  const many = await look(first, 'many');
  await first.kill();
  const second = await work();
  const restarted = await look(second, 'restarted');
  for (const [when, now] of Object.entries({ many, restarted })) {
    const told = `${JSON.stringify(now)} with ${count}, ${when}; ${JSON.stringify(few)} with ${FEW}`;
    // A workflow that is kept in memory is some ten thousand bytes.
    assert.ok(now.heap - few.heap < 5, `the heap grew: ${told}`);
    assert.ok(now.cpuMs < 2 * few.cpuMs + 100, `it works: ${told}`);
  }
  assert.equal((await app.stats('ask')).running, 0);

  const some = (await app.approvals({ limit: DECIDED })).map(({ id }) => id);
  assert.equal(some.length, DECIDED);
  await Promise.all(some.map((id) => app.decide(id, { action: 'approve' })));
  for (const id of some) {
    const { action, word } = (await app.handle(id).result()) as { readonly action: string; readonly word: string };
    assert.equal(action, 'approve');
    assert.match(word, /^for \d+$/);
  }
  await until(app, { waiting: count - DECIDED, completed: DECIDED });
  t.diagnostic(`${count} runs: ${JSON.stringify({ few, many, restarted })}`);
}

async function look(child: Child, word: string): Promise<Look> {
  child.tell({ word });
  return (await child.hear(word)) as unknown as Look;
}

/** Until the queue has these tasks and no others. A busy host may take long, but something comes of it. */
async function until(app: App, wanted: Readonly<Record<string, number>>): Promise<void> {
  const whole = { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0, ...wanted };
  let last = '';
  for (let changed = performance.now(); performance.now() - changed < 60_000; await pause(50)) {
    const stats: Readonly<Record<string, number>> = { ...(await app.stats('ask')) };
    if (Object.entries(whole).every(([state, n]) => stats[state] === n)) return;
    if (JSON.stringify(stats) !== last) changed = performance.now();
    last = JSON.stringify(stats);
  }
  assert.fail(`it never came to ${JSON.stringify(wanted)}, but to ${last}`);
}

test('thousands of workflows in code that wait for a decision cost rows only, through the death of their worker', (t) =>
  waiting(t, 'sqlite', scaled(600, 10_000)));

test('workflows in code that wait for a decision cost rows only, on Postgres as well', (t) =>
  waiting(t, 'postgres', scaled(300, 10_000)));
