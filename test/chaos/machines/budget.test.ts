import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type App, open } from '../../../src/app/open.ts';
import { scaled } from '../../support/scale.ts';
import { type Child, Nursery, scratch } from '../children.ts';
import { groundOf, type StoreName } from '../ground.ts';
import { until } from '../survivors.ts';

// Hundreds of machines of one run, a thousand at full length, in several processes of which one is killed, draw on a budget that does not suffice for them.

const WORKERS = 3;
/** Calls that a worker may have under way. */
const SLOTS = 8;
/** What a call may cost, and what it costs. */
const DRAWN = 10;
const USED = 7;
/** An attempt in the midst of a fan-out of a thousand is taken back, and everything drains, on a host that is busy. */
const PATIENCE_MS = 240_000;

const CALL = {
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    agents: { caller: { type: 'function' } },
    states: {
      call: {
        type: 'initial',
        agent: 'caller',
        input: { n: '{{ input.n }}' },
        draw: { calls: 1, tokens: DRAWN },
        output_to_context: { n: '{{ output.n }}' },
        transitions: [{ to: 'end' }],
      },
      end: { type: 'final', output: { n: '{{ context.n }}' } },
    },
  },
};
const ALL = {
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    name: 'all',
    machines: { call: CALL },
    states: {
      all: {
        type: 'initial',
        foreach: '{{ input.list }}',
        as: 'n',
        machine: 'call',
        input: { n: '{{ n }}' },
        output_to_context: { got: '{{ output }}' },
        transitions: [{ to: 'end' }],
      },
      end: { type: 'final', output: { got: '{{ context.got }}' } },
    },
  },
};

interface Levels {
  readonly spent: number;
  readonly taken: number;
}

/** Looks at the budget of a run and at what was really done, again and again. */
class BudgetWatch {
  readonly #app: App;
  readonly #root: number;
  readonly #effects: string;
  looks = 0;
  over: string[] = [];

  constructor(app: App, run: string, effects: string) {
    this.#app = app;
    this.#root = app.engine.parseId(run) as number;
    this.#effects = effects;
  }

  calls(): readonly number[] {
    if (!existsSync(this.#effects)) return [];
    return readFileSync(this.#effects, 'utf8').split('\n').slice(0, -1).map(Number);
  }

  /** First the calls that were made: what is drawn only grows after them. */
  async look(): Promise<{ readonly calls: Levels; readonly tokens: Levels; readonly made: number }> {
    const made = this.calls().length;
    const budgets = await this.#app.engine.budgets.get(this.#root);
    this.looks++;
    for (const { unit, hard = 0, spent, taken } of budgets) {
      if (spent > hard || taken > hard || spent > taken) this.over.push(`${unit}: ${spent} spent, ${taken} of ${hard}`);
    }
    const of = (unit: string): Levels => budgets.find((one) => one.unit === unit) ?? { spent: 0, taken: 0 };
    const [calls, tokens] = [of('calls'), of('tokens')];
    if (made > calls.taken) this.over.push(`${made} calls made, ${calls.taken} drawn`);
    return { calls, tokens, made };
  }
}

async function within(isSo: () => Promise<boolean>): Promise<void> {
  assert.notEqual(await until(isSo, PATIENCE_MS), undefined, 'it took too long');
}

async function underOneBudget(t: TestContext, store: StoreName, total: number): Promise<void> {
  const folder = scratch(t, 'budget');
  const { url } = await groundOf(store, folder);
  const effects = join(folder, 'effects');
  const app = await open(url, { leaseMs: 4000 });
  t.after(() => app.close({ drainMs: 0 }));
  const nursery = new Nursery(t);
  const start = (dieIn: number): Child =>
    nursery.start(new URL('./budget-child.ts', import.meta.url), [url, effects, `${dieIn}`]);
  const children = Array.from({ length: WORKERS }, (_, i) => start(i === 0 ? total / 10 : 0));
  await Promise.all(children.map((child) => child.hear('working')));
  const hard = Math.floor(total * 0.6);
  const list = Array.from({ length: total }, (_, i) => i);
  const began = performance.now();
  const run = await app.runs.start({
    machine: ALL,
    input: { list },
    budgets: [
      { unit: 'calls', hard },
      { unit: 'tokens', hard: total * DRAWN * 2 },
    ],
  });
  const watch = new BudgetWatch(app, run.id, effects);
  const killed = children[0] as Child;
  // Until all who did not get a call wait, which takes a lease longer for those of the killed one.
  await within(async () => {
    await watch.look();
    const { running, ready, scheduled, completed } = await app.stats('machines');
    return !killed.alive && running + ready + scheduled === 0 && completed > 0;
  });
  assert.equal(killed.process.signalCode, 'SIGKILL', killed.errors);
  const stalled = performance.now();
  assert.equal((await app.runs.get(run.id))?.state, 'waiting');
  const short = await watch.look();
  assert.deepEqual(watch.over, []);
  assert.equal(short.calls.taken, hard, 'nothing of the budget is held by tasks that do not run');
  assert.equal(short.calls.spent, hard, 'all of it is used before the run waits');
  assert.ok(short.made <= hard && short.made >= hard - SLOTS, `${short.made} calls of ${hard}`);

  // What was under way in the killed worker was paid for, and is called again.
  const raised = total + SLOTS;
  const over = app.handle(run.id).result();
  await app.engine.budgets.set(app.engine.parseId(run.id) as number, { calls: { hard: raised } });
  let ended = false;
  over.then(
    () => void (ended = true),
    () => void (ended = true),
  );
  await within(async () => {
    await watch.look();
    return ended;
  });
  const { got } = (await over) as { readonly got: readonly { readonly n: number }[] };
  assert.deepEqual(
    got.map(({ n }) => n),
    list,
  );
  const last = await watch.look();
  const made = watch.calls();
  assert.deepEqual(watch.over, []);
  assert.equal(new Set(made).size, total, 'each was called');
  assert.ok(made.length <= last.calls.spent && last.calls.spent <= raised, `${made.length} calls, ${last.calls.spent}`);
  assert.equal(last.calls.taken, last.calls.spent);
  // A call that was cut off counts with all that was reserved for it.
  const cut = last.calls.spent - total;
  assert.ok(cut >= 1, 'no call was cut off');
  assert.ok(last.tokens.spent <= total * USED + cut * DRAWN, `${last.tokens.spent} tokens, ${cut} calls were cut off`);
  for (const child of children.slice(1)) child.tell({ word: 'stop' });
  await Promise.all(children.map((child) => child.ended));
  const s = (from: number, to: number): string => `${((to - from) / 1000).toFixed(1)} s`;
  t.diagnostic(
    `${total} machines, ${hard} calls: the run waits after ${s(began, stalled)}, and ends ${s(stalled, performance.now())} after the raise; ${cut} calls cut off, ${made.length - total} made twice, ${watch.looks} looks`,
  );
}

test('machines under one budget never go beyond it, on SQLite, with a worker killed among them', (t) =>
  underOneBudget(t, 'sqlite', scaled(500, 1000)));

test('machines under one budget never go beyond it, on Postgres, with a worker killed among them', (t) =>
  underOneBudget(t, 'postgres', scaled(200, 1000)));
