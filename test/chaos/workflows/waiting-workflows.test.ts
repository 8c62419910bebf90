import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, open } from '../../../src/app/open.ts';
import { workflow as graph } from '../../../src/flow/graph/test-graphs.ts';
import { workflow } from '../../../src/worker/workflow/workflow.ts';
import { scaled } from '../../support/scale.ts';
import { type Child, Nursery, scratch } from '../children.ts';
import { groundOf, type StoreName } from '../ground.ts';

// Workflows that wait for a decision are rows: a worker with thousands of them keeps and does no more than one with a few, whether it has seen them begin or not.

const FEW = 50;
/** Of those that wait, how many are decided. */
const DECIDED = 20;
const ask = workflow('ask', async (n: number): Promise<unknown> => n);

interface Decided {
  readonly action: string;
  readonly word: string;
}

interface Kind {
  /** Where its tasks are: one in each for each run. */
  readonly queues: readonly string[];
  readonly begin: (app: App, n: number) => Promise<unknown>;
  /** Of the task that waits for the decision. */
  readonly result: (app: App, id: string) => Promise<unknown>;
}

const KINDS: Readonly<Record<'workflows in code' | 'graphs', Kind>> = {
  'workflows in code': {
    queues: ['ask'],
    begin: (app, n) => app.run(ask, n, { executionId: `run/${n}` }),
    result: (app, id) => app.handle(id).result(),
  },
  graphs: {
    queues: ['graphs', 'gate'],
    begin: (app, n) => app.runs.start({ graph: gateOf(n), name: `run/${n}` }),
    result: async (app, id) => {
      const { runId = id } = (await app.get(id)) ?? {};
      const { gate } = (await app.handle(runId).result()) as { readonly gate: readonly { readonly gate: unknown }[] };
      return gate[0]?.gate;
    },
  },
};

function gateOf(n: number): object {
  return graph({ start: { typeId: 'core/start' }, gate: { typeId: 'gate', queue: 'gate', data: { n } } }, [
    'start>gate',
  ]);
}

type Counts = Readonly<Record<string, number>>;

interface Look {
  /** MiB that are alive after a collection. */
  readonly heap: number;
  readonly cpuMs: number;
}

async function waiting(t: TestContext, kind: keyof typeof KINDS, store: StoreName, count: number): Promise<void> {
  const { queues, begin: beginOne, result } = KINDS[kind];
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
    Promise.all(Array.from({ length: to - from }, (_, i) => beginOne(app, from + i)));

  const first = await work();
  await begin(0, FEW);
  await until(app, queues, { waiting: FEW });
  const few = await look(first, 'few');
  await begin(FEW, count);
  await until(app, queues, { waiting: count });
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
  for (const queue of queues) assert.equal((await app.stats(queue)).running, 0);

  const some = (await app.approvals({ limit: DECIDED })).map(({ id }) => id);
  assert.equal(some.length, DECIDED);
  await Promise.all(some.map((id) => app.decide(id, { action: 'approve' })));
  for (const id of some) {
    const { action, word } = (await result(app, id)) as Decided;
    assert.equal(action, 'approve');
    assert.match(word, /^for \d+$/);
  }
  await until(app, queues, { waiting: count - DECIDED, completed: DECIDED });
  t.diagnostic(`${count} runs: ${JSON.stringify({ few, many, restarted })}`);
}

async function look(child: Child, word: string): Promise<Look> {
  child.tell({ word });
  return (await child.hear(word)) as unknown as Look;
}

/** Until each of the queues has these tasks and no others. A busy host may take long, but something comes of it. */
async function until(app: App, queues: readonly string[], wanted: Counts): Promise<void> {
  const whole = { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0, ...wanted };
  let last = '';
  for (let changed = performance.now(); performance.now() - changed < 60_000; await pause(50)) {
    const stats = (await Promise.all(queues.map((queue) => app.stats(queue)))) as unknown as readonly Counts[];
    if (stats.every((one) => Object.entries(whole).every(([state, n]) => one[state] === n))) return;
    if (JSON.stringify(stats) !== last) changed = performance.now();
    last = JSON.stringify(stats);
  }
  assert.fail(`it never came to ${JSON.stringify(wanted)}, but to ${last}`);
}

for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
  test(`thousands of ${kind} that wait for a decision cost rows only, through the death of their worker`, (t) =>
    waiting(t, kind, 'sqlite', scaled(600, 10_000)));

  test(`${kind} that wait for a decision cost rows only, on Postgres as well`, (t) =>
    waiting(t, kind, 'postgres', scaled(150, 10_000)));
}
