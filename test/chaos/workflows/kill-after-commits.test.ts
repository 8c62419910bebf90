import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { WorkflowHandle } from '../../../src/app/library/leasehold.ts';
import { type App, open } from '../../../src/app/open.ts';
import { workflow } from '../../../src/worker/workflow/workflow.ts';
import { full, longer, scaled } from '../../support/scale.ts';
import { Nursery, scratch } from '../children.ts';
import { groundOf } from '../ground.ts';
import { joining } from '../joining.ts';

// A workflow whose worker is killed after each commit in turn. Another one ends it as if nothing had happened.

const WAYS = ['sqlite', 'postgres', 'joined'] as const;

interface Subject {
  readonly input: unknown;
  readonly gives: unknown;
  readonly effects: readonly string[];
  /** Gives the run what it waits for. */
  readonly help: (app: App, run: WorkflowHandle) => Promise<void>;
}

/** By their handlers: the workflow of the child, and the example. Who starts a run need not have its code. */
const SUBJECTS: Readonly<Record<string, Subject>> = {
  flow: {
    input: null,
    gives: { doubled: [2, 4, 6], word: 'go', tried: 'broken', end: 'end' },
    effects: ['begin', 'doubled', 'end'],
    help: (_, run) => run.signal('word', 'go').then(() => {}),
  },
  'order@1': {
    input: { items: ['lamp', 'desk'] },
    gives: { paid: true, total: 80 },
    effects: ['charged 80 in try 3', 'reserved under step:reserve#0'],
    help: async (app, { id }) => {
      while ((await app.approvals()).length === 0) await pause(20);
      await app.decide(id, { action: 'approve' });
    },
  },
};

interface Ending {
  readonly output: unknown;
  readonly effects: readonly string[];
  readonly commits: number;
}

for (const [way, handler] of WAYS.flatMap((one) => Object.keys(SUBJECTS).map((name) => [one, name] as const))) {
  // What a node between adds is the same for both.
  if (way === 'joined' && handler !== 'flow' && !longer) continue;
  test(`the workflow ${handler} ends alike, ${way}, whichever commit its worker dies after`, async (t) => {
    const { gives, effects: once } = SUBJECTS[handler] as Subject;
    const { commits, ...undisturbed } = await runOnce(t, way, handler, 0);
    assert.deepEqual(undisturbed, { output: gives, effects: once });
    assert.ok(commits > 3);
    const most = full ? commits : scaled(1, 6);
    const each = Array.from({ length: commits }, (_, i) => i + 1);
    const chosen = each.filter((at) => (at + way.length + handler.length) % Math.ceil(commits / most) === 0);
    for (const at of chosen) {
      const { output, effects } = await runOnce(t, way, handler, at);
      assert.deepEqual({ output, effects }, undisturbed, `killed after commit ${at} of ${commits}`);
    }
    t.diagnostic(`${chosen.length} kills after ${commits} commits`);
  });
}

async function runOnce(t: TestContext, way: (typeof WAYS)[number], handler: string, dieAt: number): Promise<Ending> {
  const { input, help } = SUBJECTS[handler] as Subject;
  const folder = scratch(t, 'workflows');
  const { url } = await groundOf(way === 'postgres' ? 'postgres' : 'sqlite', folder);
  const effects = join(folder, 'effects');
  const app = await open(url);
  t.after(() => app.close({ drainMs: 0 }));
  const address = way === 'joined' ? await joining(t, folder, url) : url;
  const nursery = new Nursery(t, { environment: { NODE_OPTIONS: '--conditions=@leasehold/source' } });
  const worker = (at: number) =>
    nursery.start(new URL('./workflow-child.ts', import.meta.url), [
      handler,
      way === 'joined' ? 'join' : 'store',
      address,
      effects,
      String(at),
    ]);
  const [name = '', version] = handler.split('@');
  const unknown = workflow(name, version === undefined ? {} : { version }, async (): Promise<unknown> => undefined);
  const run = await app.run(unknown, input, { executionId: 'run' });
  let child = worker(dieAt);
  const over = Promise.all([run.result(), help(app, run)]).then(([result]) => result);
  over.catch(() => {});
  if (dieAt > 0) {
    // It may die, or the run may end with less commits than an undisturbed one that waited longer.
    await Promise.race([child.ended, over]);
    if (!child.alive) {
      assert.equal(child.process.signalCode, 'SIGKILL', child.errors);
      child = worker(0);
    }
  }
  const output = await over;
  child.tell({ word: 'stop' });
  // One that died after the last commit has ended the run, and says nothing.
  const word = dieAt > 0 ? undefined : await child.hear('commits');
  const commits = Number(word?.['commits'] ?? 0);
  await child.ended;
  await app.close({ drainMs: 0 });
  return {
    output,
    effects: existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n').sort() : [],
    commits,
  };
}
